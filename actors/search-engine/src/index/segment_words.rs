//! All words of a segment as one text, for finding those that hold some letters.
//!
//! A dictionary tells quickly which words begin with something. For letters inside a word all words
//! have to be looked at; one behind the other a vectorised search goes over them at several
//! gigabytes a second. Read from the dictionaries when the first search needs it (half a second for
//! 75,000 files) and kept while the segment is: less than a kilobyte a file in memory, nothing on
//! disk.

use tantivy::{InvertedIndexReader, TantivyError};

use super::error::IndexError;

/// Shorter words hold no run of letters that is looked for, in bytes.
const MIN_WORD: usize = 3;

/// The words of the text and the exact forms, each behind a line break.
#[derive(Debug, Default)]
pub(super) struct SegmentWords {
    pub(super) text: WordList,
    pub(super) exact: WordList,
}

/// Words between line breaks.
#[derive(Debug, Default)]
pub(super) struct WordList(Vec<u8>);

impl SegmentWords {
    pub(super) fn read(
        text: &InvertedIndexReader,
        exact: &InvertedIndexReader,
    ) -> Result<Self, IndexError> {
        Ok(Self {
            text: WordList::read(text)?,
            exact: WordList::read(exact)?,
        })
    }
}

impl WordList {
    fn read(dictionary: &InvertedIndexReader) -> Result<Self, IndexError> {
        let mut words = vec![b'\n'];
        let mut stream = dictionary.terms().stream().map_err(TantivyError::from)?;
        while stream.advance() {
            if stream.key().len() >= MIN_WORD {
                words.extend_from_slice(stream.key());
                words.push(b'\n');
            }
        }
        words.shrink_to_fit();
        Ok(Self(words))
    }

    /// The words that hold `letters`; with `ends` those that end with them.
    pub(super) fn containing<'w>(
        &'w self,
        letters: &str,
        ends: bool,
    ) -> impl Iterator<Item = &'w [u8]> + use<'w> {
        let mut wanted = letters.as_bytes().to_vec();
        if ends {
            wanted.push(b'\n');
        }
        let finder = memchr::memmem::Finder::new(&wanted).into_owned();
        let words = self.0.as_slice();
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = at + finder.find(words.get(at..)?)?;
            let start = memchr::memrchr(b'\n', &words[..found])? + 1;
            let end = found + memchr::memchr(b'\n', &words[found..])?;
            at = end;
            Some(&words[start..end])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::WordList;

    #[test]
    fn i16_words_are_found_by_what_they_hold() {
        let list = WordList(b"\nexact_at\nread\nread_exact\nread_read\n".to_vec());
        for (letters, ends, expected) in [
            ("read", false, &["read", "read_exact", "read_read"][..]),
            ("read", true, &["read", "read_read"]),
            ("exact", false, &["exact_at", "read_exact"]),
            ("none", false, &[]),
        ] {
            let found: Vec<_> = list
                .containing(letters, ends)
                .map(|word| std::str::from_utf8(word).expect("text"))
                .collect();
            assert_eq!(found, expected, "{letters}");
        }
    }
}
