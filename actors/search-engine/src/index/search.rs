//! Ranked search over the indexes of several sources with the statistics of all of them.

mod reading;

use std::rc::Rc;

use search_core::answer::{Explanation, SortOrder};
use search_core::facets::Facets;
use search_core::query::{ParsedQuery, QueryCondition};
use search_core::role::RelevanceFunction;

use super::error::IndexError;
use super::explain::Explainer;
use super::lexical::{self, LexicalMatches, QueryTerms, Scoring};
use super::narrowing;
use super::passages::PassageScores;
use super::pool::{Pool, ScoredDocument};
use super::record::DocumentRecord;
use super::records::RecordReader;
use super::refine::{REFINE_DEPTH, Refiner};
use super::rerank::{RERANK_DEPTH, RankedCandidate, Reranker, reranked, unchanged};
use super::scope::SearchScope;
use super::snapshot::IndexSnapshot;
use super::title;
use super::verify::MAX_VERIFIED;

/// Most results one call gives.
pub const MAX_LIMIT: usize = 1000;

/// Most results one call skips.
pub const MAX_SKIP: usize = 10_000;

/// Which of the results are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Results to pass over.
    pub skip: usize,
    /// Results to give.
    pub limit: usize,
    /// Whether to say what each score is made of.
    pub explain: bool,
    /// What comes first.
    pub sort: SortOrder,
    /// Whether to say what the matches have in common.
    pub facets: bool,
    /// Whether all files count alike, whatever they are for.
    pub ignores_roles: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// Which of the snapshots the document is from.
    pub source: usize,
    /// Relevance, higher is better; comparable within one answer.
    pub score: f32,
    /// What the index knows of the document.
    pub record: DocumentRecord,
    /// What the score is made of, where it was asked for.
    pub explanation: Option<Explanation>,
    /// The concepts that led to it.
    pub concepts: Vec<String>,
    /// The passage of its text that says most, from 0, where several words were looked for.
    pub passage: Option<usize>,
    /// The embedded passage nearest to the query, from 0, where words do not decide: they stand
    /// outside of its text, or in scattered places.
    pub nearest: Option<usize>,
    /// Whether it may define what the query names.
    pub defines: bool,
}

/// The answer to a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// Number of documents that match, not only those given.
    pub total: u64,
    /// The same by source, in the order of the snapshots.
    pub totals: Vec<u64>,
    /// The results asked for, best first; equal scores are in the order of source and key.
    pub hits: Vec<SearchHit>,
    /// Words looked for that no source holds, as indices of the query's words.
    pub missing: Vec<usize>,
    /// Documents that hold the words of a said but were not read for it: too many hold them.
    pub unread: u64,
    /// Whether the clock decided how many of them were read: asked again, there may be others.
    pub was_late: bool,
    /// Phrases, names and literals that no document holds: what is given was found by the words of
    /// the query.
    pub unheld: Vec<String>,
    /// How rare the query's terms are, where they rank; 0 for terms that no document holds.
    pub rarities: Vec<f32>,
    /// What the matches have in common, where it was asked for. Matches that only a text decides
    /// count whether or not it was read; documents that no word led to do not.
    pub facets: Option<Facets>,
}

/// Searches the sources together: term statistics are those of all of them, so scores compare.
/// Gives the results from `skip` on, at most `limit` of them.
///
/// # Errors
/// An index cannot be read.
pub fn search_across(
    sources: &[IndexSnapshot],
    query: &ParsedQuery,
    function: RelevanceFunction,
    skip: usize,
    limit: usize,
) -> Result<Hits, IndexError> {
    let scope = SearchScope {
        snapshots: sources,
        names: &[],
        texts: None,
        reranker: None,
    };
    let page = PageRequest {
        skip,
        limit,
        ..PageRequest::default()
    };
    search_in(&scope, query, function, page)
}

