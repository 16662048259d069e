//! The outbox as data.

use forge_core::{CommitSha, CommitState, CommitStatus, RepoName, RunId, StatusContext};
use serde::Serialize;
use store::{ReadRows, StoreError};

use super::rows::{
    COMMENTS, CommentKey, DUE, IndexedKey, OutboxStatusKey, PARKED, POSTED, PostFailure,
    PostProgress, STATUSES, StatusRow, entry_of, status_key,
};

/// How an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    /// It waits for its first attempt, or for another.
    Waiting,
    /// The forge has it.
    Posted,
    /// It is not tried any more.
    Parked,
}

/// An entry, for people and their tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxEntry {
    /// How it stands.
    pub state: EntryState,
    /// Whose token posts it.
    pub account: String,
    /// The repository.
    pub repo: String,
    /// A status: commit and context. A comment: its key and issue.
    pub subject: String,
    /// A status: its state and description. A comment: nothing.
    pub says: Option<CommitStatus>,
    /// The run that owns a status.
    pub owner: Option<RunId>,
    /// Attempts that failed.
    pub attempts: u32,
    /// The last failure's reason.
    pub failure: Option<String>,
    /// When that was, in ms.
    pub failed_at: Option<u64>,
    /// When it is due, in ms.
    pub due_at: Option<u64>,
    /// When it was enqueued or last changed, in ms.
    pub changed_at: u64,
    /// When the forge took it, in ms.
    pub posted_at: Option<u64>,
}

/// The outbox in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// To be posted.
    pub waiting: u64,
    /// When the longest due was due, in ms.
    pub oldest_due_at: Option<u64>,
    /// Not tried any more: somebody should look.
    pub parked: u64,
    /// Posted, and not forgotten yet.
    pub posted: u64,
}

/// A status that somebody has begun, for comparison with what the forge has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedStatus {
    /// Whose token posts it.
    pub account: String,
    /// The run that owns it.
    pub owner: RunId,
    /// What the forge should have.
    pub status: CommitStatus,
    /// Which of its states this is.
    pub version: u64,
    /// The forge has said that it took it.
    pub posted: bool,
}

/// What waits (the longest due first), what is parked and what was posted (the latest first): at
/// most `limit` each.
///
/// # Errors
/// The store's.
pub fn list(rows: &mut impl ReadRows, limit: usize) -> Result<Vec<OutboxEntry>, StoreError> {
    let mut found = rows.range(&DUE, .., limit)?;
    found.extend(rows.range_back(&PARKED, .., limit)?);
    found.extend(rows.range_back(&POSTED, .., limit)?);
    let mut entries = Vec::new();
    for ((_, kind, key), _) in found {
        let entry = match entry_of(kind, &key) {
            Some(IndexedKey::Status(key)) => status_entry(rows, &key)?,
            Some(IndexedKey::Comment(key)) => comment_entry(rows, &key)?,
            None => None,
        };
        entries.extend(entry);
    }
    Ok(entries)
}

/// The outbox in numbers.
///
/// # Errors
/// The store's.
pub fn overview(rows: &mut impl ReadRows) -> Result<Overview, StoreError> {
    Ok(Overview {
        waiting: rows.len(&DUE)?,
        oldest_due_at: rows.first(&DUE)?.map(|((at, _, _), _)| at),
        parked: rows.len(&PARKED)?,
        posted: rows.len(&POSTED)?,
    })
}

/// Whether a status says that something is wrong.
///
/// # Errors
/// The store's.
pub fn is_bad(
    rows: &mut impl ReadRows,
    repo: &RepoName,
    sha: &CommitSha,
    context: &StatusContext,
) -> Result<bool, StoreError> {
    let row = rows.get(&STATUSES, &status_key(repo, sha, context))?;
    let bad = |state| matches!(state, CommitState::Error | CommitState::Failure);
    Ok(row.is_some_and(|row| bad(row.status.state)))
}

/// The statuses that were begun for a commit.
///
/// # Errors
/// The store's.
pub fn obligations(
    rows: &mut impl ReadRows,
    repo: &RepoName,
    sha: &CommitSha,
) -> Result<Vec<OwedStatus>, StoreError> {
    let prefix = (repo.as_str().to_ascii_lowercase(), sha.to_string());
    let found = rows.below(&STATUSES, &prefix, None, 1000)?;
    Ok(found.into_iter().map(|(_, row)| obligation(row)).collect())
}

fn obligation(row: StatusRow) -> OwedStatus {
    OwedStatus {
        posted: row.is_posted(),
        account: row.account,
        owner: row.owner,
        status: row.status,
        version: row.version,
    }
}

fn status_entry(
    rows: &mut impl ReadRows,
    key: &OutboxStatusKey,
) -> Result<Option<OutboxEntry>, StoreError> {
    let row = rows.get(&STATUSES, key)?;
    Ok(row.map(|row| OutboxEntry {
        account: row.account,
        repo: row.repo.to_string(),
        subject: format!("{} {}", row.sha, row.status.context),
        says: Some(row.status),
        owner: Some(row.owner),
        ..entry(row.progress)
    }))
}

fn comment_entry(
    rows: &mut impl ReadRows,
    key: &CommentKey,
) -> Result<Option<OutboxEntry>, StoreError> {
    let row = rows.get(&COMMENTS, key)?;
    Ok(row.map(|row| OutboxEntry {
        account: row.account,
        repo: row.repo.to_string(),
        subject: format!("{key} at #{}", row.issue),
        // One that is looked at again is on the forge.
        state: match row.comment {
            Some(_) => EntryState::Posted,
            None => entry(row.progress.clone()).state,
        },
        ..entry(row.progress)
    }))
}

fn entry(progress: PostProgress) -> OutboxEntry {
    let state = match (progress.parked, progress.due_at) {
        (true, _) => EntryState::Parked,
        (false, Some(_)) => EntryState::Waiting,
        (false, None) => EntryState::Posted,
    };
    let (failure, failed_at) = match progress.failure {
        Some(PostFailure { reason, at }) => (Some(reason), Some(at)),
        None => (None, None),
    };
    OutboxEntry {
        state,
        account: String::new(),
        repo: String::new(),
        subject: String::new(),
        says: None,
        owner: None,
        attempts: progress.attempts,
        failure,
        failed_at,
        due_at: progress.due_at,
        changed_at: progress.changed_at,
        posted_at: progress.posted_at,
    }
}
