//! Ranking by titles alone: exact, then prefix, then all words, then fuzzy.

use search_core::query::{ParsedQuery, QueryCondition, QueryWord};
use tantivy::query::{AutomatonWeight, DfaWrapper, FuzzyTermQuery, Weight};
use tantivy::{DocId, Term};

use super::bitmap::Bitmap;
use super::conditions::{ConditionMatches, MatchBounds};
use super::error::IndexError;
use super::leaves::{filter_documents, title_documents};
use super::lexical::{LexicalMatches, NO_WORD};
use super::pool::{Pool, ScoredDocument};
use super::prefix_sets::{add_beginning, for_each_beginning};
use super::scope::SearchScope;
use super::snapshot::{IndexSnapshot, SegmentView, documents_of, find_term};

/// Base scores of the four ways to match; what is added within one stays below 1.
const EXACT: f32 = 4.0;
const PREFIX: f32 = 3.0;
const ALL_WORDS: f32 = 2.0;
const FUZZY: f32 = 1.0;

/// Words of at least this many letters may differ by one letter, and by two from the second on.
const TYPO_LETTERS: [usize; 2] = [4, 8];

/// Fills the pool.
pub(super) fn search(
    scope: &SearchScope<'_>,
    query: &ParsedQuery,
    pool: &mut Pool,
) -> Result<LexicalMatches, IndexError> {
    let sources = scope.snapshots;
    let mut outcome = LexicalMatches {
        certain: vec![0; sources.len()],
        open: vec![0; sources.len()],
        ..LexicalMatches::default()
    };
    for (source, snapshot) in sources.iter().enumerate() {
        for (segment, view) in snapshot.segments().iter().enumerate() {
            let titles = Titles {
                snapshot,
                view,
                query,
            };
            let mut push = |document, score| {
                pool.push(ScoredDocument {
                    score,
                    source: source as u32,
                    segment: segment as u32,
                    document,
                });
            };
            let scores = titles.scores()?;
            let Some(condition) = query.condition() else {
                for (document, score) in (0..).zip(scores) {
                    if score > 0.0 && !view.reader.is_deleted(document) {
                        outcome.certain[source] += 1;
                        push(document, score);
                    }
                }
                continue;
            };
            let max_doc = view.reader.max_doc();
            let matching =
                ConditionMatches::evaluate(condition, max_doc, view.deleted.as_deref(), |leaf| {
                    titles.leaf(leaf, scope.name(source as u32))
                })?;
            outcome.certain[source] += matching.certain();
            outcome.open[source] += matching.open();
            for document in matching.whole.upper.iter() {
                push(document, scores[document as usize].max(NO_WORD));
            }
            outcome.matchings.push(matching);
        }
    }
    Ok(outcome)
}

/// The titles of one segment.
struct Titles<'s> {
    snapshot: &'s IndexSnapshot,
    view: &'s SegmentView,
    query: &'s ParsedQuery,
}

