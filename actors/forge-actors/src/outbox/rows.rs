//! The outbox's tables.

use forge_core::{CommitSha, CommitStatus, IssueNumber, RepoName, RunId, StatusContext};
use serde::{Deserialize, Serialize};
use store::{Key, Row, Table};

use crate::age_clock::StoredTime;

/// Repository (lower case), commit, context.
pub type OutboxStatusKey = (String, String, String);

/// A comment's key, chosen by whoever enqueues it: once used, never used again.
pub type CommentKey = String;

/// The key of a status.
pub(crate) fn status_key(
    repo: &RepoName,
    sha: &CommitSha,
    context: &StatusContext,
) -> OutboxStatusKey {
    let repo = repo.as_str().to_ascii_lowercase();
    (repo, sha.to_string(), context.to_string())
}

/// Why the last attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostFailure {
    /// For people.
    pub reason: String,
    /// When, in ms.
    pub at: u64,
}

/// How a post stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PostProgress {
    /// When what is to be posted was last changed, in ms.
    pub(crate) changed_at: u64,
    /// When it is due, in ms; `None`: posted or parked.
    pub(crate) due_at: Option<u64>,
    /// Attempts that failed since it was changed.
    pub(crate) attempts: u32,
    /// The last failure since then.
    pub(crate) failure: Option<PostFailure>,
    /// It is not tried any more.
    pub(crate) parked: bool,
    /// When the forge took it, in ms.
    pub(crate) posted_at: Option<u64>,
}

/// A status, in [`STATUSES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatusRow {
    pub(crate) account: String,
    pub(crate) repo: RepoName,
    pub(crate) sha: CommitSha,
    pub(crate) owner: RunId,
    pub(crate) status: CommitStatus,
    /// Grows with each change.
    pub(crate) version: u64,
    pub(crate) progress: PostProgress,
}

/// A comment, in [`COMMENTS`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommentRow {
    pub(crate) account: String,
    pub(crate) repo: RepoName,
    pub(crate) issue: IssueNumber,
    pub(crate) body: String,
    /// An attempt may have reached the forge: written before each one, and taken back when it
    /// certainly did not.
    pub(crate) uncertain: bool,
    /// The forge's id for it.
    pub(crate) comment: Option<u64>,
    pub(crate) progress: PostProgress,
    /// How often it was sent.
    pub(crate) sent: u32,
    /// How often in a row the forge did not have it, since it was sent last.
    pub(crate) looks: u32,
    /// How often the forge was searched for a second one, since it has one.
    pub(crate) checks: u32,
}

/// An entry of an index.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IndexEntry;

impl Row for StatusRow {
    const SCHEMA: u16 = 1;
}
impl Row for CommentRow {
    const SCHEMA: u16 = 2;
}
impl Row for IndexEntry {
    const SCHEMA: u16 = 1;
}

/// What an index entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutboxEntryKind {
    Status = 0,
    Comment = 1,
}

/// A time, a [`OutboxEntryKind`], and the encoded key.
pub(crate) type IndexKey = (u64, u8, Vec<u8>);

pub(crate) const STATUSES: Table<OutboxStatusKey, StatusRow> = Table::new("forge_outbox_statuses");
pub(crate) const COMMENTS: Table<CommentKey, CommentRow> = Table::new("forge_outbox_comments");
/// What is to be posted, by when it is due.
pub(crate) const DUE: Table<IndexKey, IndexEntry> = Table::new("forge_outbox_due");
/// The time by which what was posted or parked ages.
pub(crate) const CLOCK: Table<u8, StoredTime> = Table::new("forge_outbox_clock");
/// What is not tried any more, by when it was parked.
pub(crate) const PARKED: Table<IndexKey, IndexEntry> = Table::new("forge_outbox_parked");
/// What the forge has, by when it took it.
pub(crate) const POSTED: Table<IndexKey, IndexEntry> = Table::new("forge_outbox_posted");

impl PostProgress {
    /// The index it stands in, and by which time.
    pub(crate) fn place(&self) -> (Table<IndexKey, IndexEntry>, u64) {
        if let Some(due) = self.due_at {
            return (DUE, due);
        }
        if self.parked {
            let at = self.failure.as_ref().map(|failure| failure.at);
            return (PARKED, at.unwrap_or(self.changed_at));
        }
        (POSTED, self.posted_at.unwrap_or(self.changed_at))
    }
}

/// What an index entry names, decoded.
pub(crate) enum IndexedKey {
    Status(OutboxStatusKey),
    Comment(CommentKey),
}

/// Decodes an index entry; `None`: it is none of ours.
pub(crate) fn entry_of(kind: u8, key: &[u8]) -> Option<IndexedKey> {
    if kind == OutboxEntryKind::Status as u8 {
        return OutboxStatusKey::from_bytes(key).map(IndexedKey::Status);
    }
    CommentKey::from_bytes(key).map(IndexedKey::Comment)
}