/// As [`search_across`], with names and texts.
///
/// # Errors
/// An index cannot be read.
pub fn search_in(
    scope: &SearchScope<'_>,
    query: &ParsedQuery,
    function: RelevanceFunction,
    page: PageRequest,
) -> Result<Hits, IndexError> {
    let sources = scope.snapshots;
    if query.is_empty() || sources.is_empty() {
        return Ok(Hits {
            totals: vec![0; sources.len()],
            ..Hits::default()
        });
    }
    let page = PageRequest {
        skip: page.skip.min(MAX_SKIP),
        limit: page.limit.min(MAX_LIMIT),
        ..page
    };
    let mut wanted = page.skip + page.limit;
    if reads_texts(query) {
        wanted = wanted.max(MAX_VERIFIED);
    }
    let is_ranked = page.sort == SortOrder::Relevance;
    let reranks = is_ranked && function == RelevanceFunction::ServiceGraph;
    let reranker = scope.reranker.filter(|_| reranks);
    let refines = is_ranked
        && matches!(
            function,
            RelevanceFunction::BM25F | RelevanceFunction::ServiceGraph
        );
    if refines {
        wanted = wanted.max(REFINE_DEPTH);
    }
    if reranker.is_some() {
        wanted = wanted.max(RERANK_DEPTH);
    }
    let documents: u64 = sources.iter().map(IndexSnapshot::document_count).sum();
    let needs_all = page.facets || !is_ranked;
    let mut pool = Pool::new(if needs_all {
        documents as usize
    } else {
        wanted
    });
    let outcome = match function {
        RelevanceFunction::TitleScorer => title::search(scope, query, &mut pool)?,
        RelevanceFunction::BM25 => lexical::search(scope, query, Scoring::Plain, &mut pool)?,
        // ServiceGraph ranks the lexical results again; without vectors it is lexical.
        RelevanceFunction::BM25F | RelevanceFunction::ServiceGraph => {
            lexical::search(scope, query, Scoring::Weighted, &mut pool)?
        }
    };
    let facets = if page.facets {
        Some(narrowing::count_facets(sources, pool.best_mut())?.finish())
    } else {
        None
    };
    let mut ranked = RankedSearch {
        scope,
        query,
        function,
        page,
        outcome,
        passages: PassageScores::default(),
        records: RecordReader::new(sources),
        reranker,
        refines,
    };
    let hits = Hits {
        facets,
        ..ranked.hits(pool, wanted)?
    };
    match query.without_phrases() {
        Some((words, phrases)) if hits.total == 0 && hits.unread == 0 => Ok(Hits {
            unheld: phrases.into_iter().map(str::to_owned).collect(),
            ..search_in(scope, &words, function, page)?
        }),
        _ => Ok(hits),
    }
}

/// Whether texts may decide.
fn reads_texts(query: &ParsedQuery) -> bool {
    let condition = query.condition();
    condition.is_some_and(|condition| {
        condition.any(&|leaf| match leaf {
            QueryCondition::Phrase(_) | QueryCondition::Pattern(_) => true,
            QueryCondition::Filter(filter) => query.filters()[*filter].is_phrase,
            _ => false,
        })
    })
}

/// A search whose candidates are ranked.
struct RankedSearch<'s> {
    scope: &'s SearchScope<'s>,
    query: &'s ParsedQuery,
    function: RelevanceFunction,
    page: PageRequest,
    outcome: LexicalMatches,
    passages: PassageScores,
    records: RecordReader<'s>,
    reranker: Option<&'s dyn Reranker>,
    /// Whether the best results are looked at once more.
    refines: bool,
}

