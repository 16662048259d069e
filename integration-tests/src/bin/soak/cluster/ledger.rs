//! What was acknowledged, and what the faults cost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A delivery that was answered with 2xx.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) event: &'static str,
    pub(crate) id: String,
    pub(crate) body: String,
}

/// Everything that was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    pub(crate) pushes: Vec<Delivery>,
    pub(crate) events: Vec<Delivery>,
    /// Commits of both repositories whose statuses have to end; a pushed one with the number that
    /// its job prints.
    pub(crate) pushed: BTreeMap<String, u64>,
    pub(crate) pulled: BTreeSet<String>,
    /// Answers that no delivery may get.
    pub(crate) refused: Vec<String>,
    /// How many faults of each kind there were.
    pub(crate) faults: BTreeMap<String, u32>,
    /// From the loss of a leader to the next one, by what it was lost through.
    pub(crate) takeovers: Vec<(&'static str, Duration)>,
}
