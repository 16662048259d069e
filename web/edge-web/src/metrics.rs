//! Counters of an edge in Prometheus' text format.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use prometheus::core::Collector;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntGauge, Opts, Registry,
    TextEncoder,
};

use crate::process_figures::ProcessFigures;

/// Upper bounds of the duration buckets, in seconds: from a cached search to a deadline.
const BUCKETS: [f64; 12] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0,
];

/// The label of requests that no route took.
const UNMATCHED: &str = "unmatched";

/// The metrics of one server: a registry that others add to, and the figures of the edge itself.
///
/// Cloning shares them.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    durations: HistogramVec,
    in_flight: IntGauge,
    panics: IntCounter,
    good_signatures: IntCounter,
    bad_signatures: IntCounter,
    unmatched: RouteMetrics,
}

/// The duration histograms of one route, one per status class, looked up once at registration.
#[derive(Debug, Clone)]
pub struct RouteMetrics(Arc<[Histogram; 5]>);

impl RouteMetrics {
    fn new(durations: &HistogramVec, route: &str) -> Self {
        let class = |class: &str| durations.with_label_values(&[route, class]);
        Self(Arc::new(["1xx", "2xx", "3xx", "4xx", "5xx"].map(class)))
    }

    /// Counts one answer.
    pub(crate) fn observe(&self, status: StatusCode, duration: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.0[class].observe(duration.as_secs_f64());
    }
}

impl Metrics {
    /// A registry with the figures every edge has.
    pub fn new() -> Self {
        let registry = Registry::new();
        let options = HistogramOpts::new(
            "http_request_duration_seconds",
            "Time from a request's head to its answer's head, by route and status class.",
        )
        .buckets(BUCKETS.to_vec());
        let durations = HistogramVec::new(options, &["route", "class"]);
        let durations = durations.expect("the name and the labels are valid");
        let unmatched = RouteMetrics::new(&durations, UNMATCHED);
        let metrics = Self {
            in_flight: gauge("http_requests_in_flight", "Requests being answered."),
            panics: counter("http_handler_panics_total", "Handlers that panicked."),
            good_signatures: counter(
                "http_signed_bodies_total",
                "Signed bodies whose signature held, whatever was in them.",
            ),
            bad_signatures: counter(
                "http_bad_signatures_total",
                "Signed bodies refused because the signature did not hold.",
            ),
            unmatched,
            durations,
            registry,
        };
        metrics.register(metrics.durations.clone());
        metrics.register(metrics.in_flight.clone());
        metrics.register(metrics.panics.clone());
        metrics.register(metrics.good_signatures.clone());
        metrics.register(metrics.bad_signatures.clone());
        metrics.register(ProcessFigures::new());
        metrics
    }

    /// Adds a collector of another part of the program; keep a clone of it to count with.
    /// Returns false if a collector of that name is there already.
    pub fn register(&self, collector: impl Collector + 'static) -> bool {
        self.registry.register(Box::new(collector)).is_ok()
    }

    /// The histograms of `route`, a path pattern (never a path: one series per route).
    pub fn route(&self, route: &str) -> RouteMetrics {
        RouteMetrics::new(&self.durations, route)
    }

    /// The text format, version 0.0.4.
    ///
    /// # Errors
    /// When a collector of another part gathers inconsistent families.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// The content type of [`Metrics::render`].
    pub(crate) fn content_type() -> String {
        TextEncoder::new().format_type().to_owned()
    }

    pub(crate) fn in_flight(&self) -> &IntGauge {
        &self.in_flight
    }

    pub(crate) fn panics(&self) -> &IntCounter {
        &self.panics
    }

    /// How many signed bodies were accepted.
    pub fn good_signatures(&self) -> &IntCounter {
        &self.good_signatures
    }

    /// How many signed bodies were refused.
    pub fn bad_signatures(&self) -> &IntCounter {
        &self.bad_signatures
    }

    pub(crate) fn unmatched(&self) -> &RouteMetrics {
        &self.unmatched
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn gauge(name: &str, help: &str) -> IntGauge {
    IntGauge::with_opts(Opts::new(name, help)).expect("the name is valid")
}

fn counter(name: &str, help: &str) -> IntCounter {
    IntCounter::with_opts(Opts::new(name, help)).expect("the name is valid")
}
