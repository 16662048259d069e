//! One search: the sources asked together, and the page of results with their excerpts.

use std::time::Instant;

use search_core::answer::{
    AnswerStatus, Correction, QueryFault, SearchAnswer, SearchResult, SourceReport,
};
use search_core::query::{self, ParsedQuery, QueryError, SearchRequest, UnderstoodRequest};
use search_core::role::RelevanceFunction;

use super::concepts::ConceptRanker;
use super::dashes::with_held_options;
use super::expansion::{ExpandedQuery, expanded};
use super::failure::SearchFailure;
use super::naming::ConceptNamer;
use super::nearest::NearestPassage;
use super::numbers::{is_short_hash, with_groups};
use super::pair_scorer::{NoScores, RerankOptions};
use super::params::SearchParams;
use super::passages::passages;
use super::source::{SearchableRole, SearchableSource};
use super::texts::{SourceTexts, TypedQuery, collect_notes, corrected, phrases, taken};
use crate::excerpt::{Excerpt, Excerpter};
use crate::index::{
    self, Hits, IndexError, IndexSnapshot, Reranker, SearchHit, SearchScope, search_in,
};
use crate::times::rfc3339;

/// Longest excerpt, in characters.
const EXCERPT_CHARS: usize = 240;

/// Searches a role.
///
/// # Errors
/// The order names what the role does not have, the query cannot be understood, or an index
/// cannot be read. A source that is not searchable is no error: its report says why.
pub fn search(role: &SearchableRole, params: &SearchParams) -> Result<SearchAnswer, SearchFailure> {
    let began = Instant::now();
    let sources = role.chosen(&params.sources)?;
    let open = opened(&sources);
    let snapshots = snapshots_of(&open);
    let dashed = with_held_options(&params.request, &snapshots).map_err(unreadable)?;
    let UnderstoodRequest {
        request,
        query: typed,
        fault,
        is_mended,
        first_words,
    } = query::parse_lenient(&dashed.request)?;
    let expanded = expanded(role, &request, typed.clone());
    let names: Vec<&str> = open.iter().map(|source| source.name.as_str()).collect();
    let texts = SourceTexts::new(&open);
    let ranker = concept_ranker(role, &open, &params.request.text);
    if let Some(ranker) = &ranker {
        ranker.send_scout(&expanded.query);
    }
    let searching = RunningSearch {
        scope: SearchScope {
            snapshots: &snapshots,
            names: &names,
            texts: Some(&texts),
            reranker: ranker.as_ref().map(|ranker| ranker as &dyn Reranker),
        },
        typed: &typed,
        open: &open,
        role,
        params,
        reranking: role.reranking_of(&typed, params),
    };
    let FoundHits {
        query,
        mut hits,
        corrections,
        notes: inside,
    } = searching.hits(expanded.query).map_err(unreadable)?;
    let not_reranked = searching.rerank(&open, &mut hits.hits)?;
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    let namer = ConceptNamer::new(role, &open, &query, expanded.concepts, hits.hits.len());
    let page = Page {
        params,
        query: &query,
        open: &open,
    };
    let (results, was_late) = page.results(&hits, namer);
    let report = |source: &&SearchableSource| report(source, &open, &hits, took_ms);
    let (passages, is_cut) = passages(&query, &open, &hits, params.budget_tokens);
    let reports: Vec<SourceReport> = sources.iter().map(report).collect();
    let said = TypedQuery {
        text: &params.request.text,
        sources: &names,
    };
    let taken = taken(fault.as_ref(), is_mended, first_words);
    let found = collect_notes(&hits, &query, &corrections, &expanded.added, &said);
    let ranked = ranker.as_ref().and_then(ConceptRanker::fallback_note);
    let noted = taken.into_iter().chain(dashed.notes).chain(inside);
    let noted = noted
        .chain(found)
        .chain(ranked)
        .chain(texts.partial_read_note());
    Ok(SearchAnswer {
        status: status(&reports),
        indexing: reports.iter().any(|report| report.indexing.is_some()),
        results,
        total: usize::try_from(hits.total).unwrap_or(usize::MAX),
        took_ms: began.elapsed().as_secs_f64() * 1e3,
        role: role.name.clone(),
        relevance_function: role.function.as_str().to_owned(),
        sources: reports,
        passages,
        facets: hits.facets,
        notes: noted.chain(not_reranked).collect(),
        corrections,
        query_fault: fault.as_ref().map(query_fault),
        was_late: hits.was_late || was_late || is_cut,
    })
}

fn concept_ranker<'s>(
    role: &'s SearchableRole,
    open: &[&'s SearchableSource],
    text: &'s str,
) -> Option<ConceptRanker<'s>> {
    let graph = role.function == RelevanceFunction::ServiceGraph;
    graph
        .then(|| ConceptRanker::new(open, text, &role.served))
        .flatten()
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn unreadable(error: IndexError) -> SearchFailure {
    SearchFailure::Index {
        message: error.to_string(),
    }
}

