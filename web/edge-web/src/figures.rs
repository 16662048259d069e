//! Families of figures that are made when somebody asks for them, for a [`Collector`](prometheus::core::Collector).

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};

/// Numbers that only grow, one a value of `label`; an empty label and one number for a family without.
pub fn counters<S: Into<String>>(
    name: &str,
    help: &str,
    label: &str,
    values: impl IntoIterator<Item = (S, f64)>,
) -> MetricFamily {
    numbers(
        name,
        help,
        label,
        values,
        MetricType::COUNTER,
        |metric, number| {
            let mut counter = Counter::default();
            counter.set_value(number);
            metric.set_counter(counter);
        },
    )
}

/// Numbers of this moment; otherwise as [`counters`].
pub fn gauges<S: Into<String>>(
    name: &str,
    help: &str,
    label: &str,
    values: impl IntoIterator<Item = (S, f64)>,
) -> MetricFamily {
    numbers(
        name,
        help,
        label,
        values,
        MetricType::GAUGE,
        |metric, number| {
            let mut gauge = Gauge::default();
            gauge.set_value(number);
            metric.set_gauge(gauge);
        },
    )
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

fn numbers<S: Into<String>>(
    name: &str,
    help: &str,
    label: &str,
    values: impl IntoIterator<Item = (S, f64)>,
    kind: MetricType,
    set: fn(&mut Metric, f64),
) -> MetricFamily {
    let metrics = values.into_iter().map(|(value, number)| {
        let mut metric = labelled(label, value.into());
        set(&mut metric, number);
        metric
    });
    family(name, help, kind, metrics.collect())
}

fn labelled(label: &str, value: String) -> Metric {
    let mut metric = Metric::default();
    if !label.is_empty() {
        let mut pair = LabelPair::default();
        pair.set_name(label.to_owned());
        pair.set_value(value);
        metric.set_label(vec![pair]);
    }
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
