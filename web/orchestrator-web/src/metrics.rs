//! Figures of the orchestrator, computed when they are scraped.

use edge_web::Metrics;
use orchestrator_core::admin::{StatusView, WebhookReply};
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts};

/// The orchestrator's own figures, beside those of the edge.
#[derive(Debug, Clone)]
pub(crate) struct OrchestratorMetrics {
    runs: IntGaugeVec,
    oldest: IntGauge,
    ended: IntGaugeVec,
    ticks: IntGauge,
    tick_ms: IntGauge,
    pending: IntGauge,
    outbox: IntGauge,
    parked: IntGauge,
    breakers: IntGauge,
    quarantined: IntGauge,
    paused: IntGauge,
    deliveries: IntCounterVec,
    rejected: IntCounterVec,
    vm_hosts: IntGaugeVec,
}

fn gauge(metrics: &Metrics, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("the name is valid");
    metrics.register(gauge.clone());
    gauge
}

fn gauges(metrics: &Metrics, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels).expect("the names are valid");
    metrics.register(gauges.clone());
    gauges
}

fn counters(metrics: &Metrics, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect("the names are valid");
    metrics.register(counters.clone());
    counters
}

fn as_gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl OrchestratorMetrics {
    /// Registers them.
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self {
            runs: gauges(
                metrics,
                "orchestrator_runs",
                "Runs that have not ended, by state.",
                &["state"],
            ),
            oldest: gauge(
                metrics,
                "orchestrator_queue_oldest_seconds",
                "Age of the oldest run that waits.",
            ),
            ended: gauges(
                metrics,
                "orchestrator_runs_ended_total",
                "Ended runs of this process, by agent and exit class.",
                &["agent", "class"],
            ),
            ticks: gauge(
                metrics,
                "orchestrator_ticks_total",
                "Reconciliations of this process.",
            ),
            tick_ms: gauge(
                metrics,
                "orchestrator_tick_milliseconds",
                "Duration of the last reconciliation.",
            ),
            pending: gauge(
                metrics,
                "orchestrator_statuses_pending",
                "Commit statuses that are owed.",
            ),
            outbox: gauge(
                metrics,
                "orchestrator_outbox_waiting",
                "Posts that wait for the forge.",
            ),
            parked: gauge(
                metrics,
                "orchestrator_outbox_parked",
                "Posts that were given up.",
            ),
            breakers: gauge(
                metrics,
                "orchestrator_breakers_open",
                "Providers whose circuit is not closed.",
            ),
            quarantined: gauge(
                metrics,
                "orchestrator_agents_quarantined",
                "Agents in quarantine.",
            ),
            paused: gauge(metrics, "orchestrator_projects_paused", "Paused projects."),
            deliveries: counters(
                metrics,
                "orchestrator_deliveries_total",
                "Signed deliveries, by what became of them.",
                &["outcome"],
            ),
            rejected: counters(
                metrics,
                "orchestrator_dispatches_rejected_total",
                "Refused dispatches, by reason.",
                &["reason"],
            ),
            vm_hosts: gauges(
                metrics,
                "orchestrator_vm_host_answers",
                "1 where a VM host answers, 0 where it is silent or gives no VMs.",
                &["host"],
            ),
        }
    }

    /// Counts a delivery.
    pub(crate) fn count_delivery(&self, reply: &WebhookReply) {
        let outcome = serde_json::to_value(reply.outcome).unwrap_or_default();
        let outcome = outcome.as_str().unwrap_or("unknown").to_owned();
        self.deliveries.with_label_values(&[outcome.as_str()]).inc();
        for rejected in &reply.rejected {
            self.rejected
                .with_label_values(&[rejected.reason.as_str()])
                .inc();
        }
    }

    /// Whether the hosts of VMs answer, where agents have any.
    pub(crate) fn set_vm_hosts(&self, hosts: &[(String, bool)]) {
        // Those that are listed no more are not told of.
        self.vm_hosts.reset();
        for (host, answers) in hosts {
            let gauge = self.vm_hosts.with_label_values(&[host.as_str()]);
            gauge.set(i64::from(*answers));
        }
    }

    pub(crate) fn set(
        &self,
        status: &StatusView,
        ended: impl IntoIterator<Item = ((String, &'static str), u64)>,
    ) {
        let queue = &status.queue;
        for (state, count) in [
            ("queued", queue.queued),
            ("starting", queue.starting),
            ("running", queue.running),
        ] {
            self.runs.with_label_values(&[state]).set(as_gauge(count));
        }
        self.oldest.set(as_gauge(queue.oldest_secs));
        self.ticks.set(as_gauge(status.ticks));
        self.tick_ms.set(as_gauge(status.last_tick_ms.unwrap_or(0)));
        self.pending.set(as_gauge(status.statuses.len() as u64));
        self.outbox.set(as_gauge(status.outbox));
        self.parked.set(as_gauge(status.parked));
        self.breakers.set(as_gauge(status.breakers.len() as u64));
        self.quarantined
            .set(as_gauge(status.quarantined.len() as u64));
        let paused = status
            .projects
            .iter()
            .filter(|project| project.paused)
            .count();
        self.paused.set(as_gauge(paused as u64));
        for ((agent, class), count) in ended {
            self.ended
                .with_label_values(&[agent.as_str(), class])
                .set(as_gauge(count));
        }
    }
}
