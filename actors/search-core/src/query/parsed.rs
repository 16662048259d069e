//! A query that is understood.

use super::condition::Condition;
use super::matcher::TermMatcher;
use super::pattern::{PatternFinder, TextPattern};
use super::terms::{Field, Filter, Phrase, Prefix, QueryTerm, QueryWord};
use crate::names::WantedName;

/// A query that is understood: its words without stop words, its distinct terms, its condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ParsedQuery {
    pub(super) words: Vec<QueryWord>,
    pub(super) terms: Vec<QueryTerm>,
    pub(super) phrases: Vec<Phrase>,
    pub(super) prefixes: Vec<Prefix>,
    pub(super) filters: Vec<Filter>,
    pub(super) patterns: Vec<TextPattern>,
    pub(super) condition: Option<Condition>,
    pub(super) title_line: String,
    pub(super) names: Vec<WantedName>,
    pub(super) asks_how: bool,
    pub(super) asks_how_it_works: bool,
    pub(super) literals: Vec<String>,
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

    /// What is looked for letter for letter; [`Condition::Pattern`] holds the indices.
    #[must_use]
    pub fn patterns(&self) -> &[TextPattern] {
        &self.patterns
    }

    /// What finds the patterns that a document has to match, for showing where it does.
    #[must_use]
    pub fn shown_patterns(&self) -> Vec<PatternFinder> {
        let shown = self.patterns.iter().filter(|pattern| pattern.is_shown);
        shown.filter_map(TextPattern::finder).collect()
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

    /// The names that the whole query may be, likeliest first: of a file, a page, an item. None
    /// where it is longer than names are.
    #[must_use]
    pub fn names(&self) -> &[WantedName] {
        &self.names
    }

    /// Whether somebody asks how to do something, which manuals answer.
    #[must_use]
    pub fn asks_how(&self) -> bool {
        self.asks_how
    }

    /// Whether somebody asks how something works, which code answers.
    #[must_use]
    pub fn asks_how_it_works(&self) -> bool {
        self.asks_how_it_works
    }

    /// Words with signs that are part of them (`--json`, `.env`), looked for as they stand.
    #[must_use]
    pub fn literals(&self) -> &[String] {
        &self.literals
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
        condition.is_none_or(|condition| needs_a_term(condition, self))
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
}

/// Whether every document that meets the condition holds a term that scores.
fn needs_a_term(condition: &Condition, query: &ParsedQuery) -> bool {
    let scores = |term: usize| query.terms[term].count > 0;
    match condition {
        Condition::Word(word) => scores(query.words[*word].whole),
        Condition::Phrase(phrase) => query.phrases[*phrase]
            .terms
            .iter()
            .any(|&term| scores(term)),
        Condition::Pattern(pattern) => {
            let mut words = query.patterns[*pattern].words.iter();
            words.any(|&word| scores(query.words[word].whole))
        }
        Condition::Prefix(_) | Condition::Not(_) => false,
        Condition::Filter(filter) => {
            let filter = &query.filters[*filter];
            filter.field == Field::Title
                && filter
                    .words
                    .iter()
                    .any(|&word| scores(query.words[word].whole))
        }
        Condition::All(list) => list.iter().any(|one| needs_a_term(one, query)),
        Condition::Any(list) => list.iter().all(|one| needs_a_term(one, query)),
    }
}