/// The sources whose indexes are open.
fn opened<'s>(sources: &[&'s SearchableSource]) -> Vec<&'s SearchableSource> {
    let is_open = |source: &&&SearchableSource| source.snapshot.is_some();
    sources.iter().filter(is_open).copied().collect()
}

/// The indexes of sources that are open.
fn snapshots_of(open: &[&SearchableSource]) -> Vec<IndexSnapshot> {
    let snapshots = open.iter().filter_map(|source| source.snapshot.clone());
    snapshots.collect()
}

/// What was found, and for which query.
struct FoundHits {
    query: ParsedQuery,
    hits: Hits,
    corrections: Vec<Correction>,
    notes: Vec<String>,
}

impl FoundHits {
    fn as_typed(query: ParsedQuery, hits: Hits) -> Self {
        Self {
            query,
            hits,
            corrections: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// A search under way.
struct RunningSearch<'s> {
    scope: SearchScope<'s>,
    /// The query without the words that a thesaurus added.
    typed: &'s ParsedQuery,
    /// The sources whose indexes are open.
    open: &'s [&'s SearchableSource],
    role: &'s SearchableRole,
    params: &'s SearchParams,
    /// What reads the best results once more, where they are of the page.
    reranking: Option<&'s RerankOptions>,
}

impl RunningSearch<'_> {
    /// Puts the best results into the order of the model, and leaves those of the page. Gives what
    /// to tell of a model that did not read them.
    fn rerank(
        &self,
        open: &[&SearchableSource],
        hits: &mut Vec<SearchHit>,
    ) -> Result<Option<String>, SearchFailure> {
        let Some(reranking) = self.reranking else {
            return Ok(None);
        };
        let done = reranking.reorder(&self.params.request.text, open, hits);
        hits.drain(..self.params.skip.min(hits.len()));
        hits.truncate(self.params.limit);
        match done {
            Ok(()) => Ok(None),
            Err(NoScores::Failed(reason)) => Ok(Some(format!("not reranked: {reason}"))),
            Err(NoScores::Pending) => Err(SearchFailure::Unscored),
        }
    }

    /// Searches, and once more where words were mistyped.
    fn hits(&self, query: ParsedQuery) -> Result<FoundHits, IndexError> {
        let found = self.search(&query)?;
        let mut missing = found.missing.clone();
        missing.extend(short_hashes(&query, &found));
        // A title is matched with mistakes anyway.
        if missing.is_empty() || self.role.function == RelevanceFunction::TitleScorer {
            return Ok(FoundHits::as_typed(query, found));
        }
        // What a thesaurus added is no typing mistake.
        missing.retain(|word| ExpandedQuery::was_typed(self.typed, &query.words()[*word].folded));
        if let Some(found) = self.grouped(&query, &missing)? {
            return Ok(found);
        }
        let texts = SourceTexts::new(self.open);
        match corrected(&query, &missing, self.scope.snapshots, &texts)? {
            Some(right) => Ok(FoundHits {
                hits: self.search(&right.query)?,
                query: right.query,
                corrections: right.corrections,
                notes: right.notes,
            }),
            None => Ok(FoundHits::as_typed(query, found)),
        }
    }

    /// What is found where the thousands of missing numbers are set apart; none where that finds
    /// nothing.
    fn grouped(
        &self,
        query: &ParsedQuery,
        missing: &[usize],
    ) -> Result<Option<FoundHits>, IndexError> {
        let typed = &self.params.request;
        let Some((text, phrases)) = with_groups(&typed.text, query, missing) else {
            return Ok(None);
        };
        let request = SearchRequest {
            text,
            ..typed.clone()
        };
        let Ok(query) = query::parse(&request) else {
            return Ok(None);
        };
        let hits = self.search(&query)?;
        if hits.total == 0 || !hits.unheld.is_empty() {
            return Ok(None);
        }
        let note = |phrase: &String| {
            let number = phrase.replace(' ', "");
            format!("nothing holds \"{number}\"; searched for \"{phrase}\" in its place")
        };
        let notes = phrases.iter().map(note).collect();
        Ok(Some(FoundHits {
            notes,
            ..FoundHits::as_typed(query, hits)
        }))
    }

    fn search(&self, query: &ParsedQuery) -> Result<Hits, IndexError> {
        let (skip, limit) = (self.params.skip, self.params.limit);
        let (skip, limit) = match self.reranking {
            Some(reranking) => (0, (skip + limit).max(reranking.top)),
            None => (skip, limit),
        };
        let page = index::PageRequest {
            skip,
            limit,
            explain: self.params.explain,
            sort: self.params.sort,
            facets: self.params.facets,
            ignores_roles: self.role.ignores_file_roles,
        };
        search_in(&self.scope, query, self.role.function, page)
    }
}

/// The words of a query that may begin a commit's hash, which no document holds whole.
fn short_hashes(query: &ParsedQuery, found: &Hits) -> Vec<usize> {
    let words = query.words().iter().enumerate();
    let absent = words.filter(|(index, word)| {
        let rarity = found.rarities.get(word.whole);
        is_short_hash(&word.folded)
            && rarity.is_some_and(|rarity| *rarity == 0.0)
            && query.is_looked_for(word)
            && !found.missing.contains(index)
    });
    absent.map(|(index, _)| index).collect()
}

