//! The result cache: answers as they were written, until the index behind them changes.
//!
//! The key holds the version of the role's sources, so a changed index makes old answers
//! unreachable; they leave when room is needed. `SERVICE_CACHE_SIZE` bounds keys and answers in
//! bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use search_core::answer::{
    AnswerStatus, Correction, PassageView, QueryFault, SearchAnswer, SearchResult, SourceReport,
};
use search_core::facets::Facets;
use search_engine::answering::SearchParams;
use serde::Serialize;

/// Bytes that an entry costs beside its key and answer: pointers, hash table slot, queue links.
const ENTRY_OVERHEAD: u64 = 160;

/// The cache; shared by all workers.
#[derive(Debug)]
pub struct AnswerCache {
    entries: Option<Cache<AnswerKey, Bytes, Weight>>,
    counts: Arc<CacheCounts>,
}

/// How often an answer was looked for, and was there.
#[derive(Debug, Default)]
pub struct CacheCounts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl CacheCounts {
    /// Answers that were given again.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Lookups that found no answer.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

/// Names one answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerKey {
    /// Version of the sources searched.
    version: u64,
    /// The parameters, every field in a fixed place.
    params: String,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<AnswerKey, Bytes> for Weight {
    fn weight(&self, key: &AnswerKey, answer: &Bytes) -> u64 {
        key.params.len() as u64 + answer.len() as u64 + ENTRY_OVERHEAD
    }
}

/// The parts of an answer that stay the same when it is given again.
#[derive(Serialize)]
struct CachedParts<'a> {
    status: AnswerStatus,
    results: &'a [SearchResult],
    total: usize,
    role: &'a str,
    relevance_function: &'a str,
    sources: &'a [SourceReport],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    indexing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    facets: &'a Option<Facets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: &'a Option<Vec<PassageView>>,
    #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
    corrections: &'a [Correction],
    #[serde(skip_serializing_if = "Option::is_none")]
    query_fault: &'a Option<QueryFault>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

impl AnswerCache {
    /// A cache of at most `bytes`; 0 keeps nothing.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        // An answer of ten results takes about 4 KiB.
        let entries = (bytes > 0).then(|| {
            let expected = usize::try_from(bytes / 4096).unwrap_or(usize::MAX).max(16);
            Cache::with_weighter(expected, bytes, Weight)
        });
        Self {
            entries,
            counts: Arc::default(),
        }
    }

    /// The same, counting there.
    #[must_use]
    pub fn counting(mut self, counts: Arc<CacheCounts>) -> Self {
        self.counts = counts;
        self
    }

    /// The key of the answer to `params` at this `version` of the role's sources.
    #[must_use]
    pub fn key(&self, params: &SearchParams, role: &str, version: u64) -> AnswerKey {
        let mut text = String::new();
        if self.entries.is_some() {
            text = format!(
                "{role:?} {:?} {:?} {:?} {} {} {:?} {} {} {:?} {} {} {}",
                params.request.text,
                params.request.terms,
                params.request.operator,
                params.limit,
                params.skip,
                params.sources,
                params.include_body,
                params.explain,
                params.sort,
                params.facets,
                params.matches,
                params.budget_tokens,
            );
        }
        AnswerKey {
            version,
            params: text,
        }
    }

