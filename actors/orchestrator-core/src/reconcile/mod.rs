//! What is to be done now: a pure function of everything that is stored, and of the time.
//!
//! It is level-triggered: it looks at what is, not at what happened. Called twice without anything having
//! been carried out it decides the same; called after everything was carried out it decides nothing. Its
//! cost grows linearly with the runs that are open.

mod queue;
mod rest;

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{CommitSha, ProjectId, RepoName, RunId};
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::action::Action;
use crate::config::Config;
use crate::health::{Breaker, Usage};
use crate::intake::AgentKey;
use crate::obligation::Obligation;
use crate::run::Run;

/// Everything reconciliation looks at.
pub struct State<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The number of this tick, from 1; early ticks have none (0), and neither poll nor clean up.
    pub tick: u64,
    /// Runs that have not ended, in any order.
    pub open: &'a [Run],
    /// Runs that have a keeper in this process, so that their end will be told.
    pub kept: &'a BTreeSet<RunId>,
    /// Projects that are paused.
    pub paused: &'a BTreeSet<ProjectId>,
    /// Circuits that are not closed, by provider.
    pub breakers: &'a BTreeMap<String, Breaker>,
    /// Agents in quarantine.
    pub quarantined: &'a BTreeSet<AgentKey>,
    /// What agents have used this month.
    pub usage: &'a BTreeMap<AgentKey, Usage>,
    /// How far each schedule was followed.
    pub schedules: &'a BTreeMap<AgentKey, ScheduleMark>,
    /// When a run of each project started last: who waited longest goes first.
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

/// Decides what is to be done at `now`.
pub fn reconcile(state: &State<'_>, now: Millis) -> Vec<Action> {
    let mut actions = Vec::new();
    rest::lost_and_ending(state, &mut actions);
    queue::start(state, now, &mut actions);
    rest::schedules(state, now, &mut actions);
    rest::statuses(state, &mut actions);
    if state.tick > 0 {
        rest::polls(state, &mut actions);
    }
    actions
}
