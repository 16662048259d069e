//! What is due, and what became of it.

use std::time::Duration;

use forge_core::{CommitSha, CommitStatus, IssueNumber, RepoName};
use http_clients::forge::ForgeError;
use store::{ReadRows, StoreError, TableRetention, WriteTxn};

use super::decide::{CommentDelivery, PostRetryDecision, after_failure};
use super::enqueue::{put_comment, put_status};
use super::rows::{
    COMMENTS, CommentKey, CommentRow, DUE, IndexedKey, OutboxStatusKey, PARKED, POSTED,
    PostFailure, PostProgress, STATUSES, StatusRow, entry_of, status_key,
};

/// Most bytes of a reason that are kept.
const MAX_REASON_BYTES: usize = 500;

/// Something to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostTask {
    /// A status.
    Status {
        /// Where it is kept.
        key: OutboxStatusKey,
        /// Whose token.
        account: String,
        /// The repository.
        repo: RepoName,
        /// The commit.
        sha: CommitSha,
        /// What it says.
        status: CommitStatus,
        /// Which of its states this is.
        version: u64,
        /// How it went so far.
        attempt: Attempt,
    },
    /// A comment.
    Comment {
        /// Where it is kept.
        key: CommentKey,
        /// Whose token.
        account: String,
        /// The repository.
        repo: RepoName,
        /// The issue or pull request.
        issue: IssueNumber,
        /// Its text.
        body: String,
        /// What is known of former attempts.
        delivery: CommentDelivery,
        /// How it went so far.
        attempt: Attempt,
    },
}

/// How it went so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the attempt that is due, from 1.
    pub number: u32,
    /// When it was enqueued or last changed, in ms.
    pub since: u64,
}

impl PostTask {
    /// Works of one lane are posted one after the other: a repository's context, an issue.
    #[must_use]
    pub fn lane(&self) -> (RepoName, String) {
        match self {
            Self::Status { repo, status, .. } => (repo.clone(), status.context.to_string()),
            Self::Comment { repo, issue, .. } => (repo.clone(), format!("#{issue}")),
        }
    }

    /// How it went so far.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        match self {
            Self::Status { attempt, .. } | Self::Comment { attempt, .. } => *attempt,
        }
    }

    /// Whose token posts it.
    #[must_use]
    pub fn account(&self) -> &str {
        match self {
            Self::Status { account, .. } | Self::Comment { account, .. } => account,
        }
    }

    /// The repository.
    #[must_use]
    pub fn repo(&self) -> &RepoName {
        match self {
            Self::Status { repo, .. } | Self::Comment { repo, .. } => repo,
        }
    }
}

/// What is due by `now`, at most `limit`, the longest due first.
///
/// # Errors
/// The store's.
pub fn due(rows: &mut impl ReadRows, now: u64, limit: usize) -> Result<Vec<PostTask>, StoreError> {
    let end = (now.saturating_add(1), 0, Vec::new());
    let mut works = Vec::new();
    for ((_, kind, key), _) in rows.range(&DUE, ..end, limit)? {
        let work = match entry_of(kind, &key) {
            Some(IndexedKey::Status(key)) => status_work(rows, key)?,
            Some(IndexedKey::Comment(key)) => comment_work(rows, key)?,
            None => None,
        };
        works.extend(work);
    }
    Ok(works)
}

/// When the first work after `now` is due, in ms.
///
/// # Errors
/// The store's.
pub fn due_after(rows: &mut impl ReadRows, now: u64) -> Result<Option<u64>, StoreError> {
    let from = (now.saturating_add(1), 0, Vec::new());
    let next = rows.range(&DUE, from.., 1)?.pop();
    Ok(next.map(|((at, _, _), _)| at))
}

fn status_work(
    rows: &mut impl ReadRows,
    key: OutboxStatusKey,
) -> Result<Option<PostTask>, StoreError> {
    let row = rows.get(&STATUSES, &key)?;
    Ok(row.map(|row| PostTask::Status {
        key,
        account: row.account,
        repo: row.repo,
        sha: row.sha,
        status: row.status,
        version: row.version,
        attempt: attempt(&row.progress),
    }))
}

