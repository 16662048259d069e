//! Splitting text into raw words.

use std::collections::VecDeque;

use unicode_segmentation::UnicodeSegmentation;

/// A raw word of a text: letters, digits and underscores as they stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// Offset of the word's first byte in the text.
    pub start: usize,
    /// The word as written.
    pub text: &'t str,
}

impl Word<'_> {
    /// Offset behind the word's last byte.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The raw words of `text`, in order.
///
/// A word is a run of letters, digits, combining marks and underscores with at least one letter or
/// digit. Runs beyond ASCII are cut by the word boundaries of Unicode (UAX #29), which gives the
/// characters of scripts written without spaces one by one. The tail of an English contraction or
/// possessive (`'s`, `n't`'s `t`, `'ll`) is no word.
#[must_use]
pub fn words(text: &str) -> Words<'_> {
    Words {
        text,
        at: 0,
        segments: VecDeque::new(),
    }
}

/// Iterator over the raw words of a text; made by [`words`].
#[derive(Debug, Clone)]
pub struct Words<'t> {
    text: &'t str,
    at: usize,
    /// Words of a run beyond ASCII that were found but not given yet.
    segments: VecDeque<Word<'t>>,
}

/// What a byte means to the splitter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Ends a word.
    Gap,
    /// ASCII letter or digit.
    Alphanumeric,
    /// Part of a word, but no word by itself.
    Underscore,
    /// Start or continuation of a character beyond ASCII.
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Gap; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => Class::Alphanumeric,
            b'_' => Class::Underscore,
            0x80.. => Class::Wide,
            _ => Class::Gap,
        };
        byte += 1;
    }
    table
};

/// A run found in the text, before it is judged.
struct Run {
    start: usize,
    end: usize,
    has_alphanumeric: bool,
    is_ascii: bool,
}

impl<'t> Words<'t> {
    /// The character at `at`, where the text is beyond ASCII.
    fn wide_char(&self, at: usize) -> Option<char> {
        self.text.get(at..).and_then(|rest| rest.chars().next())
    }

    /// The next run of word characters.
    #[inline]
    fn next_run(&mut self) -> Option<Run> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while at < bytes.len() && CLASSES[bytes[at] as usize] == Class::Gap {
            at += 1;
        }
        if at >= bytes.len() {
            self.at = at;
            return None;
        }
        let start = at;
        let mut has_alphanumeric = false;
        while at < bytes.len() {
            match CLASSES[bytes[at] as usize] {
                Class::Alphanumeric => has_alphanumeric = true,
                Class::Underscore => {}
                Class::Gap => break,
                Class::Wide => return self.wide_run(start, at, has_alphanumeric),
            }
            at += 1;
        }
        self.at = at;
        Some(Run {
            start,
            end: at,
            has_alphanumeric,
            is_ascii: true,
        })
    }

    /// Goes on with a run that met a character beyond ASCII at `at`.
    #[cold]
    fn wide_run(&mut self, start: usize, mut at: usize, mut has_alphanumeric: bool) -> Option<Run> {
        let mut is_ascii = true;
        while let Some(c) = self.wide_char(at) {
            if !is_word_char(c) {
                if at == start {
                    // A lone symbol: step over it and look on.
                    self.at = at + c.len_utf8();
                    return Some(Run {
                        start,
                        end: start,
                        has_alphanumeric: false,
                        is_ascii: true,
                    });
                }
                break;
            }
            is_ascii &= c.is_ascii();
            has_alphanumeric |= c.is_alphanumeric();
            at += c.len_utf8();
        }
        self.at = at;
        Some(Run {
            start,
            end: at,
            has_alphanumeric,
            is_ascii,
        })
    }

    /// Whether the ASCII word from `start` is the tail of a contraction.
    #[inline]
    fn is_contraction_tail(&self, start: usize, word: &str) -> bool {
        if word.len() > 2 || start < 2 {
            return false;
        }
        let before = &self.text.as_bytes()[..start];
        let apostrophe = match before {
            [head @ .., b'\''] => head,
            [head @ .., 0xe2, 0x80, 0x99] => head,
            _ => return false,
        };
        apostrophe.last().is_some_and(u8::is_ascii_alphabetic)
            && ["s", "t", "re", "ve", "ll", "d", "m"]
                .iter()
                .any(|tail| word.eq_ignore_ascii_case(tail))
    }
}

/// Whether a character belongs to a word: combining diacritics and soft hyphens do not end one.
fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}')
}

impl<'t> Iterator for Words<'t> {
    type Item = Word<'t>;

    #[inline]
    fn next(&mut self) -> Option<Word<'t>> {
        loop {
            if let Some(word) = self.segments.pop_front() {
                return Some(word);
            }
            let run = self.next_run()?;
            if !run.has_alphanumeric {
                continue;
            }
            let text = &self.text[run.start..run.end];
            if run.is_ascii {
                if self.is_contraction_tail(run.start, text) {
                    continue;
                }
                return Some(Word {
                    start: run.start,
                    text,
                });
            }
            let start = run.start;
            let words = text.unicode_word_indices();
            self.segments.extend(words.map(|(offset, text)| Word {
                start: start + offset,
                text,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::words;

    fn split(text: &str) -> Vec<&str> {
        words(text).map(|word| word.text).collect()
    }

    #[test]
    fn runs_of_letters_digits_and_underscores_are_words() {
        assert_eq!(
            split("int __init my_fn(char *p42); // don't __"),
            ["int", "__init", "my_fn", "char", "p42", "don"]
        );
    }

    #[test]
    fn tails_of_contractions_are_no_words() {
        assert_eq!(
            split("the wing's we'll can’t I'm"),
            ["the", "wing", "we", "can", "I"]
        );
        // Quotes in code are no apostrophes.
        assert_eq!(split("f'abc' d['s'] 't"), ["f", "abc", "d", "s", "t"]);
    }

    #[test]
    fn words_beyond_ascii_keep_together_and_ideographs_stand_alone() {
        assert_eq!(
            split("Ünïcode naïve – Straße"),
            ["Ünïcode", "naïve", "Straße"]
        );
        assert_eq!(split("cafe\u{301}s x→y"), ["cafe\u{301}s", "x", "y"]);
        assert_eq!(split("漢字 мир"), ["漢", "字", "мир"]);
        assert_eq!(split("a漢b_c"), ["a", "漢", "b_c"]);
    }

    proptest! {
        #[test]
        fn words_lie_in_the_text_in_order(text in "\\PC{0,60}|[a-zA-Z_' é漢’\u{301}]{0,40}") {
            let mut end = 0;
            for word in words(&text) {
                prop_assert!(word.start >= end);
                end = word.end();
                prop_assert_eq!(&text[word.start..end], word.text);
                prop_assert!(word.text.chars().any(char::is_alphanumeric));
            }
        }

        #[test]
        fn a_word_by_itself_is_the_same_word(text in "[a-zA-Z0-9_]{1,20}") {
            prop_assume!(text.bytes().any(|b| b != b'_'));
            prop_assert_eq!(split(&text), vec![text.as_str()]);
        }
    }
}
