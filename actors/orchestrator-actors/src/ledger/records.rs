//! Small records (schedules, pauses, cursors, worktrees), and pruning.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use forge_actors::AgeClock;
use forge_actors::deliveries::Deliveries;
use forge_core::{CommentId, CommitSha, ProjectId, PullRequestNumber, RepoName, RunId};
use orchestrator_core::Millis;
use orchestrator_core::intake::{AgentKey, comment_key};
use orchestrator_core::reconcile::ScheduleMark;
use store::{ReadRows, StoreError};

use super::pull_heads::ONLY_FOUND;
use super::rows::{
    AGES, At, CONFIG_ERRORS, CONTEXTS, CURSORS, Flag, HEADS, JOURNAL, MAX_JOURNAL, MarkRow, OPEN,
    PAUSED, PULL_HEADS, RUNS, SCHEDULES, WORKTREES, folded,
};
use super::txn::LedgerTxn;
use crate::journal::{JournalEvent, RecordedEvent};

/// Most rows removed at a time.
const MAX_PRUNED: usize = 200;
/// Most commits remembered for comparison with the forge.
const MAX_HEADS: u64 = 5_000;

/// Remembers how far a schedule was followed.
///
/// # Errors
/// The store's.
pub fn mark_schedule(
    txn: &mut LedgerTxn<'_, '_>,
    agent: &AgentKey,
    mark: ScheduleMark,
) -> Result<(), StoreError> {
    let key = (agent.0.to_string(), agent.1.to_string());
    txn.rows.put(&SCHEDULES, &key, &MarkRow(mark))
}

/// Pauses or resumes a project; `false` when it was so already.
///
/// # Errors
/// The store's.
pub fn set_paused(
    txn: &mut LedgerTxn<'_, '_>,
    project: &ProjectId,
    paused: bool,
) -> Result<bool, StoreError> {
    let key = project.to_string();
    let before = txn.rows.contains(&PAUSED, &key)?;
    if paused == before {
        return Ok(false);
    }
    if paused {
        txn.rows.put(&PAUSED, &key, &Flag(()))?;
    } else {
        txn.rows.delete(&PAUSED, &key)?;
    }
    txn.journal(RecordedEvent::plain(
        JournalEvent::ProjectPaused(paused),
        key,
    ))?;
    Ok(true)
}

/// Takes every agent out of quarantine: the configuration was read again.
///
/// # Errors
/// The store's.
pub fn clear_config_errors(txn: &mut LedgerTxn<'_, '_>) -> Result<(), StoreError> {
    for (key, _) in txn.rows.range(&CONFIG_ERRORS, .., usize::MAX)? {
        txn.rows.delete(&CONFIG_ERRORS, &key)?;
    }
    txn.journal(RecordedEvent::plain(JournalEvent::Reloaded, ""))
}

/// How far a project's comments were read.
///
/// # Errors
/// The store's.
pub fn cursor(rows: &mut impl ReadRows, project: &ProjectId) -> Result<Option<Millis>, StoreError> {
    Ok(rows.get(&CURSORS, &project.to_string())?.map(|at| at.0))
}

/// Remembers how far a project's comments were read; never less far than before.
///
/// # Errors
/// The store's.
pub fn advance_cursor(
    txn: &mut LedgerTxn<'_, '_>,
    project: &ProjectId,
    at: Millis,
) -> Result<(), StoreError> {
    if cursor(txn.rows, project)?.is_some_and(|before| before >= at) {
        return Ok(());
    }
    txn.rows.put(&CURSORS, &project.to_string(), &At(at))
}

/// Marks comments as seen without dispatching anything: a mention that is edited into them starts
/// nothing.
///
/// # Errors
/// The store's.
pub fn mark_comments_seen(
    txn: &mut LedgerTxn<'_, '_>,
    deliveries: &Deliveries,
    repository: &RepoName,
    comments: &[CommentId],
) -> Result<(), StoreError> {
    for comment in comments {
        let key = comment_key(repository, *comment);
        deliveries.admit_subject(txn.rows, &key, txn.now)?;
    }
    Ok(())
}

/// The runs whose worktree is on disk.
///
/// # Errors
/// The store's.
pub fn worktrees(rows: &mut impl ReadRows) -> Result<Vec<RunId>, StoreError> {
    let found = rows.range(&WORKTREES, .., usize::MAX)?;
    Ok(found
        .into_iter()
        .filter_map(|(id, _)| id.parse().ok())
        .collect())
}

