//! Which words may stand for one of some terms, by the first two letters of their parts. Nearly all
//! words stand for none, and are told so without being analysed.

/// Characters that are told apart: those of ASCII.
const CHARACTERS: usize = 128;

/// What stands where a word is over.
const END: u8 = 0;

/// Terms of the stemmer that begin otherwise than what they are the stems of, and how that begins.
const IRREGULAR: [(&str, [u8; 2]); 3] = [("die", *b"dy"), ("lie", *b"ly"), ("tie", *b"ty")];

/// The pairs of characters that terms begin with, a bit each.
pub(super) struct LetterPairs(Box<[u128; CHARACTERS]>);

impl LetterPairs {
    /// Of these terms. Those that begin beyond ASCII are terms of words that do, which may hold
    /// any.
    pub(super) fn from_terms<'t>(terms: impl Iterator<Item = &'t str>) -> Self {
        let mut all = Self(Box::new([0; CHARACTERS]));
        for term in terms {
            match *term.as_bytes() {
                [first] => all.add_all(first),
                [first, second, ..] if second.is_ascii() => all.add(first, second),
                [first, ..] => all.add_all(first),
                [] => {}
            }
            for (stem, [first, second]) in IRREGULAR {
                if stem == term {
                    all.add(first, second);
                }
            }
        }
        all
    }

    fn add(&mut self, first: u8, second: u8) {
        if let Some(seconds) = self.0.get_mut(usize::from(first)) {
            *seconds |= 1 << second;
        }
    }

    /// A term of one letter is the stem of longer words, too.
    fn add_all(&mut self, first: u8) {
        if let Some(seconds) = self.0.get_mut(usize::from(first)) {
            *seconds = u128::MAX;
        }
    }

    /// Whether a part of a word of the text may stand for one of the terms. Parts begin where
    /// neither a small letter follows a letter nor a digit another.
    pub(super) fn may_hold(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut before = END;
        for (at, &byte) in bytes.iter().enumerate() {
            let Some(seconds) = self.0.get(usize::from(byte.to_ascii_lowercase())) else {
                // Characters beyond ASCII are folded in many ways.
                return true;
            };
            let goes_on = match byte {
                b'a'..=b'z' => before.is_ascii_alphabetic(),
                b'0'..=b'9' => before.is_ascii_digit(),
                _ => false,
            };
            let behind = bytes.get(at + 1).copied().unwrap_or(END);
            if !goes_on && (!behind.is_ascii() || seconds >> behind.to_ascii_lowercase() & 1 == 1) {
                return true;
            }
            before = byte;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::LetterPairs;

    #[test]
    fn i16_words_are_told_by_how_their_parts_begin() {
        let terms = ["memory", "c++", "x", "die", "42", "über"];
        let pairs = LetterPairs::from_terms(terms.into_iter());
        for (text, expected) in [
            ("memory", true),
            ("MEMBER", true),
            ("get_memory", true),
            ("getMemory", true),
            ("HTTPMemory", true),
            ("a::memory", true),
            ("remember", false),
            ("m", false),
            ("move", false),
            ("C++", true),
            ("C", false),
            ("C#", false),
            ("fox", false),
            ("to_x", true),
            ("xylophone", true),
            ("utf42", true),
            ("142", false),
            ("dying", true),
            ("dynamo", true),
            ("dreams", false),
            ("lying", false),
            ("caf\u{e9}", true),
            ("", false),
        ] {
            assert_eq!(pairs.may_hold(text), expected, "{text}");
        }
    }
}
