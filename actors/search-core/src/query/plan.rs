//! From clauses to a query: what scores, and what a document has to meet.
//!
//! Beside one another any of the words is enough (operator `or`); fields narrow what they find,
//! exclusions are kept out, and beside a phrase, which is required, words only rank. Inside `AND`,
//! `OR` and `NOT` everything is a condition.

use rustc_hash::FxHashMap;

use super::condition::QueryCondition;
use super::error::QueryError;
use super::grammar::Clause;
use super::limits::MAX_QUERY_WORDS;
use super::matcher::folded;
use super::parsed::ParsedQuery;
use super::phrase::MAX_PHRASE_WORDS;
use super::reading::{is_how_it_works, is_how_to, is_order, plain_text};
use super::request::Operator;
use super::terms::{Field, Phrase, Prefix, QueryTerm, QueryWord};
use super::wanted_role::wanted_role;
use crate::analysis::{TermKind, WordAnalyzer, WordTerms, folded_line, is_stop_word, words};
use crate::literals::literals;
use crate::names::WantedName;
use crate::wanted_files::path_alone;

mod files;
mod filters;
mod patterns;

/// Fewest letters of a beginning: fewer would be half the vocabulary.
const MIN_PREFIX_LETTERS: usize = 2;

/// Longer queries are no names of files or pages.
const MAX_NAME_WORDS: usize = 10;

/// Makes one query.
pub(super) struct Planner<'q> {
    text: &'q str,
    operator: Operator,
    keeps_stop_words: bool,
    /// Quoted text is exact, and its case matters or not.
    minds_case: Option<bool>,
    query: ParsedQuery,
    term_index: FxHashMap<String, usize>,
    word_index: FxHashMap<(usize, Vec<usize>), usize>,
    analyzer: WordAnalyzer,
    buffer: WordTerms,
    /// Words seen so far, dropped ones included.
    seen: usize,
    /// Whether what is read is looked for, not excluded.
    scores: bool,
    /// Folded words for the title line.
    line: Vec<String>,
    /// Up to where what follows a file in quotes tells its line.
    taken_until: usize,
}

/// What a list of things beside one another comes to.
#[derive(Default)]
struct ClauseList {
    /// Words that only rank.
    words: Vec<QueryCondition>,
    /// Expressions and beginnings, any of which is enough.
    choices: Vec<QueryCondition>,
    /// Phrases: beside one, words only rank.
    required: Vec<QueryCondition>,
    /// Fields: they narrow what the rest finds.
    filters: Vec<QueryCondition>,
    excluded: Vec<QueryCondition>,
    /// Where the first exclusion stands.
    excluded_at: Option<usize>,
    /// Whether an exclusion is written as `NOT`.
    excludes_by_word: bool,
}

impl ClauseList {
    /// Whether there is nothing but words, and exclusions perhaps.
    fn has_only_words(&self) -> bool {
        self.choices.is_empty() && self.required.is_empty() && self.filters.is_empty()
    }
}

impl<'q> Planner<'q> {
    pub(super) fn new(
        text: &'q str,
        operator: Operator,
        keeps_stop_words: bool,
        minds_case: Option<bool>,
    ) -> Self {
        Self {
            text,
            operator,
            keeps_stop_words,
            minds_case,
            query: ParsedQuery::default(),
            term_index: FxHashMap::default(),
            word_index: FxHashMap::default(),
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
            seen: 0,
            scores: true,
            line: Vec::new(),
            taken_until: 0,
        }
    }

    pub(super) fn plan(
        &mut self,
        clauses: &Clause<'_>,
        terms: &[String],
    ) -> Result<ParsedQuery, QueryError> {
        let mut list = ClauseList::default();
        if let Clause::List(clauses) = clauses {
            self.add_all(clauses, &mut list)?;
        }
        let is_text_alone = list.has_only_words() && list.excluded.is_empty();
        self.query.title_line = if is_text_alone {
            folded_line(self.text)
        } else {
            folded_line(&self.line.join(" "))
        };
        let filters = &self.query.filters;
        let is_short = self.line.len() <= MAX_NAME_WORDS;
        if is_short && is_text_alone {
            self.query.names = WantedName::from_query(path_alone(self.text));
        } else if is_short
            && !filters.is_empty()
            && filters
                .iter()
                .all(|filter| matches!(filter.field, Field::Kind | Field::Is))
        {
            self.query.names = WantedName::from_query(&plain_text(clauses));
        }
        self.query.asks_how = is_how_to(&self.line);
        self.query.is_order = is_order(&self.line);
        self.query.asks_how_it_works = is_how_it_works(&self.line);
        self.query.wanted_role = wanted_role(&self.line);
        for term in terms {
            self.add_quoted_text(term, &mut list)?;
        }
        self.query.condition = self.top_condition(list)?;
        Ok(std::mem::take(&mut self.query))
    }

