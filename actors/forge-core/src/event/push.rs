//! `push`: commits, branches and tags that arrived or went.

use std::collections::BTreeSet;

use super::common::{Repository, login};
use super::error::EventError;
use crate::json::JsonNode;
use crate::{CommitSha, GitRef, Login, ObjectFormats};

/// GitHub sends at most this many commits of a push.
const GITHUB_COMMITS_MAX: usize = 2048;
/// GitHub reports at most this many changed files of a commit.
const GITHUB_FILES_MAX: usize = 3000;

/// A push to one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushEvent {
    /// Where.
    pub repository: Repository,
    /// The reference that moved.
    pub reference: GitRef,
    /// How it moved.
    pub change: RefChange,
    /// The commits the forge lists, oldest first; see [`PushEvent::changed_paths`] for its limits.
    pub commits: Vec<PushedCommit>,
    /// The newest commit. For an annotated tag this is the commit it points to.
    pub head_commit: Option<PushedCommit>,
    /// How many commits the push has, where the forge says so (Gitea and Forgejo).
    pub total_commits: Option<u64>,
    /// Whether history was rewritten, where the forge says so (GitHub).
    pub forced: bool,
    /// The payload says whether history was rewritten: GitHub's do, whose limits of the list are
    /// documented. Gitea's do not, and old ones list five commits without saying that there are
    /// more.
    pub tells_forced: bool,
    /// Who pushed.
    pub pusher: Option<Login>,
    /// The comparison's address for people.
    pub compare_url: Option<String>,
}

/// How a reference moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    /// It is new.
    Created {
        /// What it points to: a commit, or an annotated tag's own object.
        after: CommitSha,
    },
    /// It moved.
    Updated {
        /// What it pointed to.
        before: CommitSha,
        /// What it points to now.
        after: CommitSha,
    },
    /// It was deleted.
    Deleted {
        /// What it pointed to.
        before: CommitSha,
    },
}

/// A commit in a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedCommit {
    /// Its name.
    pub id: CommitSha,
    /// Its whole message.
    pub message: String,
    /// Paths added, removed and modified; `None` where the payload has no such lists.
    pub paths: Option<Vec<String>>,
}

/// The files a push touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPaths {
    /// Every path the payload names, once.
    pub paths: BTreeSet<String>,
    /// Whether these are all. If not, ask git: a filter must not skip work on half a list.
    pub complete: bool,
}

impl PushEvent {
    pub(super) fn read(body: &JsonNode<'_>, formats: ObjectFormats) -> Result<Self, EventError> {
        let head = body.field("head_commit");
        let forced = body.field("forced").opt_bool()?;
        Ok(Self {
            repository: Repository::read(body)?,
            reference: body.field("ref").id()?,
            change: RefChange::read(body, formats)?,
            commits: commits(body, formats)?,
            head_commit: match head.opt_object()? {
                Some(head) => Some(PushedCommit::read(head, formats)?),
                None => None,
            },
            total_commits: body.field("total_commits").opt_number("a count")?,
            forced: forced.unwrap_or(false),
            tells_forced: forced.is_some(),
            pusher: pusher(body)?,
            compare_url: compare_url(body)?,
        })
    }

    /// The commit to work on; a deletion has none.
    pub fn commit(&self) -> Option<&CommitSha> {
        match &self.change {
            RefChange::Deleted { .. } => None,
            RefChange::Created { after } | RefChange::Updated { after, .. } => {
                Some(self.head_commit.as_ref().map_or(after, |head| &head.id))
            }
        }
    }

    /// The files the listed commits touched, and whether the list can be relied on: forges cut it
    /// (GitHub after 2,048 commits and 3,000 files, Gitea after a handful of commits), and list no
    /// commits of a rewritten or new branch that are known from elsewhere.
    pub fn changed_paths(&self) -> ChangedPaths {
        let listed = self.commits.len();
        let all_listed = match self.total_commits {
            Some(total) => u64::try_from(listed).is_ok_and(|listed| listed >= total),
            None => self.tells_forced && listed < GITHUB_COMMITS_MAX,
        };
        let updated = matches!(self.change, RefChange::Updated { .. });
        let whole = |commit: &PushedCommit| {
            commit
                .paths
                .as_ref()
                .is_some_and(|paths| paths.len() < GITHUB_FILES_MAX)
        };
        ChangedPaths {
            paths: self
                .commits
                .iter()
                .flat_map(|c| c.paths.iter().flatten().cloned())
                .collect(),
            complete: listed > 0
                && updated
                && !self.forced
                && all_listed
                && self.commits.iter().all(whole),
        }
    }
}

impl RefChange {
    /// `before` of 40 zeros: created; `after` of 40 zeros: deleted.
    fn read(body: &JsonNode<'_>, formats: ObjectFormats) -> Result<Self, EventError> {
        let before = body.field("before").commit_or_zeros(formats)?;
        let after_node = body.field("after");
        match (before, after_node.commit_or_zeros(formats)?) {
            (None, Some(after)) => Ok(Self::Created { after }),
            (Some(before), Some(after)) => Ok(Self::Updated { before, after }),
            (Some(before), None) => Ok(Self::Deleted { before }),
            (None, None) => Err(EventError::Contradiction {
                path: after_node.path(),
                other: "before",
            }),
        }
    }
}

impl PushedCommit {
    fn read(node: &JsonNode<'_>, formats: ObjectFormats) -> Result<Self, EventError> {
        let lists = [
            node.field("added"),
            node.field("removed"),
            node.field("modified"),
        ];
        let mut paths = lists.iter().any(JsonNode::is_present).then(Vec::new);
        for list in &lists {
            for path in list.items()? {
                let path = path.text()?.to_owned();
                paths.get_or_insert_default().push(path);
            }
        }
        Ok(Self {
            id: node.field("id").commit(formats)?,
            message: node.field("message").opt_string()?.unwrap_or_default(),
            paths,
        })
    }
}

fn commits(body: &JsonNode<'_>, formats: ObjectFormats) -> Result<Vec<PushedCommit>, EventError> {
    let list = body.field("commits");
    list.items()?
        .map(|commit| PushedCommit::read(commit.object()?, formats))
        .collect()
}

/// Gitea's `pusher.login`, GitHub's `pusher.name`, else the sender.
fn pusher(body: &JsonNode<'_>) -> Result<Option<Login>, EventError> {
    if let Some(login) = login(body, "pusher")? {
        return Ok(Some(login));
    }
    match login(body, "sender")? {
        Some(login) => Ok(Some(login)),
        None => body.field("pusher").field("name").opt_id(),
    }
}

/// Gitea's `compare_url`, GitHub's `compare`.
fn compare_url(body: &JsonNode<'_>) -> Result<Option<String>, EventError> {
    match body.field("compare_url").opt_string()? {
        Some(url) => Ok(Some(url)),
        None => body.field("compare").opt_string(),
    }
}
