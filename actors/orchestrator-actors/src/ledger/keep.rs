//! Small facts that are kept, and what is forgotten.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use forge_core::{CommitSha, ProjectId, PullRequestNumber, RepoName, RunId};
use orchestrator_core::Millis;
use orchestrator_core::intake::AgentKey;
use orchestrator_core::reconcile::ScheduleMark;
use store::{ReadRows, StoreError};

use super::book::Book;
use super::rows::{
    At, CONTEXTS, CURSORS, Flag, HEADS, JOURNAL, MarkRow, OPEN, PAUSED, PULL_HEADS, RUNS,
    SCHEDULES, TROUBLE, WORKTREES, folded,
};
use crate::journal::{Entry, Happened};

/// Most rows removed at a time.
const PRUNED: usize = 200;
/// Most entries of the journal.
pub(super) const MAX_JOURNAL: u64 = 100_000;
/// Most commits remembered for comparison with the forge.
const MAX_HEADS: u64 = 5_000;

/// Remembers how far a schedule was followed.
///
/// # Errors
/// The store's.
pub fn mark_schedule(
    book: &mut Book<'_, '_>,
    agent: &AgentKey,
    mark: ScheduleMark,
) -> Result<(), StoreError> {
    let key = (agent.0.to_string(), agent.1.to_string());
    book.rows.put(&SCHEDULES, &key, &MarkRow(mark))
}

/// Pauses or resumes a project; `false` when it was so already.
///
/// # Errors
/// The store's.
pub fn set_paused(
    book: &mut Book<'_, '_>,
    project: &ProjectId,
    paused: bool,
) -> Result<bool, StoreError> {
    let key = project.to_string();
    let before = book.rows.contains(&PAUSED, &key)?;
    if paused == before {
        return Ok(false);
    }
    if paused {
        book.rows.put(&PAUSED, &key, &Flag(()))?;
    } else {
        book.rows.delete(&PAUSED, &key)?;
    }
    book.tell(Entry::plain(Happened::ProjectPaused(paused), key))?;
    Ok(true)
}

/// Takes every agent out of quarantine: the configuration was read again.
///
/// # Errors
/// The store's.
pub fn clear_trouble(book: &mut Book<'_, '_>) -> Result<(), StoreError> {
    for (key, _) in book.rows.range(&TROUBLE, .., usize::MAX)? {
        book.rows.delete(&TROUBLE, &key)?;
    }
    book.tell(Entry::plain(Happened::Reloaded, ""))
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
    book: &mut Book<'_, '_>,
    project: &ProjectId,
    at: Millis,
) -> Result<(), StoreError> {
    if cursor(book.rows, project)?.is_some_and(|before| before >= at) {
        return Ok(());
    }
    book.rows.put(&CURSORS, &project.to_string(), &At(at))
}

/// The runs whose worktree stands on disk.
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
pub fn forget_worktree(book: &mut Book<'_, '_>, id: &RunId, path: &str) -> Result<(), StoreError> {
    book.rows.delete(&WORKTREES, &id.to_string())?;
    let Some(mut run) = book.run(id)? else {
        return Ok(());
    };
    if let Some(worktree) = &mut run.worktree {
        worktree.present = false;
    }
    book.put(&run)?;
    book.tell(Entry::of(&run, Happened::WorktreeRemoved(path.to_owned())))
}

/// When the newest entry of the journal was written.
///
/// # Errors
/// The store's.
pub(crate) fn last_entry_at(rows: &mut impl ReadRows) -> Result<Option<Millis>, StoreError> {
    Ok(rows.last(&JOURNAL)?.map(|(_, row)| row.at))
}

/// Removes what is too old at `now` (see [`orchestrator_core::retention`]), a little at a time; the ids of runs whose logs
/// can go.
///
/// # Errors
/// The store's.
pub fn prune(book: &mut Book<'_, '_>, now: Millis) -> Result<Vec<RunId>, StoreError> {
    let keep = book.config.retention;
    let age = u64::try_from(keep.age.as_millis()).unwrap_or(u64::MAX);
    let oldest = now.saturating_sub(age);
    // What is open, or has a worktree, is kept whatever its age; others behind it are not kept by it.
    let open = book.rows.range(&OPEN, .., usize::MAX)?;
    let trees = book.rows.range(&WORKTREES, .., usize::MAX)?;
    let held = open.into_iter().map(|(id, _)| id);
    let held: BTreeSet<String> = held.chain(trees.into_iter().map(|(id, _)| id)).collect();
    let ended = book.rows.len(&RUNS)?.saturating_sub(held.len() as u64);
    let mut excess = ended.saturating_sub(keep.runs);
    let mut gone = Vec::new();
    book.rows.for_each(&RUNS, .., |id, row| {
        if held.contains(&id) {
            return ControlFlow::Continue(());
        }
        let old = row.0.queued_at < oldest;
        if gone.len() >= PRUNED || (excess == 0 && !old) {
            return ControlFlow::Break(());
        }
        excess = excess.saturating_sub(1);
        gone.push((id, row.0));
        ControlFlow::Continue(())
    })?;
    let mut ids = Vec::new();
    for (id, run) in gone {
        book.rows.delete(&RUNS, &id)?;
        book.rows.delete(&CONTEXTS, &id)?;
        ids.push(run.id);
    }
    let bound = |max_rows| store::Retention {
        max_rows: Some(max_rows),
        max_age: Some(Duration::from_millis(age)),
    };
    book.rows
        .retain(&JOURNAL, bound(MAX_JOURNAL), now, PRUNED, |_, row| row.at)?;
    book.rows
        .retain(&HEADS, bound(MAX_HEADS), now, PRUNED, |(at, _), _| *at)?;
    Ok(ids)
}

/// Remembers heads of pull requests as seen, without dispatching anything: the first look at a forge.
///
/// # Errors
/// The store's.
pub fn remember_heads(
    book: &mut Book<'_, '_>,
    repository: &RepoName,
    heads: &[(PullRequestNumber, CommitSha)],
) -> Result<(), StoreError> {
    for (number, sha) in heads {
        let key = (folded(repository), number.get(), sha.to_string());
        if !book.rows.contains(&PULL_HEADS, &key)? {
            book.rows.put(&PULL_HEADS, &key, &At(book.now))?;
        }
    }
    Ok(())
}