impl RankedSearch<'_> {
    fn is_ranked(&self) -> bool {
        self.page.sort == SortOrder::Relevance
    }

    /// The first `wanted` candidates in the order asked for.
    fn candidates(
        &self,
        mut pool: Pool,
        wanted: usize,
        key: impl Fn(&ScoredDocument) -> Result<String, IndexError>,
    ) -> Result<Vec<ScoredDocument>, IndexError> {
        if self.is_ranked() {
            pool.narrow(wanted);
            return pool.into_ranked(0, wanted, key);
        }
        let newest_first = self.page.sort == SortOrder::Newest;
        let mut sorted =
            narrowing::sort_by_time(self.scope.snapshots, pool.best_mut(), newest_first)?;
        sorted.truncate(wanted);
        Ok(sorted)
    }

    fn hits(&mut self, mut pool: Pool, wanted: usize) -> Result<Hits, IndexError> {
        let PageRequest { skip, limit, .. } = self.page;
        let open: u64 = self.outcome.open.iter().sum();
        let key = |candidate: &ScoredDocument| {
            self.scope.snapshots[candidate.source as usize]
                .key(candidate.segment, candidate.document)
        };
        let (mut unread, mut was_late) = (0, false);
        let looks_again = self.reranker.is_some() || self.refines;
        let placed = if open == 0 && !looks_again && self.is_ranked() {
            pool.narrow(wanted);
            unchanged(pool.into_ranked(skip, limit, key)?)
        } else {
            let mut candidates = self.candidates(pool, wanted, key)?;
            if open > 0 {
                let verified = self.verified(candidates)?;
                unread = open.saturating_sub(verified.read);
                was_late = verified.was_late;
                candidates = verified.kept;
            }
            if self.is_ranked() && self.query.condition().is_none() {
                let depth = self.depth();
                self.outcome.complete(&mut candidates, depth);
            }
            self.score_passages(&mut candidates)?;
            let placed = self.rerank(candidates)?;
            let placed = self.refine(placed)?;
            placed.into_iter().skip(skip).take(limit).collect()
        };
        let mut hits = Vec::with_capacity(placed.len());
        for one in &placed {
            hits.push(self.hit(one)?);
        }
        self.explain(&placed, &mut hits)?;
        let totals = std::mem::take(&mut self.outcome.certain);
        Ok(Hits {
            total: totals.iter().sum(),
            totals,
            hits,
            missing: std::mem::take(&mut self.outcome.missing),
            unread,
            was_late,
            unheld: self.missing_names(),
            rarities: self.outcome.term_weights.clone(),
            facets: None,
        })
    }

    /// Lexical results that are looked at again.
    fn depth(&self) -> usize {
        self.reranker.map_or(REFINE_DEPTH, |_| RERANK_DEPTH)
    }

    /// Scores the best candidates by their passages, where they are ranked by their words.
    fn score_passages(&mut self, candidates: &mut [ScoredDocument]) -> Result<(), IndexError> {
        if !self.refines {
            return Ok(());
        }
        let (best, rest) = candidates.split_at_mut(self.depth().min(candidates.len()));
        let sources = self.scope.snapshots;
        self.passages = PassageScores::rescore(sources, self.query, &self.outcome, best)?;
        // What ties stays in its order.
        best.sort_by(|a, b| b.score.total_cmp(&a.score));
        let lowest = best.last().map_or(f32::MAX, |last| last.score);
        let highest = rest.first().map_or(0.0, |first| first.score);
        if highest > lowest {
            rest.iter_mut()
                .for_each(|one| one.score *= lowest / highest);
        }
        Ok(())
    }

    fn refine(&self, ranked: Vec<RankedCandidate>) -> Result<Vec<RankedCandidate>, IndexError> {
        if !self.refines {
            return Ok(ranked);
        }
        Refiner::new(self.scope, self.query, &self.outcome, &self.passages)
            .ignoring_roles(self.page.ignores_roles)
            .refine(ranked, &self.records)
    }

    /// The record of one of very many candidates, which is not kept.
    fn record(&self, candidate: &ScoredDocument) -> Result<DocumentRecord, IndexError> {
        self.scope.snapshots[candidate.source as usize]
            .record(candidate.segment, candidate.document)
    }

    /// The candidates in the order of the reranker, if there is one. Adds what it found to the
    /// totals.
    fn rerank(
        &mut self,
        candidates: Vec<ScoredDocument>,
    ) -> Result<Vec<RankedCandidate>, IndexError> {
        let Some(reranker) = self.reranker else {
            return Ok(unchanged(candidates));
        };
        let outcome = &self.outcome;
        let is_counted = |candidate: &ScoredDocument| {
            let place =
                QueryTerms::place_of(self.scope.snapshots, candidate.source, candidate.segment);
            let found = outcome.found.get(place);
            found.is_some_and(|found| found.contains(candidate.document))
        };
        let (placed, added) = reranked(
            &self.records,
            (self.query, outcome),
            reranker,
            candidates,
            &is_counted,
        )?;
        for (total, added) in self.outcome.certain.iter_mut().zip(added) {
            *total += added;
        }
        Ok(placed)
    }

    /// Names and literals that no document holds, as they were typed.
    fn missing_names(&self) -> Vec<String> {
        let words = self.outcome.unheld.iter().chain(&self.outcome.absent);
        let words = words.map(|&word| &self.query.words()[word].surface);
        let literals = self.outcome.absent_literals.iter();
        let literals = literals.map(|&literal| &self.query.literals()[literal]);
        let mut names: Vec<String> = words.chain(literals).cloned().collect();
        names.dedup();
        names
    }

    fn hit(&self, placed: &RankedCandidate) -> Result<SearchHit, IndexError> {
        let fusion = placed.fusion.as_ref();
        Ok(SearchHit {
            source: placed.candidate.source as usize,
            score: placed.candidate.score,
            record: Rc::unwrap_or_clone(self.records.record(&placed.candidate)?),
            explanation: None,
            concepts: fusion.map_or_else(Vec::new, |fusion| fusion.concepts.clone()),
            passage: self
                .passages
                .get(&placed.candidate)
                .and_then(|one| one.best),
            nearest: fusion
                .and_then(|fusion| fusion.nearest)
                .filter(|_| !self.says_where(placed)),
            defines: self.defines(&placed.candidate),
        })
    }

    /// Whether the words of the query say which place of a document is meant.
    fn says_where(&self, placed: &RankedCandidate) -> bool {
        let candidate = &placed.candidate;
        let is_held = || {
            self.outcome.definers.weight(candidate) > 0.0
                || self.outcome.holders.count(candidate) > 0
        };
        let is_together = || match (self.passages.get(candidate), &placed.fusion) {
            (Some(passages), _) => passages.says_most,
            (None, Some(fusion)) => fusion.lexical_score > 0.0,
            (None, None) => true,
        };
        self.query.condition().is_some() || is_held() || is_together()
    }

    /// Whether a document may define what the query names: it does by the index, or the index was
    /// not asked.
    fn defines(&self, candidate: &ScoredDocument) -> bool {
        let is_known = self.refines && self.query.required_kinds().is_empty();
        !is_known || self.outcome.definers.weight(candidate) > 0.0
    }

    fn explain(
        &self,
        placed: &[RankedCandidate],
        hits: &mut [SearchHit],
    ) -> Result<(), IndexError> {
        if !self.page.explain {
            return Ok(());
        }
        let explainer = Explainer::new(
            self.scope,
            self.query,
            self.function,
            &self.outcome,
            &self.passages,
        )?;
        for (one, hit) in placed.iter().zip(hits) {
            let explained = explainer.explain(one)?;
            hit.explanation = Some(explained);
        }
        Ok(())
    }
}
