//! Reading texts that are looked for a piece of a word, and what came of it.

/// A piece of a word: letters, digits and underscores of ASCII (and `ſ` and the sign of Kelvin).
#[derive(Clone, Copy)]
pub struct WordPiece<'p> {
    /// Where its first place in a text ends.
    pub find: &'p dyn Fn(&str) -> Option<usize>,
    /// Whether nothing else of the text counts.
    pub is_all: bool,
}

impl WordPiece<'_> {
    /// What every text holds.
    pub const ANY: WordPiece<'static> = WordPiece {
        find: &|_| Some(0),
        is_all: false,
    };

    /// Whether a text holds it.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        (self.find)(text).is_some()
    }
}

impl std::fmt::Debug for WordPiece<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordPiece")
            .field("is_all", &self.is_all)
            .finish_non_exhaustive()
    }
}

/// What came of reading a text for a piece of a word.
#[derive(Debug)]
pub enum TextReadResult {
    /// The text, whatever it holds.
    Text(String),
    /// The text holds the piece, which is all that counts: so many bytes of it were read.
    Holds(usize),
    /// The text does not hold the piece: so many bytes of its markup told it.
    RuledOut(usize),
    /// It cannot be read.
    Unreadable,
}
