//! Families of figures that are made when somebody asks for them, for a
//! [`Collector`](prometheus::core::Collector).

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};

/// Numbers that only grow, one a value of `label`; an empty label and one number for a family
/// without.
pub fn counters<S: Into<String>>(
    name: &str,
    help: &str,
    label: &str,
    values: impl IntoIterator<Item = (S, f64)>,
) -> MetricFamily {
    let values = values.into_iter();
    let metrics =
        values.map(|(value, number)| one_label(label, value, |labels| counter(labels, number)));
    counter_family(name, help, metrics.collect())
}

/// Numbers of this moment; otherwise as [`counters`].
pub fn gauges<S: Into<String>>(
    name: &str,
    help: &str,
    label: &str,
    values: impl IntoIterator<Item = (S, f64)>,
) -> MetricFamily {
    let values = values.into_iter();
    let metrics =
        values.map(|(value, number)| one_label(label, value, |labels| gauge(labels, number)));
    gauge_family(name, help, metrics.collect())
}

/// A family of [`counter`]s.
pub fn counter_family(name: &str, help: &str, metrics: Vec<Metric>) -> MetricFamily {
    family(name, help, MetricType::COUNTER, metrics)
}

/// A family of [`gauge`]s.
pub fn gauge_family(name: &str, help: &str, metrics: Vec<Metric>) -> MetricFamily {
    family(name, help, MetricType::GAUGE, metrics)
}

/// A number that only grows, with names and values of labels.
pub fn counter(labels: &[(&str, &str)], number: f64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(number);
    let mut metric = labelled(labels);
    metric.set_counter(counter);
    metric
}

/// A number of this moment, with names and values of labels.
pub fn gauge(labels: &[(&str, &str)], number: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(number);
    let mut metric = labelled(labels);
    metric.set_gauge(gauge);
    metric
}

/// One histogram: upper bounds with the count of all that is not above them, and the sum.
pub fn histogram(
    name: &str,
    help: &str,
    buckets: impl IntoIterator<Item = (f64, u64)>,
    sum: f64,
) -> MetricFamily {
    let buckets = buckets.into_iter().map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        bucket
    });
    let buckets: Vec<Bucket> = buckets.collect();
    let mut histogram = Histogram::default();
    histogram.set_sample_count(buckets.last().map_or(0, Bucket::cumulative_count));
    histogram.set_sample_sum(sum);
    histogram.set_bucket(buckets);
    let mut metric = Metric::default();
    metric.set_histogram(histogram);
    family(name, help, MetricType::HISTOGRAM, vec![metric])
}

fn one_label<S: Into<String>>(
    label: &str,
    value: S,
    metric: impl FnOnce(&[(&str, &str)]) -> Metric,
) -> Metric {
    let value = value.into();
    let labels = [(label, value.as_str())];
    metric(if label.is_empty() { &[] } else { &labels })
}

fn labelled(labels: &[(&str, &str)]) -> Metric {
    let pairs = labels.iter().map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    });
    let mut metric = Metric::default();
    metric.set_label(pairs.collect());
    metric
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}
