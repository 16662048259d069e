//! One search: the sources asked together, and the page of results with their excerpts.

use std::time::Instant;

use search_core::answer::{AnswerStatus, SearchAnswer, SearchResult, SourceReport};
use search_core::query::{self, ParsedQuery};

use super::failure::SearchFailure;
use super::order::SearchOrder;
use super::source::{SearchableRole, SearchableSource};
use crate::excerpt::{Excerpt, Excerpter};
use crate::index::{Hit, Hits, IndexSnapshot, search_across};
use crate::times::rfc3339;

/// Longest excerpt, in characters.
const EXCERPT_CHARS: usize = 240;

/// Searches a role.
///
/// # Errors
/// The order names what the role does not have, the query cannot be understood, or an index
/// cannot be read. A source that is not searchable is no error: its report says why.
pub fn search(role: &SearchableRole, order: &SearchOrder) -> Result<SearchAnswer, SearchFailure> {
    let began = Instant::now();
    let sources = role.chosen(&order.sources)?;
    let query = query::parse(&order.request)?;
    let open: Vec<&SearchableSource> = sources
        .iter()
        .copied()
        .filter(|source| source.snapshot.is_some())
        .collect();
    let snapshots: Vec<IndexSnapshot> = open
        .iter()
        .filter_map(|source| source.snapshot.clone())
        .collect();
    let hits = search_across(&snapshots, &query, role.function, order.skip, order.limit).map_err(
        |error| SearchFailure::Index {
            message: error.to_string(),
        },
    )?;
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    let results = Page {
        order,
        query: &query,
        open: &open,
    }
    .results(&hits);
    let reports: Vec<SourceReport> = sources
        .iter()
        .map(|source| report(source, &open, &hits, took_ms))
        .collect();
    Ok(SearchAnswer {
        status: status(&reports),
        results,
        total: usize::try_from(hits.total).unwrap_or(usize::MAX),
        took_ms: began.elapsed().as_secs_f64() * 1e3,
        role: role.name.clone(),
        relevance_function: role.function.as_str().to_owned(),
        sources: reports,
        notes: Vec::new(),
    })
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
        error: source.error.clone().or(unopened),
    }
}

/// What the results of a page are made from.
struct Page<'a> {
    order: &'a SearchOrder,
    query: &'a ParsedQuery,
    open: &'a [&'a SearchableSource],
}

impl Page<'_> {
    fn results(&self, hits: &Hits) -> Vec<SearchResult> {
        let mut excerpter = Excerpter::new(self.query, EXCERPT_CHARS);
        let ranked = hits.hits.iter().zip(self.order.skip + 1..);
        ranked
            .map(|(hit, rank)| self.result(hit, rank, &mut excerpter))
            .collect()
    }

    fn result(&self, hit: &Hit, rank: usize, excerpter: &mut Excerpter) -> SearchResult {
        let source = self.open[hit.source];
        let record = &hit.record;
        let place = source.place(&record.key);
        let excerpt = match &source.root {
            Some(root) => excerpter.excerpt(root, &record.key, &record.title),
            None => excerpter.of_text(&record.title),
        };
        let Excerpt {
            snippet,
            highlights,
            line,
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
            tags: record.tags.clone(),
            modified: record.modified.map(rfc3339),
            concepts: Vec::new(),
            body: self
                .order
                .include_body
                .then(|| source.body(&record.key).unwrap_or_default()),
        }
    }
}
