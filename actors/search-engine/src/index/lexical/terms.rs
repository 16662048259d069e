//! The terms of a query in the indexes that are searched, and their statistics.

use rustc_hash::FxHashMap;
use search_core::query::{ParsedQuery, QueryTerm};
use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::query::{
    Bm25StatisticsProvider, Bm25Weight, BooleanWeight, BoostWeight, EnableScoring, Occur, Query,
    SumCombiner, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};

use crate::index::bitmap::Bitmap;
use crate::index::error::IndexError;
use crate::index::live_documents::LiveStatistics;
use crate::index::snapshot::{IndexSnapshot, SegmentView, documents_of, find_term};

/// Which term frequencies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) enum Scoring {
    /// Without weights: BM25.
    Plain,
    /// With weights: BM25F.
    Weighted,
}

/// The query's terms in the corpus.
pub(in crate::index) struct QueryTerms<'q> {
    pub(in crate::index) query: &'q ParsedQuery,
    pub(in crate::index) field: Field,
    pub(in crate::index) surplus: Field,
    /// Per segment of all sources, per term: where its posting list is.
    pub(in crate::index) infos: Vec<Vec<Option<TermInfo>>>,
    /// Documents that hold the term, by term.
    pub(in crate::index) frequencies: Vec<u64>,
    statistics: Statistics,
    /// What each term counts beside its rarity.
    boosts: Vec<f32>,
}

/// What a part of an identifier counts for: it says what the identifier is about, and stands in
/// other identifiers.
const PART: f32 = 1.25;

/// How often each term was typed, with [`PART`] for those that are parts alone.
fn boosts(query: &ParsedQuery) -> Vec<f32> {
    let words = query.words();
    let is_part = |term: usize| {
        words.iter().any(|word| word.parts.contains(&term))
            && words.iter().all(|word| word.whole != term)
    };
    let terms = query.terms().iter().enumerate();
    terms
        .map(|(at, term)| term.count as f32 * if is_part(at) { PART } else { 1.0 })
        .collect()
}

/// Statistics of the whole corpus, as tantivy asks for them. Deleted documents do not count.
struct Statistics {
    living: LiveStatistics,
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

impl<'q> QueryTerms<'q> {
    pub(in crate::index) fn load(
        sources: &[IndexSnapshot],
        query: &'q ParsedQuery,
    ) -> Result<Self, IndexError> {
        let fields = sources[0].fields();
        let mut infos = Vec::new();
        let mut frequencies = vec![0; query.terms().len()];
        let mut living = LiveStatistics::default();
        for (snapshot, segment, view) in segments_of(sources) {
            living.add(view.living);
            let mut found = Vec::with_capacity(query.terms().len());
            for (term, frequency) in query.terms().iter().zip(&mut frequencies) {
                let info = find_term(&view.text, fields.text, &term.text)?;
                if let Some(info) = &info {
                    *frequency += snapshot.live_frequency(segment, info)?;
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
            boosts: boosts(query),
        })
    }

    /// Words looked for, without any of their terms in the sources; and identifiers that no
    /// document holds, neither whole nor all of their parts.
    pub(in crate::index) fn missing(
        &self,
        sources: &[IndexSnapshot],
    ) -> Result<Vec<usize>, IndexError> {
        let mut missing = Vec::new();
        for (index, word) in self.query.words().iter().enumerate() {
            if self.query.is_looked_for(word)
                && self.frequencies[word.whole] == 0
                && !self.is_any_with_all(sources, &word.parts)?
            {
                missing.push(index);
            }
        }
        Ok(missing)
    }

    /// Whether any document holds all of `parts`; of none there is none.
    fn is_any_with_all(
        &self,
        sources: &[IndexSnapshot],
        parts: &[usize],
    ) -> Result<bool, IndexError> {
        if parts.iter().any(|&part| self.frequencies[part] == 0) {
            return Ok(false);
        }
        let Some((&first, rest)) = parts.split_first() else {
            return Ok(false);
        };
        for ((_, _, view), infos) in segments_of(sources).zip(&self.infos) {
            let max_doc = view.reader.max_doc();
            let holders = |term: usize| {
                let info = infos[term].as_ref();
                info.map(|info| documents_of(&view.text, info, max_doc))
                    .transpose()
            };
            let Some(mut all) = holders(first)? else {
                continue;
            };
            for &part in rest {
                match holders(part)? {
                    Some(with) => all.intersect(&with),
                    None => all = Bitmap::new(max_doc),
                }
            }
            if let Some(deleted) = &view.deleted {
                all.subtract(deleted);
            }
            if !all.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where a segment stands among those of all sources.
    pub(in crate::index) fn place_of(
        sources: &[IndexSnapshot],
        source: u32,
        segment: u32,
    ) -> usize {
        let before = sources[..source as usize].iter();
        before.map(|source| source.segments().len()).sum::<usize>() + segment as usize
    }

    /// The disjunction of all terms that occur; `None` when none does.
    pub(in crate::index) fn weight(
        &self,
        any: &IndexSnapshot,
    ) -> Result<Option<Box<dyn Weight>>, IndexError> {
        let scoring =
            EnableScoring::enabled_from_statistics_provider(&self.statistics, any.searcher());
        let mut weights: Vec<(Occur, Box<dyn Weight>)> = Vec::new();
        let terms = self.query.terms().iter().zip(&self.frequencies);
        for ((term, &frequency), &boost) in terms.zip(&self.boosts) {
            if frequency == 0 || term.count == 0 {
                continue;
            }
            let query = TermQuery::new(
                Term::from_field_text(self.field, &term.text),
                IndexRecordOption::WithFreqs,
            );
            let mut weight = query.weight(scoring)?;
            if boost != 1.0 {
                weight = Box::new(BoostWeight::new(weight, boost));
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
    pub(in crate::index) fn corpus(&self) -> (u64, f32) {
        let living = self.statistics.living;
        (
            living.documents,
            living.length() as f32 / living.documents as f32,
        )
    }

    /// What each term is worth: its rarity times how often it was typed; 0 for terms that no
    /// document holds.
    pub(super) fn weights(&self) -> Vec<f32> {
        let documents = self.statistics.living.documents as f32;
        let terms = self.query.terms().iter().zip(&self.frequencies);
        let weight = |(term, &with): (&QueryTerm, &u64)| {
            let with = with as f32;
            let rarity = (1.0 + (documents - with + 0.5) / (with + 0.5)).ln();
            if with > 0.0 {
                rarity * term.count as f32
            } else {
                0.0
            }
        };
        terms.map(weight).collect()
    }

    /// What a term counts beside its rarity.
    pub(in crate::index) fn boost(&self, term: usize) -> f32 {
        self.boosts[term]
    }

    /// The scorer of one term.
    pub(in crate::index) fn bm25(&self, term: usize) -> Bm25Weight {
        let (documents, average) = self.corpus();
        let weight =
            Bm25Weight::for_one_term_without_explain(self.frequencies[term], documents, average);
        weight.boost_by(self.boost(term))
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