    /// The condition of the whole query; none where any word is enough.
    fn top_condition(&self, list: ClauseList) -> Result<Option<QueryCondition>, QueryError> {
        let only_words = list.has_only_words();
        if only_words && list.excluded.is_empty() && self.operator == Operator::Or {
            return Ok(None);
        }
        if only_words && list.words.is_empty() {
            if list.excluded.is_empty() {
                return Ok(None);
            }
            return Err(self.exclusion_error(&list));
        }
        Ok(self.condition(list))
    }

    /// `NOT x` says what it means; of `-Wall` the minus may be part of the word.
    fn exclusion_error(&self, list: &ClauseList) -> QueryError {
        let at = list.excluded_at.unwrap_or_default();
        let before = self.text.get(..at).unwrap_or(self.text);
        if list.excludes_by_word {
            let position = before.chars().count();
            return QueryError::OnlyExcludes { position };
        }
        QueryError::at_offset(
            self.text,
            at,
            "the query only excludes; add something to look for",
        )
    }

    fn condition(&self, list: ClauseList) -> Option<QueryCondition> {
        let ClauseList {
            words,
            choices,
            required,
            filters,
            excluded,
            excluded_at: _,
            excludes_by_word: _,
        } = list;
        let has_phrase = !required.is_empty();
        let mut all: Vec<QueryCondition> = filters.into_iter().chain(required).collect();
        match self.operator {
            Operator::And => all.extend(words.into_iter().chain(choices)),
            Operator::Or if !has_phrase => {
                let any: Vec<_> = words.into_iter().chain(choices).collect();
                all.extend(join(any, QueryCondition::Any));
            }
            Operator::Or => {}
        }
        all.extend(
            excluded
                .into_iter()
                .map(|one| QueryCondition::Not(Box::new(one))),
        );
        join(all, QueryCondition::All)
    }

