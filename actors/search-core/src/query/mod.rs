//! Queries: from a request's text to the terms that are looked up and marked, and the condition a
//! document has to meet.
//!
//! ```text
//! text ── lexer ──► tokens ── grammar ──► clauses ── plan ──► ParsedQuery
//!                   (places)   (operators)           (terms, phrases, filters, condition)
//! ```
//!
//! The language, strongest first: `word`, `"a phrase"`, `prefix*`, `field:value` (title, path, tag,
//! source) and `(groups)`; `-x` or `NOT x`; `AND`; `OR`; things beside one another, which are joined
//! by the request's operator. Operators are capitals; everything else is text.

mod condition;
mod error;
mod grammar;
mod lexer;
mod matcher;
mod parse;
mod phrase;
mod plan;

pub use condition::{Condition, Truth};
pub use error::QueryError;
pub use matcher::TermMatcher;
pub use parse::{MAX_DEPTH, MAX_QUERY_BYTES, MAX_QUERY_WORDS, parse};
pub use phrase::{MAX_PHRASE_WORDS, PhraseFinder};

use serde::{Deserialize, Serialize};

use crate::analysis::identifier_parts;

/// How several words or `terms` of a request are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// Every word has to occur.
    And,
    /// Any word may occur; more of them rank higher.
    #[default]
    Or,
}

/// What is asked for, before it is understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SearchRequest {
    /// The text as typed.
    pub text: String,
    /// Further words or phrases, each looked up beside the text. They are text, not the language:
    /// only double quotes mean something in them.
    pub terms: Vec<String>,
    /// How words are joined; [`Operator::Or`] when absent.
    pub operator: Option<Operator>,
}

impl SearchRequest {
    /// A request for a text alone.
    #[must_use]
    pub fn for_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

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
    /// Index of the whole word's term in [`ParsedQuery::terms`].
    pub whole: usize,
    /// Indices of the terms of an identifier's parts; all of them stand for the whole.
    pub parts: Vec<usize>,
    /// Whether it was typed as a plain word, in which a typing mistake may be looked for.
    pub is_plain: bool,
}

impl QueryWord {
    /// Whether it is a name with a number and nothing else: letters and digits, taken apart between them alone
    /// (`topic5`, `sha256sum`). Whoever types such a number means it.
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

    /// Whether a document with all parts of a [numbered](Self::is_numbered) name may be taken for one with the name: a
    /// letter is no part, so of `v2` there is only a `2`, which is everywhere.
    #[must_use]
    pub fn parts_stand_for_it(&self) -> bool {
        let mut runs = self.surface.split(|c: char| !c.is_alphabetic());
        let has_letter_alone = runs.any(|run| run.chars().count() == 1);
        let numbers = self.surface.split(|c: char| !c.is_numeric());
        let longest = numbers.map(|number| number.chars().count()).max();
        !has_letter_alone || longest.unwrap_or(0) > 1
    }
}

/// Words that have to stand one behind the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Phrase {
    /// The text between the quotes.
    pub text: String,
    /// Indices in [`ParsedQuery::terms`], in order; an identifier gives the terms of its parts.
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
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 4] = [Self::Title, Self::Path, Self::Tag, Self::Source];

    /// The name in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Path => "path",
            Self::Tag => "tag",
            Self::Source => "source",
        }
    }
}

/// A value that a field has to have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The field.
    pub field: Field,
    /// The value as typed, without quotes.
    pub value: String,
    /// The folded words of the value.
    pub line: String,
    /// For titles: indices of its words in [`ParsedQuery::words`].
    pub words: Vec<usize>,
    /// For titles: whether the words have to stand one behind the other.
    pub is_phrase: bool,
}

/// A query that is understood: its words without stop words, its distinct terms, its condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ParsedQuery {
    words: Vec<QueryWord>,
    terms: Vec<QueryTerm>,
    phrases: Vec<Phrase>,
    prefixes: Vec<Prefix>,
    filters: Vec<Filter>,
    condition: Option<Condition>,
    title_line: String,
}

impl ParsedQuery {
    /// The words looked for or excluded, in the order of the query, each once.
    #[must_use]
    pub fn words(&self) -> &[QueryWord] {
        &self.words
    }

    /// The distinct terms of all words.
    #[must_use]
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The phrases of two words or more; [`Condition::Phrase`] holds their indices.
    #[must_use]
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// The prefixes; [`Condition::Prefix`] holds their indices.
    #[must_use]
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// The filters; [`Condition::Filter`] holds their indices.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// What a document has to meet; `None` when any of the words is enough.
    #[must_use]
    pub fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The folded words looked for, stop words included where there is nothing but words: what a
    /// title is that matches exactly.
    #[must_use]
    pub fn title_line(&self) -> &str {
        &self.title_line
    }

    /// Whether there is nothing to look for; such a query matches no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.condition.is_none()
    }

    /// Whether a word scores and is marked.
    #[must_use]
    pub fn is_looked_for(&self, word: &QueryWord) -> bool {
        self.terms[word.whole].count > 0
    }

    /// Whether every document that meets the condition holds a term that scores, so that ranking by
    /// terms finds all of them.
    #[must_use]
    pub fn is_covered_by_terms(&self) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition.needs_a_term(self))
    }

    /// The query with another word in the place of `words[index]`: a typing mistake put right.
    #[must_use]
    pub fn with_word(&self, index: usize, word: &str) -> Self {
        plan::replace_word(self, index, word)
    }

    /// Tells which words of a text the query matches, for highlights.
    #[must_use]
    pub fn matcher(&self) -> TermMatcher {
        TermMatcher::new(&self.terms, &self.prefixes)
    }

    /// The query where its phrases are words among others, for when no document holds them, and the
    /// texts of these phrases. `None` unless it is nothing but phrases and words that rank.
    #[must_use]
    pub fn without_phrases(&self) -> Option<(Self, Vec<&str>)> {
        let ranks = |word: &&QueryWord| word.is_plain && self.is_looked_for(word);
        self.words.iter().find(ranks)?;
        let dropped = self.condition.as_ref()?.phrases_alone()?.into_iter();
        let texts = dropped.map(|phrase| self.phrases[phrase].text.as_str());
        let query = Self {
            condition: None,
            ..self.clone()
        };
        Some((query, texts.collect()))
    }

    /// Finds a phrase in texts.
    #[must_use]
    pub fn phrase_finder(&self, phrase: usize) -> PhraseFinder {
        let terms = self.phrases[phrase].terms.iter();
        PhraseFinder::new(terms.map(|&term| self.terms[term].text.as_str()))
    }
}