fn comment_work(rows: &mut impl ReadRows, key: CommentKey) -> Result<Option<PostTask>, StoreError> {
    let row = rows.get(&COMMENTS, &key)?;
    Ok(row.map(|row| PostTask::Comment {
        key,
        account: row.account,
        repo: row.repo,
        issue: row.issue,
        body: row.body,
        delivery: CommentDelivery {
            uncertain: row.uncertain,
            sent: row.sent,
            looks: row.looks,
            taken: row.comment,
        },
        attempt: attempt(&row.progress),
    }))
}

fn attempt(progress: &PostProgress) -> Attempt {
    Attempt {
        number: progress.attempts.saturating_add(1),
        since: progress.changed_at,
    }
}

/// The forge has taken a status in this version; a newer one stays due.
///
/// # Errors
/// The store's.
pub fn posted_status(
    rows: &mut WriteTxn<'_>,
    key: &OutboxStatusKey,
    version: u64,
    now: u64,
) -> Result<(), StoreError> {
    let Some(before) = rows.get(&STATUSES, key)? else {
        return Ok(());
    };
    if before.version != version {
        return Ok(());
    }
    let mut row = before.clone();
    row.progress.posted(now);
    put_status(rows, key, Some(&before), &row)
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailure {
    /// Why.
    pub error: ForgeError,
    /// It was sending a comment, after [`super::sending_comment`]; else it was reading, or a
    /// status.
    pub sending: bool,
}

/// An attempt has failed; says what follows. `chance` from 0 to 1 spreads the delays; a comment
/// that may have reached the forge is not touched before `settle` is over.
///
/// # Errors
/// The store's.
pub fn record_failure(
    rows: &mut WriteTxn<'_>,
    work: &PostTask,
    AttemptFailure { error, sending }: &AttemptFailure,
    settle: Duration,
    now: u64,
    chance: f64,
) -> Result<PostRetryDecision, StoreError> {
    let Attempt { number, since } = work.attempt();
    let age = Duration::from_millis(now.saturating_sub(since));
    let mut next = after_failure(error, number, age, chance);
    if let PostRetryDecision::Again(delay) = &mut next
        && *sending
        && error.may_be_done()
    {
        *delay = settle.max(*delay);
    }
    match work {
        PostTask::Status { key, version, .. } => {
            let before = rows.get(&STATUSES, key)?;
            // A newer state is due by its own time.
            if let Some(before) = before.filter(|row| row.version == *version) {
                let mut row = before.clone();
                row.progress.failed(error, next, now);
                put_status(rows, key, Some(&before), &row)?;
            }
        }
        PostTask::Comment { key, delivery, .. } => {
            if let Some(before) = rows.get(&COMMENTS, key)? {
                let mut row = before.clone();
                if *sending && !error.may_be_done() {
                    (row.uncertain, row.sent) = (delivery.uncertain, delivery.sent);
                }
                row.progress.failed(error, next, now);
                if row.comment.is_some() && next == PostRetryDecision::Park {
                    // The forge has it; it was only to be checked.
                    row.progress.posted(now);
                }
                put_comment(rows, key, Some(&before), &row)?;
            }
        }
    }
    Ok(next)
}

/// The forge does not have a status that it took: it is due again.
///
/// # Errors
/// The store's.
pub fn mark_missing(
    rows: &mut WriteTxn<'_>,
    repo: &RepoName,
    sha: &CommitSha,
    context: &forge_core::StatusContext,
    version: u64,
    now: u64,
) -> Result<bool, StoreError> {
    let key = status_key(repo, sha, context);
    let before = rows.get(&STATUSES, &key)?;
    let Some(before) = before.filter(|row| row.version == version && row.is_posted()) else {
        return Ok(false);
    };
    let mut row = before.clone();
    row.progress = PostProgress {
        changed_at: before.progress.changed_at,
        due_at: Some(now),
        ..PostProgress::default()
    };
    put_status(rows, &key, Some(&before), &row)?;
    Ok(true)
}

/// Makes what is parked due again, at most `limit`, the oldest first: after a token or an address
/// was repaired.
///
/// # Errors
/// The store's.
pub fn retry_parked(rows: &mut WriteTxn<'_>, now: u64, limit: usize) -> Result<usize, StoreError> {
    let again = PostProgress {
        changed_at: now,
        due_at: Some(now),
        ..PostProgress::default()
    };
    let parked = rows.range(&PARKED, .., limit)?;
    let count = parked.len();
    for (entry, _) in parked {
        let (_, kind, key) = &entry;
        match entry_of(*kind, key) {
            Some(IndexedKey::Status(key)) => {
                if let Some(before) = rows.get(&STATUSES, &key)? {
                    let progress = again.clone();
                    let row = StatusRow {
                        progress,
                        ..before.clone()
                    };
                    put_status(rows, &key, Some(&before), &row)?;
                    continue;
                }
            }
            Some(IndexedKey::Comment(key)) => {
                if let Some(before) = rows.get(&COMMENTS, &key)? {
                    let progress = again.clone();
                    let row = CommentRow {
                        progress,
                        ..before.clone()
                    };
                    put_comment(rows, &key, Some(&before), &row)?;
                    continue;
                }
            }
            None => {}
        }
        // Its row is gone, to quarantine for instance.
        rows.delete(&PARKED, &entry)?;
    }
    Ok(count)
}

/// When the newest of what is posted was, for stores that kept no time to measure ages by.
///
/// # Errors
/// The store's.
pub(crate) fn newest_post(rows: &mut impl ReadRows) -> Result<Option<u64>, StoreError> {
    Ok(rows.last(&POSTED)?.map(|((at, ..), _)| at))
}

/// Forgets what was posted, or parked, beyond `keep` (each for itself), at most `limit` entries
/// each; says how many. `now` is the time of an [`AgeClock`](crate::AgeClock).
///
/// # Errors
/// The store's.
pub fn prune(
    rows: &mut WriteTxn<'_>,
    keep: TableRetention,
    now: u64,
    limit: usize,
) -> Result<usize, StoreError> {
    let age = keep
        .max_age
        .map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let oldest = age.map_or(0, |age| now.saturating_sub(age));
    let mut count = 0;
    for table in [POSTED, PARKED] {
        let len = rows.len(&table)?;
        let mut excess = keep.max_rows.map_or(0, |max| len.saturating_sub(max));
        for (entry, _) in rows.range(&table, .., limit)? {
            if excess == 0 && entry.0 >= oldest {
                break;
            }
            excess = excess.saturating_sub(1);
            rows.delete(&table, &entry)?;
            match entry_of(entry.1, &entry.2) {
                Some(IndexedKey::Status(key)) => rows.delete(&STATUSES, &key)?,
                Some(IndexedKey::Comment(key)) => rows.delete(&COMMENTS, &key)?,
                None => false,
            };
            count += 1;
        }
    }
    Ok(count)
}

impl StatusRow {
    pub(super) fn is_posted(&self) -> bool {
        self.progress.posted_at.is_some() && self.progress.due_at.is_none()
    }
}

impl PostProgress {
    pub(super) fn posted(&mut self, now: u64) {
        self.due_at = None;
        self.parked = false;
        self.failure = None;
        self.posted_at = Some(now);
    }

    fn failed(&mut self, error: &ForgeError, next: PostRetryDecision, now: u64) {
        let reason = error.to_string();
        self.attempts = self.attempts.saturating_add(1);
        self.failure = Some(PostFailure {
            reason: forge_core::text::shorten(&reason, MAX_REASON_BYTES).into_owned(),
            at: now,
        });
        match next {
            PostRetryDecision::Again(delay) => {
                let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                self.due_at = Some(now.saturating_add(delay));
            }
            PostRetryDecision::Park => {
                self.due_at = None;
                self.parked = true;
            }
        }
    }
}