fn query_fault(fault: &QueryError) -> QueryFault {
    QueryFault {
        position: fault.position().unwrap_or_default(),
        detail: fault.to_string(),
    }
}

fn status(reports: &[SourceReport]) -> AnswerStatus {
    if reports.iter().all(|report| report.error.is_none()) {
        AnswerStatus::Success
    } else {
        AnswerStatus::PartialSuccess
    }
}

/// How a source fared. The sources are searched together, so each took the time of all.
fn report(
    source: &SearchableSource,
    open: &[&SearchableSource],
    hits: &Hits,
    took_ms: f64,
) -> SourceReport {
    let place = open.iter().position(|one| std::ptr::eq(*one, source));
    let found = place
        .and_then(|place| hits.totals.get(place))
        .copied()
        .unwrap_or(0);
    let unopened = place
        .is_none()
        .then(|| "its index is not open yet".to_owned());
    SourceReport {
        name: source.name.clone(),
        service: source.service.to_owned(),
        took_ms: if place.is_some() { took_ms } else { 0.0 },
        hits: usize::try_from(found).unwrap_or(usize::MAX),
        indexing: source.indexing,
        error: source.error.clone().or(unopened),
    }
}

/// What the results of a page are made from.
struct Page<'a> {
    params: &'a SearchParams,
    query: &'a ParsedQuery,
    open: &'a [&'a SearchableSource],
}

impl Page<'_> {
    /// The results, and whether the clock decided what is shown of them.
    fn results(&self, hits: &Hits, mut concepts: ConceptNamer<'_>) -> (Vec<SearchResult>, bool) {
        let excerpter = Excerpter::new(self.query, EXCERPT_CHARS).weighing(&hits.rarities);
        let mut excerpter = excerpter.showing(phrases(self.query));
        let ranked = hits.hits.iter().zip(self.params.skip + 1..);
        let results = ranked
            .map(|(hit, rank)| {
                let mut result = self.result(hit, rank, &mut excerpter);
                result.concepts = concepts.names(hit.source, &hit.record.key);
                explain_concepts(&mut result);
                result
            })
            .collect();
        (results, excerpter.was_late())
    }

    /// The passage that a result was found by, where words do not say which it is.
    fn nearest(&self, hit: &SearchHit) -> Option<NearestPassage> {
        let source = self.open[hit.source];
        NearestPassage::find(source, hit)
            .filter(|_| self.query.wanted_line(&hit.record.key).is_none())
    }

    fn result(&self, hit: &SearchHit, rank: usize, excerpter: &mut Excerpter) -> SearchResult {
        let source = self.open[hit.source];
        let record = &hit.record;
        let place = source.location(&record.key);
        let kept = source.stored_text(record);
        excerpter.set_passage(hit.passage);
        excerpter.prefer_line(self.query.wanted_line(&record.key));
        excerpter.prefer_definition(hit.defines.then_some(record.key.as_str()));
        let nearest = self.nearest(hit);
        let excerpt = match (&kept, &source.root) {
            _ if let Some(nearest) = &nearest => nearest.excerpt(source, &record.key, excerpter),
            (Some(text), _) if !text.trim().is_empty() => excerpter.excerpt_long_text(text),
            (None, Some(root)) => excerpter.excerpt(root.as_ref(), &record.key, &record.title),
            _ => excerpter.excerpt_text(&record.title),
        };
        let most = self.params.matches;
        let matches = (most > 0).then(|| match (&kept, &source.root) {
            (Some(text), _) => Some(excerpter.lines_of_text(text, most)),
            (None, Some(root)) => excerpter.lines(root.as_ref(), &record.key, most),
            (None, None) => None,
        });
        let Excerpt {
            snippet,
            highlights,
            line,
            definition,
        } = excerpt;
        SearchResult {
            id: source.document_id(&record.key),
            title: source.title(record),
            url: place.url,
            path: place.path,
            source: source.name.clone(),
            service: source.service.to_owned(),
            rank,
            score: hit.score,
            snippet,
            highlights,
            line,
            definition,
            matches: matches.flatten(),
            tags: record.tags.clone(),
            modified: record.modified.map(rfc3339),
            concepts: hit.concepts.clone(),
            explanation: hit.explanation.clone(),
            nearest_passage: nearest.map(|passage| passage.range()),
            body: self.params.include_body.then(|| {
                kept.or_else(|| source.body(&record.key))
                    .unwrap_or_default()
            }),
        }
    }
}

/// Writes the names of a result's concepts into the part of its score that they gave.
fn explain_concepts(result: &mut SearchResult) {
    let parts = result.explanation.iter_mut().flat_map(|all| &mut all.parts);
    for part in parts.filter(|part| part.kind == "concept" && part.term.is_empty()) {
        part.term = result.concepts.join(", ");
    }
}