/// A worktree was removed.
///
/// # Errors
/// The store's.
pub fn forget_worktree(
    txn: &mut LedgerTxn<'_, '_>,
    id: &RunId,
    path: &str,
) -> Result<(), StoreError> {
    txn.rows.delete(&WORKTREES, &id.to_string())?;
    let Some(mut run) = txn.run(id)? else {
        return Ok(());
    };
    if let Some(worktree) = &mut run.worktree {
        worktree.present = false;
    }
    txn.put(&run)?;
    txn.journal(RecordedEvent::new(
        &run,
        JournalEvent::WorktreeRemoved(path.to_owned()),
    ))
}

/// What records age by: the time is stored, since the times of entries follow a clock that may have
/// jumped.
///
/// # Errors
/// The store's.
pub(crate) fn age_clock(rows: &mut impl ReadRows) -> Result<AgeClock, StoreError> {
    let newest = rows.last(&JOURNAL)?.map(|(_, row)| row.at);
    AgeClock::open(rows, AGES, newest)
}

/// The newest run's id.
///
/// # Errors
/// The store's.
pub(crate) fn newest_run(rows: &mut impl ReadRows) -> Result<Option<String>, StoreError> {
    Ok(rows.last(&RUNS)?.map(|(id, _)| id))
}

/// Removes what is too old by the time of `ages`, a little at a time; the ids of runs whose logs
/// can go.
///
/// # Errors
/// The store's.
pub(crate) fn prune(
    txn: &mut LedgerTxn<'_, '_>,
    ages: &AgeClock,
) -> Result<Vec<RunId>, StoreError> {
    let now = ages.now(txn.rows, txn.now)?;
    let keep = txn.config.retention;
    let age = u64::try_from(keep.age.as_millis()).unwrap_or(u64::MAX);
    let oldest = now.saturating_sub(age);
    // What is open, or has a worktree, is kept whatever its age; others behind it are not kept by
    // it.
    let open = txn.rows.range(&OPEN, .., usize::MAX)?;
    let trees = txn.rows.range(&WORKTREES, .., usize::MAX)?;
    let held = open.into_iter().map(|(id, _)| id);
    let held: BTreeSet<String> = held.chain(trees.into_iter().map(|(id, _)| id)).collect();
    let ended = txn.rows.len(&RUNS)?.saturating_sub(held.len() as u64);
    let mut excess = ended.saturating_sub(keep.runs);
    let mut gone = Vec::new();
    txn.rows.for_each(&RUNS, .., |id, row| {
        if held.contains(&id) {
            return ControlFlow::Continue(());
        }
        let old = row.0.queued_at < oldest;
        if gone.len() >= MAX_PRUNED || (excess == 0 && !old) {
            return ControlFlow::Break(());
        }
        excess = excess.saturating_sub(1);
        gone.push((id, row.0));
        ControlFlow::Continue(())
    })?;
    let mut ids = Vec::new();
    for (id, run) in gone {
        txn.rows.delete(&RUNS, &id)?;
        txn.rows.delete(&CONTEXTS, &id)?;
        ids.push(run.id);
    }
    let bound = |max_rows| store::TableRetention {
        max_rows: Some(max_rows),
        max_age: Some(Duration::from_millis(age)),
    };
    txn.rows
        .retain(&JOURNAL, bound(MAX_JOURNAL), now, MAX_PRUNED, |_, row| {
            row.at
        })?;
    txn.rows
        .retain(&HEADS, bound(MAX_HEADS), now, MAX_PRUNED, |(at, _), _| *at)?;
    Ok(ids)
}

/// Remembers heads of pull requests as found, without dispatching anything: the first look at a
/// forge.
///
/// # Errors
/// The store's.
pub fn record_heads(
    txn: &mut LedgerTxn<'_, '_>,
    repository: &RepoName,
    heads: &[(PullRequestNumber, CommitSha)],
) -> Result<(), StoreError> {
    for (number, sha) in heads {
        let key = (folded(repository), number.get(), sha.to_string());
        if !txn.rows.contains(&PULL_HEADS, &key)? {
            txn.rows.put(&PULL_HEADS, &key, &ONLY_FOUND)?;
        }
    }
    Ok(())
}
