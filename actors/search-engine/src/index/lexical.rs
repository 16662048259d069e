//! BM25 and BM25F over the weighted text field.
//!
//! The field holds term frequencies with weights and lengths without, so tantivy's BM25 with
//! block-max WAND (Ding & Suel 2011) over it *is* BM25F with one length norm. Plain BM25 is never
//! above it, because a frequency without weights is never higher: it runs the same way, and what
//! passes the threshold is scored again without the surplus.

mod conditional;
mod disjunction;

use rustc_hash::FxHashMap;
use search_core::query::{Condition, ParsedQuery, QueryWord};
use tantivy::postings::TermInfo;
use tantivy::query::{
    Bm25StatisticsProvider, Bm25Weight, BooleanWeight, BoostWeight, EnableScoring, Occur, Query,
    SumCombiner, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Term};

use super::bitmap::Bitmap;
use super::conditions::Matching;
use super::cursor::{ExactScorer, SurplusScorer};
use super::error::IndexError;
use super::living::Living;
use super::pool::{Candidate, Pool};
use super::search::Scope;
use super::snapshot::{IndexSnapshot, SegmentView, find_term};
use conditional::Conditional;
use disjunction::Disjunction;

/// Which term frequencies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scoring {
    /// Without weights: BM25.
    Plain,
    /// With weights: BM25F.
    Weighted,
}

/// What a search found beside the pool.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Documents that match for sure, by source.
    pub(super) certain: Vec<u64>,
    /// Documents of which the texts decide, by source.
    pub(super) open: Vec<u64>,
    /// By segment of all sources: what is known about the condition; empty without one.
    pub(super) matchings: Vec<Matching>,
    /// What a prefix adds to the score of a document, by prefix.
    pub(super) prefix_scores: Vec<f32>,
    /// Words looked for of which no source holds a term.
    pub(super) missing: Vec<usize>,
    /// By segment of all sources: the documents that any of the words led to; empty with a condition.
    pub(super) found: Vec<Bitmap>,
    /// Identifiers with a number that no document holds: their parts were looked for like words.
    pub(super) unheld: Vec<usize>,
}

/// Fills the pool.
pub(super) fn search(
    scope: &Scope<'_>,
    query: &ParsedQuery,
    scoring: Scoring,
    pool: &mut Pool,
) -> Result<Outcome, IndexError> {
    let sources = scope.snapshots;
    let terms = Terms::look_up(sources, query)?;
    let mut outcome = Outcome {
        certain: vec![0; sources.len()],
        open: vec![0; sources.len()],
        missing: terms.missing(),
        ..Outcome::default()
    };
    let weight = terms.weight(&sources[0])?;
    if let Some(condition) = query.condition() {
        let conditional = Conditional {
            scope,
            terms: &terms,
            scoring,
        };
        conditional.search(condition, weight.as_deref(), pool, &mut outcome)?;
    } else if let Some(weight) = weight {
        let search = Disjunction {
            sources,
            terms: &terms,
            scoring,
            keeps_found: scope.reranker.is_some(),
        };
        search.search(weight.as_ref(), pool, &mut outcome)?;
    }
    Ok(outcome)
}

/// Adds up the scores of the best in the order of the query's terms: pruning adds them in the order of a segment's posting
/// lists, so without this the last digits, and ties, would depend on how the segments lie.
fn score_exactly(
    sources: &[IndexSnapshot],
    terms: &Terms<'_>,
    scoring: Scoring,
    pool: &mut Pool,
) -> Result<(), IndexError> {
    // Two numbers give the same sum either way.
    if terms
        .infos
        .iter()
        .all(|infos| infos.iter().flatten().count() < 3)
        && scoring == Scoring::Weighted
    {
        return Ok(());
    }
    let best = pool.best();
    best.sort_unstable_by_key(|candidate| {
        (candidate.source, candidate.segment, candidate.document)
    });
    for group in best.chunk_by_mut(|a, b| (a.source, a.segment) == (b.source, b.segment)) {
        let (source, segment) = (group[0].source, group[0].segment);
        let snapshot = &sources[source as usize];
        let view = &snapshot.segments()[segment as usize];
        let number = Terms::place_of(sources, source, segment);
        let mut exact = ExactScorer::open(view, &terms.infos[number], terms, scoring)?;
        for candidate in group {
            candidate.score = exact.score(candidate.document);
        }
    }
    Ok(())
}

/// The query's terms in the corpus.
pub(super) struct Terms<'q> {
    pub(super) query: &'q ParsedQuery,
    pub(super) field: Field,
    pub(super) surplus: Field,
    /// Per segment of all sources, per term: where its posting list is.
    pub(super) infos: Vec<Vec<Option<TermInfo>>>,
    /// Documents that hold the term, by term.
    pub(super) frequencies: Vec<u64>,
    statistics: Statistics,
}

