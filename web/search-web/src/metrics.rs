//! The search server's own figures for `/metrics`: its sources, read from the role set when they
//! are asked for; its searches, counted as they are answered.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use edge_web::Metrics;
use edge_web::figures::{counter, counter_family, gauge, gauge_family};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Metric, MetricFamily};
use prometheus::{HistogramOpts, HistogramVec};
use search_actors::{RoleEntry, RoleRegistry, RoleSource};
use search_core::answer::{SearchAnswer, SourceState};

use crate::cache::CacheCounts;

/// Upper bounds of the buckets, in seconds: from an index in memory to the deadline of a server
/// that is asked.
const BUCKETS: [f64; 10] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5,
];

/// What searches are counted with. Clones share it.
#[derive(Debug, Clone)]
pub struct SearchMetrics {
    durations: HistogramVec,
    cache: Arc<CacheCounts>,
}

impl Default for SearchMetrics {
    fn default() -> Self {
        let options = HistogramOpts::new(
            "search_source_duration_seconds",
            "Time a source took to answer a search that no cache answered.",
        );
        let durations = HistogramVec::new(options.buckets(BUCKETS.to_vec()), &["role", "source"]);
        Self {
            durations: durations.expect("the name and the labels are valid"),
            cache: Arc::default(),
        }
    }
}

impl SearchMetrics {
    /// What the result cache counts.
    #[must_use]
    pub fn cache(&self) -> Arc<CacheCounts> {
        Arc::clone(&self.cache)
    }

    /// Counts an answer that was made now.
    pub(crate) fn record_answer(&self, answer: &SearchAnswer) {
        for source in &answer.sources {
            let labels = [answer.role.as_str(), source.name.as_str()];
            let seconds = Duration::from_secs_f64(source.took_ms.max(0.0) / 1e3).as_secs_f64();
            self.durations.with_label_values(&labels).observe(seconds);
        }
    }

    /// Adds all figures to those of the server.
    pub(crate) fn register(&self, metrics: &Metrics, registry: RoleRegistry) {
        metrics.register(self.durations.clone());
        metrics.register(SourceFigures {
            registry,
            cache: self.cache(),
        });
    }
}

struct SourceFigures {
    registry: RoleRegistry,
    cache: Arc<CacheCounts>,
}

impl Collector for SourceFigures {
    fn desc(&self) -> Vec<&Desc> {
        // Families are made when they are collected.
        Vec::new()
    }

    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn collect(&self) -> Vec<MetricFamily> {
        let role_set = self.registry.now();
        let mut families = Families::default();
        for entry in role_set.roles() {
            for source in &entry.sources {
                families.add(entry, source, SystemTime::now());
            }
        }
        let outcomes = [("hit", self.cache.hits()), ("miss", self.cache.misses())];
        let cache = outcomes.map(|(outcome, count)| counter(&[("outcome", outcome)], count as f64));
        let mut all = families.into_families();
        all.push(counter_family(
            "search_cache_lookups_total",
            "Searches that were looked up in the result cache, by what was found there.",
            cache.to_vec(),
        ));
        all
    }
}

#[derive(Default)]
struct Families {
    documents: Vec<Metric>,
    ages: Vec<Metric>,
    states: Vec<Metric>,
    progress: Vec<Metric>,
    skipped: Vec<Metric>,
    learning: Vec<Metric>,
    embedded: Vec<Metric>,
}

impl Families {
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn add(&mut self, role: &RoleEntry, source: &RoleSource, now: SystemTime) {
        let labels = [
            ("role", role.role.name.as_str()),
            ("source", source.haystack.name.as_str()),
        ];
        source.handle.read_status(|status| {
            let state = match status.state {
                SourceState::Starting => "starting",
                SourceState::Indexing => "indexing",
                SourceState::Ready => "ready",
                SourceState::Failed => "failed",
            };
            self.states.push(gauge(&three(labels, "state", state), 1.0));
            let Some(snapshot) = &status.snapshot else {
                return;
            };
            let documents = snapshot.document_count();
            self.documents.push(gauge(&labels, documents as f64));
            if let Some(updated) = status.updated_at {
                let age = now.duration_since(updated).unwrap_or_default();
                self.ages.push(gauge(&labels, age.as_secs_f64()));
            }
            let progress = &status.progress;
            if status.state == SourceState::Indexing && progress.total > 0 {
                let share = progress.done as f64 / progress.total as f64;
                self.progress.push(gauge(&labels, share.min(1.0)));
            }
            for (reason, count) in &status.skipped {
                let skipped = gauge(&three(labels, "reason", reason), *count as f64);
                self.skipped.push(skipped);
            }
            let concepts = status.concepts_health();
            let state = serde_json::to_value(concepts.state).unwrap_or_default();
            let state = state.as_str().unwrap_or_default();
            self.learning
                .push(gauge(&three(labels, "state", state), 1.0));
            if concepts.embeddings > 0 || concepts.embedded {
                self.embedded
                    .push(gauge(&labels, concepts.embeddings as f64));
            }
        });
    }

    fn into_families(self) -> Vec<MetricFamily> {
        let gauges = [
            (
                "search_source_state",
                "What a source is doing: 1 for its state.",
                self.states,
            ),
            (
                "search_documents",
                "Documents of a source that can be found.",
                self.documents,
            ),
            (
                "search_index_age_seconds",
                "Time since the index of a source last changed.",
                self.ages,
            ),
            (
                "search_indexing_ratio",
                "How far the indexing of a source is, while it runs.",
                self.progress,
            ),
            (
                "search_skipped_files",
                "Files of a source that are not indexed, by reason.",
                self.skipped,
            ),
            (
                "search_concepts_state",
                "What is done for the concepts of a source: 1 for its state.",
                self.learning,
            ),
            (
                "search_embedded_documents",
                "Documents of a source that the embedding model has embedded.",
                self.embedded,
            ),
        ];
        let filled = gauges.into_iter().filter(|(_, _, all)| !all.is_empty());
        filled
            .map(|(name, help, all)| gauge_family(name, help, all))
            .collect()
    }
}

fn three<'l>(
    labels: [(&'l str, &'l str); 2],
    key: &'l str,
    value: &'l str,
) -> [(&'l str, &'l str); 3] {
    [labels[0], labels[1], (key, value)]
}
