//! The head commits of pull requests, and the runs that belong to them.

use forge_core::{CommitSha, RunId};
use orchestrator_core::intake::RunsToEnd;
use orchestrator_core::run::Run;
use store::{ReadRows, StoreError};

use super::event_source::EventSource;
use super::rows::{At, PULL_HEADS, PULL_RUNS, RUNS, RunRow, folded};
use super::transitions::end_early;
use super::txn::LedgerTxn;

/// Most rows read of a pull request.
const MAX_ROWS: usize = 10_000;

/// When a head was taken that was only found when the forge was asked for the first time: nothing
/// has run for it, and the webhook that tells of it may be under way still.
pub(super) const ONLY_FOUND: At = At(0);

/// Makes a commit the head of its pull request. `true`: it was that already, or the forge was asked
/// before it got another one. Only the head of now is remembered: one that comes back after another
/// is a new attempt. One that was [only found](ONLY_FOUND) is new to a webhook.
pub(super) fn take_head(
    txn: &mut LedgerTxn<'_, '_>,
    repository: &str,
    number: u64,
    sha: &CommitSha,
    source: &EventSource<'_>,
) -> Result<bool, StoreError> {
    let prefix = (repository.to_owned(), number);
    let heads = txn.rows.below(&PULL_HEADS, &prefix, None, MAX_ROWS)?;
    let (same, others): (Vec<_>, Vec<_>) = heads
        .into_iter()
        .partition(|((_, _, head), _)| *head == sha.as_str());
    // Earlier versions remembered all heads: of those the last one counts.
    let last = others.iter().map(|(_, at)| at.0).max();
    let is_last = same
        .iter()
        .any(|(_, at)| last.is_none_or(|last| at.0 >= last));
    let is_stale = match source {
        EventSource::Found { asked_at, .. } => last.is_some_and(|last| last >= *asked_at),
        EventSource::Delivery(_) => false,
    };
    let is_only_found = is_last && same.iter().all(|(_, at)| at.0 == ONLY_FOUND.0);
    if is_stale || is_only_found && !source.is_delivery() {
        return Ok(true);
    }
    for (key, _) in others {
        txn.rows.delete(&PULL_HEADS, &key)?;
    }
    let key = (repository.to_owned(), number, sha.to_string());
    txn.rows.put(&PULL_HEADS, &key, &At(txn.now))?;
    Ok(is_last && !is_only_found)
}

/// The open runs of a pull request.
pub(super) fn open_of_pull(
    txn: &mut LedgerTxn<'_, '_>,
    repository: &str,
    number: u64,
) -> Result<Vec<Run>, StoreError> {
    let prefix = (repository.to_owned(), number);
    let ids = txn.rows.below(&PULL_RUNS, &prefix, None, MAX_ROWS)?;
    let mut runs = Vec::new();
    for ((_, _, id), _) in ids {
        runs.extend(txn.rows.get(&RUNS, &id)?.map(|RunRow(run)| run));
    }
    Ok(runs)
}

/// Ends the runs of other heads, or all of a pull request that was closed.
pub(super) fn end_others(
    txn: &mut LedgerTxn<'_, '_>,
    ends: &RunsToEnd,
    kill: &mut Vec<RunId>,
) -> Result<(), StoreError> {
    let (repository, number) = (folded(&ends.repository), ends.number.get());
    for run in open_of_pull(txn, &repository, number)? {
        let (_, sha) = run
            .subject
            .pull_request()
            .expect("the index holds pull requests only");
        if ends.keep.as_ref() != Some(sha) && end_early(txn, run.clone(), ends.reason)? {
            kill.push(run.id);
        }
    }
    if ends.forget {
        let prefix = (repository, number);
        for (key, _) in txn.rows.below(&PULL_HEADS, &prefix, None, MAX_ROWS)? {
            txn.rows.delete(&PULL_HEADS, &key)?;
        }
    }
    Ok(())
}
