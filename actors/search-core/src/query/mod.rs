//! Queries: from a request's text to the terms that are looked up and marked.

mod matcher;
mod parse;

pub use matcher::TermMatcher;
pub use parse::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, QueryError, parse};

use serde::{Deserialize, Serialize};

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
    /// Further words or phrases, each looked up beside the text.
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
    /// Occurrences in the query, at least 1.
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
    /// Whether documents without this word are left out.
    pub required: bool,
}

/// A query that is understood: its words without stop words, its distinct terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ParsedQuery {
    words: Vec<QueryWord>,
    terms: Vec<QueryTerm>,
    title_line: String,
}

impl ParsedQuery {
    /// The words looked for, in the order of the query, each once.
    #[must_use]
    pub fn words(&self) -> &[QueryWord] {
        &self.words
    }

    /// The distinct terms of all words.
    #[must_use]
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The folded text of the request, stop words included: what a title is that matches exactly.
    #[must_use]
    pub fn title_line(&self) -> &str {
        &self.title_line
    }

    /// Whether there is nothing to look for; such a query matches no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Tells which words of a text the query matches, for highlights.
    #[must_use]
    pub fn matcher(&self) -> TermMatcher {
        TermMatcher::new(&self.terms)
    }
}
