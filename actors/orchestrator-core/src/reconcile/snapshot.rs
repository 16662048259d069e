//! The input of reconciliation.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{CommitSha, ProjectId, RepoName, RunId};
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::config::Config;
use crate::health::{AgentUsage, Breaker};
use crate::intake::AgentKey;
use crate::obligation::Obligation;
use crate::run::Run;

/// Everything that reconciliation decides by.
pub struct ReconcileSnapshot<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The number of this tick, from 1; early ticks have none (0), and neither poll nor clean up.
    pub tick: u64,
    /// Runs that have not ended, in any order.
    pub open: &'a [Run],
    /// Runs that have an actor in this process, so that their end will be stored.
    pub active: &'a BTreeSet<RunId>,
    /// Projects that are paused.
    pub paused: &'a BTreeSet<ProjectId>,
    /// Circuits that are not closed, by provider.
    pub breakers: &'a BTreeMap<String, Breaker>,
    /// Agents in quarantine.
    pub quarantined: &'a BTreeSet<AgentKey>,
    /// What agents have used this month.
    pub usage: &'a BTreeMap<AgentKey, AgentUsage>,
    /// How far each schedule was followed.
    pub schedules: &'a BTreeMap<AgentKey, ScheduleMark>,
    /// When a run of each project started last: the longest wait goes first.
    pub last_started: &'a BTreeMap<ProjectId, Millis>,
    /// Statuses that are pending.
    pub obligations: &'a [Obligation],
    /// Commits whose statuses changed lately, to be compared with the forge.
    pub heads: &'a [(RepoName, CommitSha)],
}

/// How far a schedule was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleMark {
    /// The last due time that was seen to, or when the schedule was first seen.
    pub last: Millis,
    /// The next due time.
    pub next: Millis,
}
