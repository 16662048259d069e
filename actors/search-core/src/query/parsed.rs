//! A query that is understood.

use super::condition::QueryCondition;
use super::matcher::TermMatcher;
use super::pattern::TextPattern;
use super::pattern_finder::PatternFinder;
use super::terms::{Field, FieldFilter, Phrase, Prefix, QueryTerm, QueryWord};
use crate::definitions::DefinitionKind;
use crate::file_roles::FileRole;
use crate::names::{WantedName, squeezed};
use crate::wanted_files::{FileLikeness, MEANT, WantedFile};

/// A query that is understood: its words without stop words, its distinct terms, its condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ParsedQuery {
    pub(super) words: Vec<QueryWord>,
    pub(super) terms: Vec<QueryTerm>,
    pub(super) phrases: Vec<Phrase>,
    pub(super) prefixes: Vec<Prefix>,
    pub(super) filters: Vec<FieldFilter>,
    pub(super) patterns: Vec<TextPattern>,
    pub(super) condition: Option<QueryCondition>,
    pub(super) title_line: String,
    pub(super) names: Vec<WantedName>,
    pub(super) asks_how: bool,
    pub(super) is_order: bool,
    pub(super) asks_how_it_works: bool,
    pub(super) wanted_role: Option<FileRole>,
    pub(super) literals: Vec<String>,
    pub(super) files: Vec<WantedFile>,
    pub(super) beside_files: Vec<String>,
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

    /// The phrases of two words or more; [`QueryCondition::Phrase`] holds their indices.
    #[must_use]
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// The prefixes; [`QueryCondition::Prefix`] holds their indices.
    #[must_use]
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// The filters; [`QueryCondition::Filter`] holds their indices.
    #[must_use]
    pub fn filters(&self) -> &[FieldFilter] {
        &self.filters
    }

    /// The kinds of definitions that a document has to have one of.
    #[must_use]
    pub fn required_kinds(&self) -> Vec<DefinitionKind> {
        let mut kinds = Vec::new();
        if let Some(condition) = &self.condition {
            self.add_kinds(condition, &mut kinds);
        }
        kinds
    }

    fn add_kinds(&self, condition: &QueryCondition, kinds: &mut Vec<DefinitionKind>) {
        match condition {
            QueryCondition::Filter(filter) => {
                let filter = &self.filters[*filter];
                let kind = filter.field == Field::Kind;
                kinds.extend(
                    kind.then(|| DefinitionKind::from_name(&filter.value))
                        .flatten(),
                );
            }
            QueryCondition::All(list) | QueryCondition::Any(list) => {
                list.iter().for_each(|one| self.add_kinds(one, kinds));
            }
            _ => {}
        }
    }

    /// What is looked for letter for letter; [`QueryCondition::Pattern`] holds the indices.
    #[must_use]
    pub fn patterns(&self) -> &[TextPattern] {
        &self.patterns
    }

    /// What finds the patterns that a document has to match, for showing where it does.
    #[must_use]
    pub fn highlight_patterns(&self) -> Vec<PatternFinder> {
        let shown = self.patterns.iter().filter(|pattern| pattern.is_shown);
        shown.filter_map(TextPattern::finder).collect()
    }

    /// What a document has to meet; `None` when any of the words is enough.
    #[must_use]
    pub fn condition(&self) -> Option<&QueryCondition> {
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

    /// Whether the query is like an order that says what code does: `convert a glob`.
    #[must_use]
    pub fn is_order(&self) -> bool {
        self.is_order
    }

    /// Whether somebody asks how to do something, which manuals answer.
    #[must_use]
    pub fn is_how_to(&self) -> bool {
        self.asks_how
    }

    /// Whether somebody asks how something works, which code answers.
    #[must_use]
    pub fn is_how_it_works(&self) -> bool {
        self.asks_how_it_works
    }

    /// The role of the files that the query asks for by a word: `retry tests`, `changelog retry`.
    #[must_use]
    pub fn wanted_role(&self) -> Option<FileRole> {
        self.wanted_role
    }

    /// Words with signs that are part of them (`--json`, `.env`), looked for as they stand.
    #[must_use]
    pub fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Files that the query names, alone or beside other words, with the lines asked for.
    #[must_use]
    pub fn files(&self) -> &[WantedFile] {
        &self.files
    }

    /// How a document with this key in a source of this name is like a file that the query names;
    /// none where it has another name.
    #[must_use]
    pub fn file_likeness(&self, key: &str, source: &str) -> Option<FileLikeness> {
        let files = self.files.iter();
        let found = files.filter_map(|file| file.similarity(key, source, &self.beside_files));
        found.max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// The line that the query asks for of a document with this key, from 1: of several the first.
    #[must_use]
    pub fn wanted_line(&self, key: &str) -> Option<usize> {
        let with_line = self.files.iter().filter(|file| file.line.is_some());
        let mut best: Option<(f32, usize)> = None;
        for file in with_line {
            let likeness = file.similarity(key, "", &[]);
            if let (Some(found), Some(line)) = (likeness, file.line)
                && best.is_none_or(|(before, _)| found.share > before)
            {
                best = Some((found.share, line));
            }
        }
        // Who asks for a file and nothing else wants it from its beginning on.
        let [file] = self.files.as_slice() else {
            return best
                .filter(|(share, _)| *share >= MEANT)
                .map(|(_, line)| line);
        };
        let is_all = file.line.is_none() && self.beside_files.is_empty();
        let whole = || file.similarity(key, "", &[]).map(|found| (found.share, 1));
        let best = best.or_else(|| is_all.then(whole).flatten());
        best.filter(|(share, _)| *share >= MEANT)
            .map(|(_, line)| line)
    }

    /// Whether there is nothing to look for; such a query matches no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.condition.is_none()
    }

    /// Whether it asks for more than words: a field, what stands in quotes, an exclusion.
    pub(super) fn has_operators(&self) -> bool {
        let condition = self.condition.as_ref();
        condition.is_some_and(QueryCondition::has_operators)
    }

    /// Whether a word scores and is marked.
    #[must_use]
    pub fn is_looked_for(&self, word: &QueryWord) -> bool {
        self.terms[word.whole].count > 0
    }

    /// The identifier that the query is: all that is looked for, or the last part of the qualified
    /// name that the whole of it is (`Type::read_exact_at`).
    #[must_use]
    pub fn only_identifier(&self) -> Option<&QueryWord> {
        let mut words = self.words.iter().filter(|word| self.is_looked_for(word));
        let first = words.next()?;
        let last = words.next_back().unwrap_or(first);
        let is_all = last.whole == first.whole;
        let is_named = || {
            let mut names = self.names.iter().filter(|name| !name.within.is_empty());
            names.any(|name| !name.is_owner && name.name == squeezed(&last.surface))
        };
        (last.is_identifier() && (is_all || is_named())).then_some(last)
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
fn needs_a_term(condition: &QueryCondition, query: &ParsedQuery) -> bool {
    let scores = |term: usize| query.terms[term].count > 0;
    match condition {
        QueryCondition::Word(word) => scores(query.words[*word].whole),
        QueryCondition::Phrase(phrase) => query.phrases[*phrase]
            .terms
            .iter()
            .any(|&term| scores(term)),
        QueryCondition::Pattern(pattern) => {
            let mut words = query.patterns[*pattern].words.iter();
            words.any(|&word| scores(query.words[word].whole))
        }
        QueryCondition::Prefix(_) | QueryCondition::Not(_) => false,
        QueryCondition::Filter(filter) => {
            let filter = &query.filters[*filter];
            filter.field == Field::Title
                && filter
                    .words
                    .iter()
                    .any(|&word| scores(query.words[word].whole))
        }
        QueryCondition::All(list) => list.iter().any(|one| needs_a_term(one, query)),
        QueryCondition::Any(list) => list.iter().all(|one| needs_a_term(one, query)),
    }
}
