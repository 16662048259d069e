//! What a query is made of: words, terms, phrases, prefixes, filters.

use crate::analysis::identifier_parts;

/// A term to look up, with the number of times the query holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryTerm {
    /// The analysed term, as the index holds it.
    pub text: String,
    /// Occurrences in the query. 0: the condition needs it, but it neither scores nor is marked
    /// (excluded words, stop words of a phrase).
    pub count: u32,
}

/// A word of the query and its terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryWord {
    /// The word as typed.
    pub surface: String,
    /// The folded word: its exact form.
    pub folded: String,
    /// Index of the whole word's term in [`super::ParsedQuery::terms`].
    pub whole: usize,
    /// Indices of the terms of an identifier's parts; all of them stand for the whole.
    pub parts: Vec<usize>,
    /// Whether it was typed as a plain word, in which a typing mistake may be looked for.
    pub is_plain: bool,
}

impl QueryWord {
    /// Whether it is written like a name in a program: of several parts, and more than letters with
    /// a number (`camelCase`, `snake_case`). A document that holds it whole is meant.
    #[must_use]
    pub fn is_identifier(&self) -> bool {
        (self.is_snake_case() || !self.parts.is_empty()) && !self.is_numbered()
    }

    /// Whether it is joined by underscores.
    #[must_use]
    pub fn is_snake_case(&self) -> bool {
        self.surface.trim_matches('_').contains('_')
    }

    /// Whether it is a name with a number and nothing else: letters and digits, taken apart between
    /// them alone (`topic5`, `sha256sum`). Whoever types such a number means it.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        let is_digit = |c: char| c.is_numeric();
        let has_both =
            self.surface.contains(is_digit) && self.surface.contains(char::is_alphabetic);
        let mut seams = Vec::new();
        has_both
            && !self.parts.is_empty()
            && !self.surface.contains('_')
            && self.surface.split(is_digit).all(|letters| {
                identifier_parts(letters, &mut seams);
                seams.is_empty()
            })
    }

    /// Whether a document with all parts of a [numbered](Self::is_numbered) name may be taken for
    /// one with the name: a letter is no part, so of `v2` there is only a `2`, which is everywhere.
    /// A longer number beside one letter (`B12`) stands for it only where no document `holds` the
    /// name.
    #[must_use]
    pub fn parts_stand_for_it(&self, holds: bool) -> bool {
        let mut runs = self.surface.split(|c: char| !c.is_alphabetic());
        let has_letter_alone = runs.any(|run| run.chars().count() == 1);
        let numbers = self.surface.split(|c: char| !c.is_numeric());
        let longest = numbers.map(|number| number.chars().count()).max();
        !has_letter_alone || longest.unwrap_or(0) > 1 && !(holds && self.is_letter_and_number())
    }

    /// Whether it is one letter and a number beside it: `B12`, `x87`, `90W`.
    #[must_use]
    pub fn is_letter_and_number(&self) -> bool {
        let number = |rest: &str| !rest.is_empty() && rest.chars().all(char::is_numeric);
        let mut from_start = self.surface.chars();
        let mut from_end = self.surface.chars();
        from_start.next().is_some_and(char::is_alphabetic) && number(from_start.as_str())
            || from_end.next_back().is_some_and(char::is_alphabetic) && number(from_end.as_str())
    }
}

/// Words that have to stand one behind the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Phrase {
    /// The text between the quotes.
    pub text: String,
    /// Indices in [`super::ParsedQuery::terms`], in order; an identifier gives the terms of its
    /// parts.
    pub terms: Vec<usize>,
}

/// The beginning of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The folded letters before the star.
    pub folded: String,
    /// Whether documents with it score (it is not excluded).
    pub scores: bool,
}

/// A place of a document that can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The title.
    Title,
    /// The path, or the key of a remote document.
    Path,
    /// One of the tags.
    Tag,
    /// The display name of the source.
    Source,
    /// The kind of what it defines.
    Kind,
    /// What its file is for.
    Is,
    /// The time of its last change: on this day or later.
    After,
    /// The time of its last change: before this day.
    Before,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 8] = [
        Self::Title,
        Self::Path,
        Self::Tag,
        Self::Source,
        Self::Kind,
        Self::Is,
        Self::After,
        Self::Before,
    ];

    /// The name in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Path => "path",
            Self::Tag => "tag",
            Self::Source => "source",
            Self::Kind => "kind",
            Self::Is => "is",
            Self::After => "after",
            Self::Before => "before",
        }
    }
}

/// A value that a field has to have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldFilter {
    /// The field.
    pub field: Field,
    /// The value as typed, without quotes; a day as `2026-11-28`.
    pub value: String,
    /// The folded words of the value.
    pub line: String,
    /// For titles: indices of its words in [`super::ParsedQuery::words`].
    pub words: Vec<usize>,
    /// For titles: whether the words have to stand one behind the other.
    pub is_phrase: bool,
}
