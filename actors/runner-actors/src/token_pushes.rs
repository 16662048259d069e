//! What the tokens of jobs have moved at the forge: noted before it is asked, so that no event
//! about it starts a run, whatever ends meanwhile.

use runner_core::gateway::{PushCommand, PushedReference, is_caused_by_token};
use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, StoreError, Table, WriteTxn};

use crate::api_changes::NotedEvent;

const PUSHED: Table<String, PushedRow> = Table::new("runner_pushed");
/// Moves of one reference that are remembered.
const MAX_MOVES: usize = 32;
/// References that are remembered; beyond it the oldest are forgotten.
const MAX_REFERENCES: u64 = 10_000;

/// The last moves of one reference.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PushedRow {
    /// Where from, where to, and when.
    moves: Vec<(String, String, u64)>,
}

impl Row for PushedRow {
    const SCHEMA: u16 = 1;
}

fn key(repository: &str, reference: &str) -> String {
    format!("{}\n{reference}", repository.to_lowercase())
}

/// Notes what is about to be moved.
pub(crate) fn record_pushes(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    commands: &[PushCommand],
    now_ms: u64,
) -> Result<(), StoreError> {
    if rows.len(&PUSHED)? >= MAX_REFERENCES {
        forget_oldest(rows)?;
    }
    for command in commands {
        let key = key(repository, &command.reference);
        let mut row = rows.get(&PUSHED, &key)?.unwrap_or_default();
        row.moves
            .push((command.old.clone(), command.new.clone(), now_ms));
        let excess = row.moves.len().saturating_sub(MAX_MOVES);
        row.moves.drain(..excess);
        rows.put(&PUSHED, &key, &row)?;
    }
    Ok(())
}

/// Forgets what the forge has refused: somebody else may push the same.
pub(crate) fn forget(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    refused: &[PushCommand],
    noted_ms: u64,
) -> Result<(), StoreError> {
    for command in refused {
        let key = key(repository, &command.reference);
        let Some(mut row) = rows.get(&PUSHED, &key)? else {
            continue;
        };
        row.moves
            .retain(|(old, new, at)| (old, new, *at) != (&command.old, &command.new, noted_ms));
        if row.moves.is_empty() {
            rows.delete(&PUSHED, &key)?;
        } else {
            rows.put(&PUSHED, &key, &row)?;
        }
    }
    Ok(())
}

/// Half of what is remembered, the longest unmoved first.
fn forget_oldest(rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
    let mut all = Vec::new();
    rows.for_each(&PUSHED, .., |key, row| {
        let last = row.moves.last().map_or(0, |(_, _, at)| *at);
        all.push((last, key));
        std::ops::ControlFlow::Continue(())
    })?;
    all.sort_unstable();
    all.truncate(all.len() / 2);
    for (_, key) in &all {
        rows.delete(&PUSHED, key)?;
    }
    Ok(())
}

/// Whether an event in the repository tells of what the token of a job has pushed.
pub(crate) fn caused(
    rows: &mut impl ReadRows,
    repository: &str,
    event: &NotedEvent,
    now_ms: u64,
) -> Result<bool, StoreError> {
    for name in &event.references {
        let row = rows.get(&PUSHED, &key(repository, name))?;
        let moves = row.unwrap_or_default().moves.into_iter();
        let pushed: Vec<PushedReference> = moves
            .map(|(old, new, at_ms)| PushedReference { old, new, at_ms })
            .collect();
        let before = event.before.as_deref();
        let is_caused =
            |commit: &str| is_caused_by_token(&pushed, (event.kind, commit, before), now_ms);
        if event.commits().into_iter().any(is_caused) {
            return Ok(true);
        }
    }
    Ok(false)
}
