//! The input of a tick, read in one snapshot, and its decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use forge_core::{CommitSha, Login, ProjectId, RepoName, RunId};
use orchestrator_core::Millis;
use orchestrator_core::action::ReconcileAction;
use orchestrator_core::config::Config;
use orchestrator_core::health::{AgentUsage, Breaker, month};
use orchestrator_core::intake::AgentKey;
use orchestrator_core::obligation::Obligation;
use orchestrator_core::reconcile::{ReconcileSnapshot, ScheduleMark, reconcile};
use orchestrator_core::run::{AgentRunState, Run, Subject};
use store::{ReadRows, StoreError};

use super::open_runs::OpenRunCache;
use super::rows::{
    BREAKERS, CONFIG_ERRORS, CONTEXTS, HEADS, OWED, PAUSED, RUNS, RunRow, SCHEDULES, STARTED, USAGE,
};

/// Commits are compared with the forge for this long after their statuses changed.
const VERIFY_FOR: Millis = 24 * 3600 * 1000;
/// Most commits compared by one tick.
const MAX_HEADS: usize = 200;

/// What the dispatcher knows of a tick.
#[derive(Debug, Clone, Default)]
pub struct TickContext {
    /// Its number; 0 for an early one.
    pub number: u64,
    /// Runs with an `AgentRun` in this process.
    pub active: BTreeSet<RunId>,
}

/// The queue in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    /// Waiting.
    pub queued: u64,
    /// Being started.
    pub starting: u64,
    /// With a process.
    pub running: u64,
    /// When the oldest that waits was accepted.
    pub oldest: Option<Millis>,
}

/// Reads everything in one snapshot and decides by [`reconcile`]; runs that have not changed since
/// the last tick come from the cache.
///
/// # Errors
/// The store's.
pub fn decide_tick(
    rows: &mut impl ReadRows,
    open_runs: &mut OpenRunCache,
    config: &Config,
    tick: &TickContext,
    now: Millis,
) -> Result<Vec<ReconcileAction>, StoreError> {
    let open = open_runs.refresh(rows)?;
    let obligations = owed(rows)?;
    let heads = if tick.number > 0 {
        heads(rows, now)?
    } else {
        Vec::new()
    };
    let quarantined = quarantined(rows, config)?;
    let snapshot = ReconcileSnapshot {
        config,
        tick: tick.number,
        open,
        active: &tick.active,
        paused: &paused(rows)?,
        breakers: &breakers(rows)?,
        quarantined: &quarantined,
        usage: &usage(rows, now)?,
        schedules: &schedules(rows)?,
        last_started: &last_started(rows)?,
        obligations: &obligations,
        heads: &heads,
    };
    let actions = reconcile(&snapshot, now);
    open_runs.remember_holds(&actions);
    Ok(actions)
}

pub(super) fn counts(open: &[Run]) -> QueueCounts {
    let mut counts = QueueCounts::default();
    for run in open {
        match run.state {
            AgentRunState::Queued => {
                counts.queued += 1;
                let oldest = counts.oldest.unwrap_or(Millis::MAX);
                counts.oldest = Some(oldest.min(run.queued_at));
            }
            AgentRunState::Starting => counts.starting += 1,
            _ => counts.running += 1,
        }
    }
    counts
}

fn owed(rows: &mut impl ReadRows) -> Result<Vec<Obligation>, StoreError> {
    let mut owed = Vec::new();
    rows.for_each(&OWED, .., |id, row| {
        if let Ok(run) = id.parse() {
            owed.push(Obligation::pending(row.0, run, 0));
        }
        ControlFlow::Continue(())
    })?;
    Ok(owed)
}