/// Statistics of the whole corpus, as tantivy asks for them. Deleted documents do not count.
struct Statistics {
    living: Living,
    frequencies: FxHashMap<Term, u64>,
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.living.length())
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.living.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.frequencies.get(term).copied().unwrap_or(0))
    }
}

impl<'q> Terms<'q> {
    pub(super) fn look_up(
        sources: &[IndexSnapshot],
        query: &'q ParsedQuery,
    ) -> Result<Self, IndexError> {
        let fields = sources[0].fields();
        let mut infos = Vec::new();
        let mut frequencies = vec![0; query.terms().len()];
        let mut living = Living::default();
        for (snapshot, segment, view) in segments_of(sources) {
            living.add(view.living);
            let mut found = Vec::with_capacity(query.terms().len());
            for (term, frequency) in query.terms().iter().zip(&mut frequencies) {
                let info = find_term(&view.text, fields.text, &term.text)?;
                if let Some(info) = &info {
                    *frequency += snapshot.living_frequency(segment, info)?;
                }
                found.push(info);
            }
            infos.push(found);
        }
        let by_term = query.terms().iter().zip(&frequencies);
        let by_term = by_term
            .map(|(term, &frequency)| (Term::from_field_text(fields.text, &term.text), frequency));
        let statistics = Statistics {
            living,
            frequencies: by_term.collect(),
        };
        Ok(Self {
            query,
            field: fields.text,
            surplus: fields.surplus,
            infos,
            frequencies,
            statistics,
        })
    }

    /// Words looked for, without any of their terms in the sources.
    fn missing(&self) -> Vec<usize> {
        let words = self.query.words().iter().enumerate();
        let is_missing = |word: &QueryWord| {
            self.query.is_looked_for(word)
                && word
                    .parts
                    .iter()
                    .chain([&word.whole])
                    .all(|&term| self.frequencies[term] == 0)
        };
        words
            .filter(|(_, word)| is_missing(word))
            .map(|(index, _)| index)
            .collect()
    }

    /// All segments of all sources, in order.
    fn places<'s>(
        &'s self,
        sources: &'s [IndexSnapshot],
        scoring: Scoring,
    ) -> impl Iterator<Item = Place<'s>> {
        let segments = sources.iter().enumerate().flat_map(|(source, snapshot)| {
            let views = snapshot.segments().iter().enumerate();
            views.map(move |(segment, view)| (source, snapshot, segment, view))
        });
        let with_infos = segments.zip(&self.infos);
        with_infos.map(move |((source, snapshot, segment, view), infos)| Place {
            snapshot,
            view,
            source: source as u32,
            segment: segment as u32,
            infos,
            terms: self,
            scoring,
        })
    }

    /// Where a segment stands among those of all sources.
    pub(super) fn place_of(sources: &[IndexSnapshot], source: u32, segment: u32) -> usize {
        let before = sources[..source as usize].iter();
        before.map(|source| source.segments().len()).sum::<usize>() + segment as usize
    }

    /// The disjunction of all terms that occur; `None` when none does.
    fn weight(&self, any: &IndexSnapshot) -> Result<Option<Box<dyn Weight>>, IndexError> {
        let scoring =
            EnableScoring::enabled_from_statistics_provider(&self.statistics, any.searcher());
        let mut weights: Vec<(Occur, Box<dyn Weight>)> = Vec::new();
        for (term, &frequency) in self.query.terms().iter().zip(&self.frequencies) {
            if frequency == 0 || term.count == 0 {
                continue;
            }
            let query = TermQuery::new(
                Term::from_field_text(self.field, &term.text),
                IndexRecordOption::WithFreqs,
            );
            let mut weight = query.weight(scoring)?;
            if term.count > 1 {
                weight = Box::new(BoostWeight::new(weight, term.count as f32));
            }
            weights.push((Occur::Should, weight));
        }
        if weights.len() < 2 {
            return Ok(weights.pop().map(|(_, weight)| weight));
        }
        let combine = Box::new(SumCombiner::default);
        let weight = BooleanWeight::with_minimum_number_should_match(weights, 1, true, combine);
        Ok(Some(Box::new(weight)))
    }

    /// Number of documents, and how many terms one has on average.
    pub(super) fn corpus(&self) -> (u64, f32) {
        let living = self.statistics.living;
        (
            living.documents,
            living.length() as f32 / living.documents as f32,
        )
    }

    /// The scorer of one term.
    pub(super) fn bm25(&self, term: usize) -> Bm25Weight {
        let (documents, average) = self.corpus();
        let weight =
            Bm25Weight::for_one_term_without_explain(self.frequencies[term], documents, average);
        weight.boost_by(self.query.terms()[term].count as f32)
    }
}