    /// The kept answer, as a body that says it took `took`.
    #[must_use]
    pub fn get(&self, key: &AnswerKey, took: Duration) -> Option<Bytes> {
        let kept = self.entries.as_ref()?.get(key);
        let counter = match &kept {
            Some(_) => &self.counts.hits,
            None => &self.counts.misses,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let kept = kept?;
        Some(with_took(&kept, took))
    }

    /// An answer as a body, kept nowhere.
    #[must_use]
    pub fn body(answer: &SearchAnswer) -> Bytes {
        with_took(
            &Bytes::from(write(answer)),
            Duration::from_secs_f64(answer.took_ms.max(0.0) / 1e3),
        )
    }

    /// Keeps an answer and writes it as a body. One that the clock cut is not kept: the next time
    /// there may be more.
    #[must_use]
    pub fn put(&self, key: AnswerKey, answer: &SearchAnswer) -> Bytes {
        // A vector grows by doubling; what is kept must not hold room that nothing counts.
        let kept = Bytes::from(write(answer).into_boxed_slice());
        if let Some(entries) = self.entries.as_ref().filter(|_| !answer.was_late) {
            entries.insert(key, kept.clone());
        }
        with_took(
            &kept,
            Duration::from_secs_f64(answer.took_ms.max(0.0) / 1e3),
        )
    }
}

fn write(answer: &SearchAnswer) -> Vec<u8> {
    let SearchAnswer {
        status,
        results,
        total,
        took_ms: _,
        role,
        relevance_function,
        sources,
        indexing,
        facets,
        passages,
        corrections,
        query_fault,
        notes,
        was_late: _,
    } = answer;
    let kept = CachedParts {
        status: *status,
        results,
        total: *total,
        role,
        relevance_function,
        sources,
        indexing: *indexing,
        facets,
        passages,
        corrections,
        query_fault,
        notes,
    };
    // Strings, numbers and lists of them: writing into memory cannot fail.
    serde_json::to_vec(&kept).unwrap_or_default()
}

/// `{"took_ms":…,` in front of the kept object.
fn with_took(kept: &Bytes, took: Duration) -> Bytes {
    let head = format!("{{\"took_ms\":{:.3},", took.as_secs_f64() * 1e3);
    let mut body = Vec::with_capacity(head.len() + kept.len());
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(kept.get(1..).unwrap_or_default());
    Bytes::from(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use search_core::answer::SortOrder;
    use search_core::query::SearchRequest;

    fn answer() -> SearchAnswer {
        SearchAnswer {
            status: AnswerStatus::Success,
            results: vec![SearchResult {
                id: "a/b".into(),
                title: "T \"quoted\"".into(),
                ..SearchResult::default()
            }],
            total: 1,
            took_ms: 1.25,
            role: "R".into(),
            relevance_function: "BM25".into(),
            sources: Vec::new(),
            indexing: false,
            facets: Some(Facets::default()),
            passages: Some(Vec::new()),
            corrections: Vec::new(),
            query_fault: None,
            notes: Vec::new(),
            was_late: false,
        }
    }

    fn params(text: &str) -> SearchParams {
        SearchParams {
            request: SearchRequest::for_text(text),
            ..SearchParams::default()
        }
    }

    #[test]
    fn what_is_written_reads_back_as_the_answer() {
        let cache = AnswerCache::new(1 << 20);
        let key = cache.key(&params("x"), "R", 1);
        assert!(cache.get(&key, Duration::ZERO).is_none());
        let body = cache.put(key.clone(), &answer());
        assert_eq!(
            serde_json::from_slice::<SearchAnswer>(&body).unwrap(),
            answer()
        );
        let again = cache.get(&key, Duration::from_micros(7)).unwrap();
        let expected = SearchAnswer {
            took_ms: 0.007,
            ..answer()
        };
        assert_eq!(
            serde_json::from_slice::<SearchAnswer>(&again).unwrap(),
            expected
        );
    }

    #[test]
    fn another_version_role_or_query_is_another_answer() {
        let cache = AnswerCache::new(1 << 20);
        let _ = cache.put(cache.key(&params("x"), "R", 1), &answer());
        for key in [
            cache.key(&params("x"), "R", 2),
            cache.key(&params("x"), "S", 1),
            cache.key(&params("y"), "R", 1),
            cache.key(
                &SearchParams {
                    limit: 11,
                    ..params("x")
                },
                "R",
                1,
            ),
            cache.key(
                &SearchParams {
                    sort: SortOrder::Newest,
                    ..params("x")
                },
                "R",
                1,
            ),
            cache.key(
                &SearchParams {
                    facets: true,
                    ..params("x")
                },
                "R",
                1,
            ),
            cache.key(
                &SearchParams {
                    matches: 3,
                    ..params("x")
                },
                "R",
                1,
            ),
            cache.key(
                &SearchParams {
                    explain: true,
                    ..params("x")
                },
                "R",
                1,
            ),
        ] {
            assert!(cache.get(&key, Duration::ZERO).is_none(), "{key:?}");
        }
    }

    #[test]
    fn i16_an_answer_that_the_clock_cut_is_not_kept() {
        let cache = AnswerCache::new(1 << 20);
        let key = cache.key(&params("x"), "R", 1);
        let late = SearchAnswer {
            was_late: true,
            ..answer()
        };
        let body = cache.put(key.clone(), &late);
        assert_eq!(
            serde_json::from_slice::<SearchAnswer>(&body).unwrap(),
            answer()
        );
        assert!(cache.get(&key, Duration::ZERO).is_none());
    }

    #[test]
    fn the_bound_is_kept_and_zero_keeps_nothing() {
        let cache = AnswerCache::new(20_000);
        for number in 0..1000 {
            let _ = cache.put(cache.key(&params(&format!("q{number}")), "R", 1), &answer());
        }
        let held = cache.entries.as_ref().unwrap().weight();
        assert!(held > 0 && held <= 20_000, "{held} bytes");
        let none = AnswerCache::new(0);
        let key = none.key(&params("x"), "R", 1);
        assert!(!none.put(key.clone(), &answer()).is_empty());
        assert!(none.get(&key, Duration::ZERO).is_none());
    }
}
