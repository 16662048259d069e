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
/// digit; `C++`, `c#` and `f#` are words too. Runs beyond ASCII are cut by the word boundaries of
/// Unicode (UAX #29), which gives the characters of scripts written without spaces one by one. The
/// tail of an English contraction or possessive (`'s`, `n't`'s `t`, `'ll`) is no word.
#[must_use]
pub fn words(text: &str) -> Words<'_> {
    Words {
        text,
        at: 0,
        block: Block::read(text.as_bytes(), 0),
        segments: VecDeque::new(),
    }
}

/// Iterator over the raw words of a text; made by [`words`].
#[derive(Debug, Clone)]
pub struct Words<'t> {
    text: &'t str,
    at: usize,
    /// The block that `at` was in last.
    block: Block,
    /// Words of a run beyond ASCII that were found but not given yet.
    segments: VecDeque<Word<'t>>,
}

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

    /// The block that holds `at`.
    #[inline]
    fn block_of(&mut self, at: usize) -> Block {
        let start = at / BLOCK * BLOCK;
        if self.block.start != start {
            self.block = Block::read(self.text.as_bytes(), start);
        }
        self.block
    }

    /// The first byte from `at` on that is part of a word (`true`) or none (`false`).
    #[inline]
    fn first(&mut self, mut at: usize, part: bool) -> usize {
        while at < self.text.len() {
            let block = self.block_of(at);
            let bits = block.ascii | block.wide;
            let wanted = (if part { bits } else { !bits }) >> (at - block.start);
            if wanted != 0 {
                return (at + wanted.trailing_zeros() as usize).min(self.text.len());
            }
            at = block.start + BLOCK;
        }
        self.text.len()
    }

    /// The next run of word characters.
    #[inline]
    fn next_run(&mut self) -> Option<Run> {
        let start = self.first(self.at, true);
        if start == self.text.len() {
            self.at = start;
            return None;
        }
        let end = self.first(start, false);
        let bytes = &self.text.as_bytes()[start..end];
        if !bytes.is_ascii() {
            return self.wide_run(start);
        }
        let end = self.with_sign(start, end);
        let bytes = &self.text.as_bytes()[start..end];
        self.at = end;
        Some(Run {
            start,
            end,
            has_alphanumeric: bytes[0] != b'_' || bytes.iter().any(|&byte| byte != b'_'),
            is_ascii: true,
        })
    }

    /// The end of a word of one letter with the signs behind it, where they make it the name of a
    /// language: `C++`, `c#`, `F#`.
    #[inline]
    fn with_sign(&self, start: usize, end: usize) -> usize {
        if end - start != 1 {
            return end;
        }
        let behind = &self.text.as_bytes()[start..];
        let signs = match behind {
            [b'c' | b'C', b'+', b'+', ..] => 2,
            [b'c' | b'C' | b'f' | b'F', b'#', ..] => 1,
            _ => return end,
        };
        let is_over = behind.get(1 + signs).is_none_or(|&next| {
            !next.is_ascii_alphanumeric() && !matches!(next, b'_' | b'+' | b'#')
        });
        if is_over { end + signs } else { end }
    }

    /// Reads a run from `start` that may hold characters beyond ASCII, one by one.
    #[cold]
    fn wide_run(&mut self, start: usize) -> Option<Run> {
        let (mut at, mut has_alphanumeric, mut is_ascii) = (start, false, true);
        while let Some(c) = self.wide_char(at) {
            if !(is_word_char(c) || is_joiner(c) && joins(self.text, at)) {
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

    /// Cuts a run beyond ASCII. What has no width ends no word.
    fn take_apart(&mut self, start: usize, run: &'t str) {
        for (offset, word) in run.unicode_word_indices() {
            let (at, end) = (start + offset, start + offset + word.len());
            match self.segments.back_mut() {
                Some(last)
                    if last.end() < at && self.text[last.end()..at].chars().all(is_joiner) =>
                {
                    last.text = &self.text[last.start..end];
                }
                _ => self.segments.push_back(Word {
                    start: at,
                    text: word,
                }),
            }
        }
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

/// Bytes that are classed at once.
const BLOCK: usize = 64;

/// The classes of 64 bytes, one bit each.
#[derive(Debug, Clone, Copy)]
struct Block {
    start: usize,
    /// ASCII letters, digits and underscores.
    ascii: u64,
    /// Parts of characters beyond ASCII.
    wide: u64,
}

impl Block {
    /// Classes the bytes from `start` on; what is behind the end belongs to no word.
    #[inline]
    fn read(text: &[u8], start: usize) -> Self {
        let mut padded = [0; BLOCK];
        let rest = text.get(start..).unwrap_or_default();
        let bytes: &[u8; BLOCK] = match rest.first_chunk() {
            Some(whole) => whole,
            None => {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            }
        };
        let (mut ascii, mut wide) = (0, 0);
        for (index, eight) in bytes.as_chunks().0.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            ascii |= one_bit_a_byte(word_bytes(eight)) << (8 * index);
            wide |= one_bit_a_byte(eight & HIGH) << (8 * index);
        }
        Self { start, ascii, wide }
    }
}

/// The highest bit of each of eight bytes.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// A byte eight times.
const fn repeat_byte(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the highest bit of each of eight bytes that is an ASCII letter, digit or underscore. Sums
/// of seven-bit numbers stay inside their byte.
#[inline]
const fn word_bytes(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let lower = low | repeat_byte(0x20);
    let letter = (lower + repeat_byte(0x80 - b'a')) & !(lower + repeat_byte(0x7f - b'z'));
    let digit = (low + repeat_byte(0x80 - b'0')) & !(low + repeat_byte(0x7f - b'9'));
    let underscore = !((low ^ repeat_byte(b'_')) + repeat_byte(0x7f));
    (letter | digit | underscore) & HIGH & !eight
}

/// Gathers the highest bits of eight bytes.
#[inline]
const fn one_bit_a_byte(high: u64) -> u64 {
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Characters without width: copied from pages, they stand inside words that look whole.
pub(crate) const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Joiners in a row that are looked across.
const MAX_JOINERS: usize = 4;

/// Whether a joiner at `at` stands inside a word of an alphabet that has no use for it: Latin,
/// Greek, Cyrillic, Armenian. Elsewhere it may tell where a word ends.
fn joins(text: &str, at: usize) -> bool {
    let is_letter = |c: char| c < '\u{590}' && is_word_char(c);
    let beside = |chars: &mut dyn Iterator<Item = char>| {
        chars
            .take(MAX_JOINERS)
            .find(|c| !is_joiner(*c))
            .is_some_and(is_letter)
    };
    beside(&mut text[..at].chars().rev()) && beside(&mut text[at..].chars())
}

/// Whether a character belongs to a word: combining diacritics and soft hyphens do not end one.
pub(crate) fn is_word_char(c: char) -> bool {
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
            self.take_apart(run.start, text);
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
    fn names_of_languages_keep_their_signs() {
        assert_eq!(
            split("C++, c++17 (C#) f#. C/C++"),
            ["C++", "c", "17", "C#", "f#", "C", "C++"]
        );
        assert_eq!(
            split("i++ c+ a# c##d abc# x.c#anchor c++"),
            ["i", "c", "a", "c", "d", "abc", "x", "c", "anchor", "c++"]
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

    #[test]
    fn i16_what_has_no_width_ends_no_word() {
        assert_eq!(
            split("Zero\u{200b}width opti\u{200c}mize a\u{2060}b c\u{feff}d"),
            [
                "Zero\u{200b}width",
                "opti\u{200c}mize",
                "a\u{2060}b",
                "c\u{feff}d"
            ]
        );
        assert_eq!(
            split("Netz\u{ad}werk\u{200b}\u{200b}kabel \u{feff}x\u{200b} y"),
            ["Netz\u{ad}werk\u{200b}\u{200b}kabel", "x", "y"]
        );
        // Where words are written without blanks, or with half of one, it ends a word as before.
        assert_eq!(split("ภา\u{200b}ษา").len(), split("ภา ษา").len());
        assert_eq!(split("می\u{200c}خواهم"), ["می", "خواهم"]);
    }

    #[test]
    fn each_byte_has_its_class_in_each_place() {
        for byte in 0..=255_u8 {
            for place in 0..64 {
                let mut text = [b' '; 64];
                text[place] = byte;
                let block = super::Block::read(&text, 0);
                let part = byte.is_ascii_alphanumeric() || byte == b'_';
                assert_eq!(block.ascii, u64::from(part) << place, "{byte}");
                assert_eq!(block.wide, u64::from(byte >= 0x80) << place, "{byte}");
            }
        }
    }

    proptest! {
        #[test]
        fn long_texts_split_as_their_pieces_do(list in prop::collection::vec("[a-z_é漢]{1,70}[ .→]{1,70}", 0..8)) {
            let text = list.concat();
            let apart: Vec<&str> = list.iter().flat_map(|piece| split(piece)).collect();
            prop_assert_eq!(split(&text), apart);
        }

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
