//! What `/metrics` says of a process beside others, read when it is asked for.

use std::collections::HashMap;

use cluster_actors::replica::{ReplicaRole, RoleControl};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;

use crate::figures::gauges;

const LEADER: &str = "replica_leader";

/// Reads the role of the process, and what is known of the store.
pub struct ReplicaMetrics {
    control: RoleControl,
    /// By which a registry tells it from other collectors: two without any are the same to it.
    first: Desc,
}

impl ReplicaMetrics {
    /// Those of a process.
    #[must_use]
    pub fn new(control: &RoleControl) -> Self {
        let first = Desc::new(
            LEADER.to_owned(),
            "The role of the process.".to_owned(),
            Vec::new(),
            HashMap::new(),
        );
        Self {
            control: control.clone(),
            first: first.expect("the name is valid"),
        }
    }
}

impl Collector for ReplicaMetrics {
    fn desc(&self) -> Vec<&Desc> {
        // The others are made when they are collected.
        vec![&self.first]
    }

    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn collect(&self) -> Vec<MetricFamily> {
        let status = self.control.status();
        let leads = status.role == ReplicaRole::Leader;
        let one = |name, help, number: f64| gauges(name, help, "", [("", number)]);
        let mut families = vec![
            one(
                LEADER,
                "1 where this process leads, 0 where it stands by.",
                f64::from(u8::from(leads)),
            ),
            one(
                "replica_epoch",
                "The newest epoch of the store that this process knows of.",
                status.epoch as f64,
            ),
            one(
                "replica_two_primaries",
                "1 where more than one server of the database's address accepts writes.",
                f64::from(u8::from(self.control.warning_of("primaries").is_some())),
            ),
        ];
        // A figure that is not known now is absent: an old one would hide that.
        if let Some(backlog) = self.control.backlog() {
            families.push(one(
                "replica_intake_undecided",
                "Deliveries that were taken in and are not decided.",
                backlog.entries as f64,
            ));
            families.push(one(
                "replica_intake_oldest_seconds",
                "How long the oldest of them has waited.",
                backlog.oldest.as_secs_f64(),
            ));
        }
        families
    }
}
