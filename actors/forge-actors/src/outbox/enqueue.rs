//! Putting something into the outbox, within the transaction of whoever decides it.

use forge_core::{CommitSha, CommitStatus, IssueNumber, RepoName, RunId};
use store::{Key, ReadRows, StoreError, WriteTxn};

use super::decide::{self, StatusAdmission, UpdateOutcome};
use super::rows::{
    COMMENTS, CommentKey, CommentRow, IndexEntry, IndexKey, OutboxEntryKind, OutboxStatusKey,
    PostProgress, STATUSES, StatusRow, status_key,
};

/// Where a status is posted, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusTarget {
    /// Whose token posts it: a name the outbox worker's [`Accounts`](crate::Accounts) know.
    pub account: String,
    /// The repository.
    pub repo: RepoName,
    /// The commit. The context is the status's own.
    pub sha: CommitSha,
}

/// A comment to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// Its key: the same key is enqueued once.
    pub key: CommentKey,
    /// Whose token posts it.
    pub account: String,
    /// The repository.
    pub repo: RepoName,
    /// The issue or pull request.
    pub issue: IssueNumber,
    /// Its text, with the mark of its run ([`forge_core::Marker::attach`]): without one, an attempt
    /// whose outcome is unknown could be posted twice.
    pub body: String,
}

/// What became of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentAdmission {
    /// It will be posted.
    Enqueued,
    /// Its key was used before; nothing was changed.
    Already,
    /// It has no issue to stand at (number 0): nothing can be posted.
    NoIssue,
}

/// Begins a status: makes `owner` the one that may settle it.
///
/// # Errors
/// The store's.
pub fn start_status(
    rows: &mut WriteTxn<'_>,
    target: &StatusTarget,
    owner: &RunId,
    status: &CommitStatus,
    now: u64,
) -> Result<StatusAdmission, StoreError> {
    let key = status_key(&target.repo, &target.sha, &status.context);
    let current = rows.get(&STATUSES, &key)?;
    let begun = decide::admit_status(current.as_ref().map(|row| &row.owner), owner);
    if begun == StatusAdmission::Enqueued {
        let row = StatusRow {
            account: target.account.clone(),
            repo: target.repo.clone(),
            sha: target.sha.clone(),
            owner: owner.clone(),
            status: status.clone(),
            version: current.as_ref().map_or(1, |row| row.version + 1),
            progress: fresh(now),
        };
        put_status(rows, &key, current.as_ref(), &row)?;
    }
    Ok(begun)
}

/// Changes a status that `owner` has begun.
///
/// # Errors
/// The store's.
pub fn update_status(
    rows: &mut WriteTxn<'_>,
    repo: &RepoName,
    sha: &CommitSha,
    owner: &RunId,
    status: &CommitStatus,
    now: u64,
) -> Result<UpdateOutcome, StoreError> {
    let key = status_key(repo, sha, &status.context);
    let current = rows.get(&STATUSES, &key)?;
    let known = current.as_ref().map(|row| (&row.owner, &row.status));
    let updated = decide::update(known, owner, status);
    if let (UpdateOutcome::Enqueued, Some(current)) = (updated, current) {
        let row = StatusRow {
            status: status.clone(),
            version: current.version + 1,
            progress: fresh(now),
            ..current.clone()
        };
        put_status(rows, &key, Some(&current), &row)?;
    }
    Ok(updated)
}

/// Enqueues a comment.
///
/// # Errors
/// The store's.
pub fn comment(
    rows: &mut WriteTxn<'_>,
    new: &NewComment,
    now: u64,
) -> Result<CommentAdmission, StoreError> {
    if new.issue.is_cli() {
        return Ok(CommentAdmission::NoIssue);
    }
    if rows.contains(&COMMENTS, &new.key)? {
        return Ok(CommentAdmission::Already);
    }
    let row = CommentRow {
        account: new.account.clone(),
        repo: new.repo.clone(),
        issue: new.issue,
        body: new.body.clone(),
        uncertain: false,
        comment: None,
        progress: fresh(now),
        sent: 0,
        looks: 0,
        checks: 0,
    };
    put_comment(rows, &new.key, None, &row)?;
    Ok(CommentAdmission::Enqueued)
}

/// Due at once.
fn fresh(now: u64) -> PostProgress {
    PostProgress {
        changed_at: now,
        due_at: Some(now),
        ..PostProgress::default()
    }
}

pub(super) fn put_status(
    rows: &mut WriteTxn<'_>,
    key: &OutboxStatusKey,
    before: Option<&StatusRow>,
    row: &StatusRow,
) -> Result<(), StoreError> {
    let before = before.map(|row| &row.progress);
    index(
        rows,
        OutboxEntryKind::Status,
        &key.to_bytes(),
        before,
        &row.progress,
    )?;
    rows.put(&STATUSES, key, row)
}

pub(super) fn put_comment(
    rows: &mut WriteTxn<'_>,
    key: &CommentKey,
    before: Option<&CommentRow>,
    row: &CommentRow,
) -> Result<(), StoreError> {
    let before = before.map(|row| &row.progress);
    index(
        rows,
        OutboxEntryKind::Comment,
        &key.to_bytes(),
        before,
        &row.progress,
    )?;
    rows.put(&COMMENTS, key, row)
}

/// Moves an entry to where its progress says it is.
fn index(
    rows: &mut WriteTxn<'_>,
    kind: OutboxEntryKind,
    key: &[u8],
    before: Option<&PostProgress>,
    after: &PostProgress,
) -> Result<(), StoreError> {
    let at = |time: u64| -> IndexKey { (time, kind as u8, key.to_vec()) };
    if let Some(before) = before {
        let (table, time) = before.place();
        rows.delete(&table, &at(time))?;
    }
    let (table, time) = after.place();
    rows.put(&table, &at(time), &IndexEntry)
}