impl Titles<'_> {
    /// The scores of all documents, 0 for those that do not match.
    fn scores(&self) -> Result<Vec<f32>, IndexError> {
        let max_doc = self.view.reader.max_doc();
        let mut scores = vec![0.0_f32; max_doc as usize];
        self.boost_fuzzy(&mut scores)?;
        self.boost_all_words(&mut scores)?;
        self.boost_lines(&mut scores)?;
        Ok(scores)
    }

    /// The titles that a leaf of the condition means.
    fn leaf(&self, leaf: &QueryCondition, source: Option<&str>) -> Result<MatchBounds, IndexError> {
        let max_doc = self.view.reader.max_doc();
        Ok(match leaf {
            QueryCondition::Word(word) => {
                let word = &self.query.words()[*word];
                let mut set = self.documents_with_word(word.whole, &word.parts)?;
                set.insert_all(&self.alike(&self.query.terms()[word.whole].text)?);
                MatchBounds::exact(set)
            }
            QueryCondition::Phrase(phrase) => {
                let mut all = Bitmap::full(max_doc);
                for &term in &self.query.phrases()[*phrase].terms {
                    let text = &self.query.terms()[term].text;
                    let info = find_term(&self.view.title, self.snapshot.fields().title, text)?;
                    match info {
                        Some(info) => {
                            all.intersect(&documents_of(&self.view.title, &info, max_doc)?);
                        }
                        None => all = Bitmap::new(max_doc),
                    }
                }
                MatchBounds::open(all, max_doc)
            }
            QueryCondition::Pattern(_) => MatchBounds::open(Bitmap::full(max_doc), max_doc),
            QueryCondition::Prefix(prefix) => {
                let start = &self.query.prefixes()[*prefix].folded;
                let mut set = Bitmap::new(max_doc);
                add_beginning(&self.view.title, start, |_| true, usize::MAX, &mut set)?;
                MatchBounds::exact(set)
            }
            QueryCondition::Filter(filter) => {
                let filter = &self.query.filters()[*filter];
                filter_documents(self.snapshot, self.view, source, self.query, filter)?
            }
            QueryCondition::Not(_) | QueryCondition::All(_) | QueryCondition::Any(_) => {
                MatchBounds::exact(Bitmap::new(max_doc))
            }
        })
    }

    /// The share of a title of `length` words that `words` words make up, below 1.
    fn title_fraction(&self, document: DocId, words: usize) -> f32 {
        let norms = self
            .view
            .reader
            .get_fieldnorms_reader(self.snapshot.fields().title);
        let length = norms.map_or(0, |norms| norms.fieldnorm(document)).max(1);
        (words as f32 / length as f32).min(1.0) * 0.99
    }

    /// Documents whose title has a word: the whole of it, or all of its parts.
    fn documents_with_word(&self, whole: usize, parts: &[usize]) -> Result<Bitmap, IndexError> {
        title_documents(self.snapshot, self.view, self.query, whole, parts)
    }

    /// The words looked for; excluded ones speak for no title.
    fn words(&self) -> Vec<&QueryWord> {
        let words = self.query.words().iter();
        words
            .filter(|word| self.query.is_looked_for(word))
            .collect()
    }

    fn boost_all_words(&self, scores: &mut [f32]) -> Result<(), IndexError> {
        let words = self.words();
        let Some((first, rest)) = words.split_first() else {
            return Ok(());
        };
        let mut all = self.documents_with_word(first.whole, &first.parts)?;
        for word in rest {
            all.intersect(&self.documents_with_word(word.whole, &word.parts)?);
        }
        for document in all.iter() {
            scores[document as usize] = ALL_WORDS + self.title_fraction(document, words.len());
        }
        Ok(())
    }

    /// Exact and prefix matches of the title as one line, however many there are.
    fn boost_lines(&self, scores: &mut [f32]) -> Result<(), IndexError> {
        let line = self.query.title_line();
        if line.is_empty() {
            return Ok(());
        }
        let all = (|_: &[u8]| true, usize::MAX);
        for_each_beginning(&self.view.title_line, line, all, |title, list| {
            let is_exact = title.len() == line.len();
            let share = line.len() as f32 / title.len() as f32 * 0.99;
            let score = if is_exact { EXACT } else { PREFIX + share };
            while !list.docs().is_empty() {
                for &document in list.docs() {
                    scores[document as usize] = score;
                }
                list.advance();
            }
        })?;
        Ok(())
    }

    /// Titles with words that are spelt alike: the share of the query's words found.
    fn boost_fuzzy(&self, scores: &mut [f32]) -> Result<(), IndexError> {
        let words = self.words();
        let share = 0.99 / words.len().max(1) as f32;
        for word in words {
            let mut found = self.documents_with_word(word.whole, &word.parts)?;
            for document in self.alike(&self.query.terms()[word.whole].text)? {
                found.insert_all(&[document]);
            }
            for document in found.iter() {
                let score = &mut scores[document as usize];
                *score = score.max(FUZZY) + share;
            }
        }
        Ok(())
    }

    /// Documents whose title has a term within the distance of a typing mistake.
    fn alike(&self, text: &str) -> Result<Vec<DocId>, IndexError> {
        let letters = text.chars().count();
        let distance = TYPO_LETTERS
            .iter()
            .filter(|&&least| letters >= least)
            .count() as u8;
        if distance == 0 {
            return Ok(Vec::new());
        }
        let field = self.snapshot.fields().title;
        let term = Term::from_field_text(field, text);
        let automaton: DfaWrapper = FuzzyTermQuery::new(term, distance, true).automaton()?;
        let weight = AutomatonWeight::new(field, automaton);
        let mut documents = Vec::new();
        weight.for_each_no_score(&self.view.reader, &mut |found| {
            documents.extend_from_slice(found);
        })?;
        Ok(documents)
    }
}