/// Commits whose statuses changed lately, newest first, each once.
pub(super) fn heads(
    rows: &mut impl ReadRows,
    now: Millis,
) -> Result<Vec<(RepoName, CommitSha)>, StoreError> {
    let from = (now.saturating_sub(VERIFY_FOR), String::new());
    let mut seen = BTreeSet::new();
    let mut heads = Vec::new();
    for ((_, name), row) in rows.range_back(&HEADS, from.., MAX_HEADS * 10)? {
        if heads.len() < MAX_HEADS && seen.insert(name) {
            heads.push(row.0);
        }
    }
    Ok(heads)
}

pub(super) fn quarantined(
    rows: &mut impl ReadRows,
    config: &Config,
) -> Result<BTreeSet<AgentKey>, StoreError> {
    let found = rows.range(&CONFIG_ERRORS, .., usize::MAX)?;
    let over = found
        .into_iter()
        .filter(|(_, count)| count.0 >= config.quarantine_after);
    Ok(over
        .filter_map(|((project, agent), _)| key(&project, &agent))
        .collect())
}

pub(super) fn paused(rows: &mut impl ReadRows) -> Result<BTreeSet<ProjectId>, StoreError> {
    let found = rows.range(&PAUSED, .., usize::MAX)?;
    Ok(found
        .into_iter()
        .filter_map(|(id, _)| id.parse().ok())
        .collect())
}

/// Circuits that are not closed, by provider.
///
/// # Errors
/// The store's.
pub fn breakers(rows: &mut impl ReadRows) -> Result<BTreeMap<String, Breaker>, StoreError> {
    let found = rows.range(&BREAKERS, .., usize::MAX)?;
    Ok(found
        .into_iter()
        .map(|(provider, row)| (provider, row.0))
        .collect())
}

pub(super) fn usage(
    rows: &mut impl ReadRows,
    now: Millis,
) -> Result<BTreeMap<AgentKey, AgentUsage>, StoreError> {
    let found = rows.below(&USAGE, &month(now), None, usize::MAX)?;
    let read = found
        .into_iter()
        .filter_map(|((_, project, agent), row)| Some((key(&project, &agent)?, row.0)));
    Ok(read.collect())
}

pub(super) fn schedules(
    rows: &mut impl ReadRows,
) -> Result<BTreeMap<AgentKey, ScheduleMark>, StoreError> {
    let found = rows.range(&SCHEDULES, .., usize::MAX)?;
    let read = found
        .into_iter()
        .filter_map(|((project, agent), row)| Some((key(&project, &agent)?, row.0)));
    Ok(read.collect())
}

fn last_started(rows: &mut impl ReadRows) -> Result<BTreeMap<ProjectId, Millis>, StoreError> {
    let found = rows.range(&STARTED, .., usize::MAX)?;
    let read = found
        .into_iter()
        .filter_map(|(project, at)| Some((project.parse().ok()?, at.0)));
    Ok(read.collect())
}

/// What the forge is to be asked before a run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeQuestion {
    /// Whether this account may write to the repository; nobody in particular may not.
    Author(RepoName, Option<Login>),
    /// Whether the message of this commit says that it is not to be checked.
    Message(RepoName, CommitSha),
}

/// The question that a waiting run depends on.
///
/// # Errors
/// The store's.
pub fn forge_question(
    rows: &mut impl ReadRows,
    id: &RunId,
) -> Result<Option<ForgeQuestion>, StoreError> {
    let id = id.to_string();
    let run = rows.get(&RUNS, &id)?.map(|RunRow(run)| run);
    let Some(run) = run.filter(|run| run.check_author && run.state == AgentRunState::Queued) else {
        return Ok(None);
    };
    if let Subject::PullRequest { sha, .. } = run.subject {
        return Ok(Some(ForgeQuestion::Message(run.repository, sha)));
    }
    let context = rows.get(&CONTEXTS, &id)?;
    let author = context.and_then(|context| context.0.author);
    Ok(Some(ForgeQuestion::Author(run.repository, author)))
}

fn key(project: &str, agent: &str) -> Option<AgentKey> {
    Some((project.parse().ok()?, agent.parse().ok()?))
}
