//! The runner's own figures for `/metrics`, read when they are asked for.

use edge_web::figures::{counters, gauges, histogram};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use runner_actors::{BUCKETS, RunnerView};

/// Reads what the actors have counted.
pub(crate) struct RunnerMetrics(pub(crate) RunnerView);

impl Collector for RunnerMetrics {
    fn desc(&self) -> Vec<&Desc> {
        // Families are made when they are collected.
        Vec::new()
    }

    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn collect(&self) -> Vec<MetricFamily> {
        let counted = self.0.counters();
        let [accepted, duplicates, refused] = counted.deliveries();
        let ended = counted.ended().map(|(state, count)| {
            let name = serde_json::to_value(state).unwrap_or_default();
            (name.as_str().unwrap_or_default().to_owned(), count as f64)
        });
        let hosts = self.0.vm_hosts().answering().into_iter();
        vec![
            counters(
                "runner_runs_ended_total",
                "Runs that have ended, by state.",
                "state",
                ended,
            ),
            durations(counted),
            counters(
                "runner_deliveries_total",
                "Webhook deliveries that start runs, by what became of them.",
                "outcome",
                [
                    ("accepted", accepted as f64),
                    ("duplicate", duplicates as f64),
                    ("refused", refused as f64),
                ],
            ),
            gauges(
                "runner_runs_waiting",
                "Stored runs that wait to be started.",
                "",
                [("", self.0.runs_waiting() as f64)],
            ),
            counters(
                "runner_vms_recovered_total",
                "VMs that were left over and were given back.",
                "",
                [("", counted.vms_recovered() as f64)],
            ),
            gauges(
                "runner_vm_host_answers",
                "1 where a VM host answers, 0 where it is silent or gives no VMs.",
                "host",
                hosts.map(|(host, answers)| (host, f64::from(u8::from(answers)))),
            ),
            gauges(
                "runner_rows_quarantined",
                "Stored rows that could not be read and were put aside.",
                "",
                [("", self.0.store_health().quarantined as f64)],
            ),
        ]
    }
}

#[allow(clippy::cast_precision_loss, reason = "figures for people")]
fn durations(counted: &runner_actors::RunCounters) -> MetricFamily {
    let durations = counted.durations();
    let buckets = BUCKETS.iter().zip(&durations.cumulative);
    histogram(
        "runner_run_duration_seconds",
        "Time from a run's event to its end.",
        buckets.map(|(most, count)| (*most as f64, *count)),
        durations.sum_ms as f64 / 1000.0,
    )
}
