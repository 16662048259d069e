//! Text analysis: from text to the terms of the index, the same way for documents and queries.
//!
//! ```text
//! text ── Words ──► raw words ── WordAnalyzer ──► terms
//!         (Unicode, contractions)   fold: case, accents
//!                                   stem: English Snowball, exact form beside it
//!                                   split: camelCase, snake_case, letters|digits
//! ```
//!
//! A raw word always gives the same terms, so whoever analyses much text keeps a table from raw
//! words to terms and pays for folding and stemming once a word. Stop words are left off by the
//! query alone: the index holds every word.

mod fold;
mod hyphenation;
mod identifier;
mod stop_words;
mod terms;
mod words;

pub use fold::{fold, folded_line};
pub use hyphenation::divided_words;
pub(crate) use identifier::MAX_PARTS;
pub use identifier::push_parts as identifier_parts;
pub use stop_words::{is_stop_word, stop_words};
pub use terms::{MAX_WORD_BYTES, TermKind, WordAnalyzer, WordTerms};
pub use words::{Word, Words, words};
pub(crate) use words::{is_joiner, is_word_char};