/// The segments of all sources, each with its number in its source.
fn segments_of(
    sources: &[IndexSnapshot],
) -> impl Iterator<Item = (&IndexSnapshot, u32, &SegmentView)> {
    sources.iter().flat_map(|snapshot| {
        let views = (0_u32..).zip(snapshot.segments());
        views.map(move |(segment, view)| (snapshot, segment, view))
    })
}

/// One segment in a search.
struct Place<'s> {
    snapshot: &'s IndexSnapshot,
    view: &'s SegmentView,
    source: u32,
    segment: u32,
    infos: &'s [Option<TermInfo>],
    terms: &'s Terms<'s>,
    scoring: Scoring,
}

impl Place<'_> {
    fn candidate(&self, document: DocId, score: f32) -> Candidate {
        Candidate {
            score,
            source: self.source,
            segment: self.segment,
            document,
        }
    }

    /// Takes the best documents, of `only` those if given.
    fn rank(
        &self,
        weight: &dyn Weight,
        only: Option<&Bitmap>,
        pool: &mut Pool,
    ) -> Result<(), IndexError> {
        let mut surplus = match self.scoring {
            Scoring::Plain => Some(SurplusScorer::open(self.view, self.infos, self.terms)?),
            Scoring::Weighted => None,
        };
        let alive = self.view.reader.alive_bitset();
        let threshold = pool.threshold();
        weight.for_each_pruning(threshold, &self.view.reader, &mut |document, score| {
            if alive.is_some_and(|alive| alive.is_deleted(document))
                || only.is_some_and(|only| !only.contains(document))
            {
                return pool.threshold();
            }
            let excess = surplus
                .as_mut()
                .map_or(0.0, |surplus| surplus.excess(document));
            pool.push(self.candidate(document, score - excess))
        })?;
        Ok(())
    }

    /// Scores documents one by one: a handful, or such as hold no term. Those that no word speaks
    /// for come last, in the order of their keys.
    fn score_each(
        &self,
        matching: &Matching,
        prefix_scores: &[f32],
        pool: &mut Pool,
    ) -> Result<(), IndexError> {
        let mut exact = ExactScorer::open(self.view, self.infos, self.terms, self.scoring)?;
        for document in matching.whole.upper.iter() {
            let mut score = exact.score(document);
            for (prefix, add) in prefix_scores.iter().enumerate() {
                let set = matching.leaf(&Condition::Prefix(prefix));
                if set.is_some_and(|set| set.contains(document)) {
                    score += add;
                }
            }
            pool.push(self.candidate(document, score.max(NO_WORD)));
        }
        Ok(())
    }

    /// The posting lists of the terms that score.
    fn present(&self) -> impl Iterator<Item = &TermInfo> {
        let terms = self.infos.iter().zip(self.terms.query.terms());
        let counting = terms.filter(|(_, term)| term.count > 0);
        counting.filter_map(|(info, _)| info.as_ref())
    }

    /// The documents that hold any of the terms, deleted ones included.
    fn any(&self) -> Result<Bitmap, IndexError> {
        let mut any = Bitmap::new(self.view.reader.max_doc());
        for info in self.present() {
            any.unite(&*self.snapshot.text_documents(self.segment, info)?);
        }
        Ok(any)
    }

    /// Number of documents of a set that are not deleted.
    fn count(&self, set: &Bitmap) -> u64 {
        self.view
            .deleted
            .as_deref()
            .map_or_else(|| set.len(), |deleted| set.len_without(deleted))
    }

    /// Documents that hold a word: the whole of it, or all its parts.
    fn word_documents(&self, word: &QueryWord) -> Result<Bitmap, IndexError> {
        let mut set = self.term_documents(word.whole)?;
        if let Some((&first, rest)) = word.parts.split_first() {
            let mut parts = self.term_documents(first)?;
            for &part in rest {
                parts.intersect(&self.term_documents(part)?);
            }
            set.unite(&parts);
        }
        Ok(set)
    }

    fn term_documents(&self, term: usize) -> Result<Bitmap, IndexError> {
        match &self.infos[term] {
            Some(info) => Ok(Bitmap::clone(
                &*self.snapshot.text_documents(self.segment, info)?,
            )),
            None => Ok(Bitmap::new(self.view.reader.max_doc())),
        }
    }
}

/// The score of a document that meets the condition without a word that scores.
pub(super) const NO_WORD: f32 = 1e-6;

/// Up to so many documents it is cheaper to look each up in every posting list than to rank.
const FEW: u64 = 2_000;