    fn add_all(&mut self, clauses: &[Clause<'_>], list: &mut ClauseList) -> Result<(), QueryError> {
        clauses.iter().try_for_each(|clause| self.add(clause, list))
    }

    fn add(&mut self, clause: &Clause<'_>, list: &mut ClauseList) -> Result<(), QueryError> {
        match clause {
            Clause::Text(text) => {
                self.record_literals(text);
                let noise = self.record_files(text);
                for word in words(text) {
                    if !noise.iter().any(|part| part.contains(&word.start)) {
                        list.words
                            .extend(self.word(word.text, true)?.map(QueryCondition::Word));
                    }
                }
            }
            Clause::Phrase { text, .. } if self.is_frame(text) || self.is_included(text) => {
                self.add(&Clause::Text(text), list)?;
            }
            Clause::Phrase { .. } | Clause::Expression { .. } => {
                list.required.extend(self.expression(clause)?);
            }
            Clause::Field { .. } => list.filters.extend(self.expression(clause)?),
            Clause::Not { clause, at } => {
                list.excluded.extend(self.excluded(clause)?);
                list.excluded_at.get_or_insert(*at);
                list.excludes_by_word |= self.text[*at..].starts_with("NOT");
            }
            // Any word is enough inside the brackets and beside them: they change nothing.
            Clause::List(group) if self.operator == Operator::Or && has_only_words(group) => {
                self.add_all(group, list)?;
            }
            Clause::Starred { .. } | Clause::And(_) | Clause::Or(_) | Clause::List(_) => {
                list.choices.extend(self.expression(clause)?);
            }
        }
        Ok(())
    }

    /// A term of the request: text, in which only quotes mean something.
    fn add_quoted_text(&mut self, text: &str, list: &mut ClauseList) -> Result<(), QueryError> {
        let spans: Vec<&str> = text.split('"').collect();
        let last = spans.len() - 1;
        for (index, span) in spans.into_iter().enumerate() {
            if index % 2 == 1 && index < last {
                list.required.extend(self.phrase(span, 0)?);
            } else {
                self.add(&Clause::Text(span), list)?;
            }
        }
        Ok(())
    }

    /// The condition of a clause inside an expression; none where it holds nothing to look for.
    fn expression(&mut self, clause: &Clause<'_>) -> Result<Option<QueryCondition>, QueryError> {
        match clause {
            Clause::Text(text) => {
                self.record_literals(text);
                let mut all = Vec::new();
                for word in words(text) {
                    all.extend(self.word(word.text, true)?.map(QueryCondition::Word));
                }
                Ok(join(all, QueryCondition::All))
            }
            Clause::Starred { text, at } => self.starred(text, *at),
            Clause::Phrase { text, at } => match self.minds_case {
                Some(minds_case) => self.exact_text(text, minds_case, *at),
                None => self.phrase(text, *at),
            },
            Clause::Expression {
                text,
                ignores_case,
                at,
            } => self.regular_expression(text, *ignores_case, *at),
            Clause::Field { field, value, at } => self.filter(*field, *value, *at).map(Some),
            Clause::Not { clause, .. } => {
                let inner = self.excluded(clause)?;
                Ok(inner.map(|inner| QueryCondition::Not(Box::new(inner))))
            }
            Clause::And(clauses) => Ok(join(self.expressions(clauses)?, QueryCondition::All)),
            Clause::Or(clauses) => Ok(join(self.expressions(clauses)?, QueryCondition::Any)),
            Clause::List(clauses) => {
                let mut list = ClauseList::default();
                self.add_all(clauses, &mut list)?;
                Ok(self.condition(list))
            }
        }
    }

    fn expressions(&mut self, clauses: &[Clause<'_>]) -> Result<Vec<QueryCondition>, QueryError> {
        let mut conditions = Vec::new();
        for clause in clauses {
            conditions.extend(self.expression(clause)?);
        }
        Ok(conditions)
    }

    /// The condition of a clause that is excluded: nothing in it scores.
    fn excluded(&mut self, clause: &Clause<'_>) -> Result<Option<QueryCondition>, QueryError> {
        let scored = std::mem::replace(&mut self.scores, false);
        let condition = self.expression(clause);
        self.scores = scored;
        condition
    }

    fn starred(&mut self, text: &str, at: usize) -> Result<Option<QueryCondition>, QueryError> {
        let found: Vec<_> = words(text).collect();
        let Some((last, before)) = found.split_last() else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for word in before {
            all.extend(self.word(word.text, true)?.map(QueryCondition::Word));
        }
        self.count_word()?;
        let folded = folded(last.text);
        if folded.chars().count() < MIN_PREFIX_LETTERS {
            return Err(QueryError::at_offset(
                self.text,
                at + last.start,
                format!("a beginning needs at least {MIN_PREFIX_LETTERS} letters before the star"),
            ));
        }
        let prefix = Prefix {
            folded,
            scores: self.scores,
        };
        let prefixes = &mut self.query.prefixes;
        let index = prefixes.iter().position(|known| *known == prefix);
        let index = index.unwrap_or_else(|| {
            prefixes.push(prefix);
            prefixes.len() - 1
        });
        all.push(QueryCondition::Prefix(index));
        Ok(join(all, QueryCondition::All))
    }

    /// Keeps what is looked for with its signs.
    fn record_literals(&mut self, text: &str) {
        let known = &mut self.query.literals;
        for literal in literals(text).filter(|_| self.scores) {
            if !known.iter().any(|one| one == literal) {
                known.push(literal.to_owned());
            }
        }
    }

    fn phrase(&mut self, text: &str, at: usize) -> Result<Option<QueryCondition>, QueryError> {
        self.record_literals(text);
        let found: Vec<_> = words(text).collect();
        let has_subject = found.iter().any(|word| !is_stop_word(&folded(word.text)));
        let mut terms = Vec::new();
        let mut last_word = None;
        for word in &found {
            if self.scores && has_subject && is_stop_word(&folded(word.text)) {
                self.line.push(folded(word.text));
            }
            let counts = self.scores && !(has_subject && is_stop_word(&folded(word.text)));
            let scored = std::mem::replace(&mut self.scores, counts);
            let index = self.word(word.text, false);
            self.scores = scored;
            if let Some(index) = index? {
                let word = &self.query.words[index];
                match word.parts.as_slice() {
                    [] => terms.push(word.whole),
                    parts => terms.extend(parts),
                }
                last_word = Some(index);
            }
        }
        if terms.len() > MAX_PHRASE_WORDS {
            return Err(QueryError::at_offset(
                self.text,
                at,
                format!("a phrase may have at most {MAX_PHRASE_WORDS} words; shorten it"),
            ));
        }
        if found.len() < 2 {
            return Ok(last_word.map(QueryCondition::Word));
        }
        let phrase = Phrase {
            text: text.trim().to_owned(),
            terms,
        };
        let phrases = &mut self.query.phrases;
        let index = phrases.iter().position(|known| known.terms == phrase.terms);
        Ok(Some(QueryCondition::Phrase(index.unwrap_or_else(|| {
            phrases.push(phrase);
            phrases.len() - 1
        }))))
    }

    fn count_word(&mut self) -> Result<(), QueryError> {
        self.seen += 1;
        if self.seen > MAX_QUERY_WORDS {
            return Err(QueryError::TooManyWords {
                limit: MAX_QUERY_WORDS,
            });
        }
        Ok(())
    }

    /// The index of a word; none where it is a stop word that may be dropped, or holds no term.
    fn word(&mut self, surface: &str, may_drop: bool) -> Result<Option<usize>, QueryError> {
        self.count_word()?;
        let folded = folded(surface);
        if self.scores {
            self.line.push(folded.clone());
        }
        // Whoever excludes a stop word means it.
        if may_drop && self.scores && !self.keeps_stop_words && is_stop_word(&folded) {
            return Ok(None);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.analyzer.analyze(surface, &mut buffer);
        let mut whole = None;
        let mut parts = Vec::new();
        for (term, kind) in buffer.iter() {
            match kind {
                TermKind::Whole => whole = Some(self.term(term)),
                TermKind::Part => parts.push(self.term(term)),
                TermKind::Exact => {}
            }
        }
        self.buffer = buffer;
        let known = |whole| {
            let is_plain = may_drop && self.scores;
            self.known_word(surface, folded, whole, parts, is_plain)
        };
        Ok(whole.map(known))
    }

    /// The index of a term, counted once more where it scores.
    fn term(&mut self, text: &str) -> usize {
        let count = u32::from(self.scores);
        let terms = &mut self.query.terms;
        if let Some(&index) = self.term_index.get(text) {
            terms[index].count += count;
            return index;
        }
        let index = terms.len();
        self.term_index.insert(text.to_owned(), index);
        terms.push(QueryTerm {
            text: text.to_owned(),
            count,
        });
        index
    }

    fn known_word(
        &mut self,
        surface: &str,
        folded: String,
        whole: usize,
        parts: Vec<usize>,
        is_plain: bool,
    ) -> usize {
        let words = &mut self.query.words;
        if let Some(&index) = self.word_index.get(&(whole, parts.clone())) {
            words[index].is_plain &= is_plain;
            return index;
        }
        self.word_index.insert((whole, parts.clone()), words.len());
        words.push(QueryWord {
            surface: surface.to_owned(),
            folded,
            whole,
            parts,
            is_plain,
        });
        words.len() - 1
    }
}

/// Whether there is nothing but words, in groups or not.
fn has_only_words(clauses: &[Clause<'_>]) -> bool {
    clauses.iter().all(|clause| match clause {
        Clause::Text(_) => true,
        Clause::List(group) => has_only_words(group),
        _ => false,
    })
}

/// The one condition, or several joined; none without any.
fn join(
    mut conditions: Vec<QueryCondition>,
    by: fn(Vec<QueryCondition>) -> QueryCondition,
) -> Option<QueryCondition> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(by(conditions)),
    }
}
