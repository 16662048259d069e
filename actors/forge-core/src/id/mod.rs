//! Ids that cannot be wrong: a value of one of these types has been checked once, where it came in.

mod agent;
mod checks;
mod git;
mod macros;
mod number;
mod repo;

pub(crate) use agent::{AGENT_NAME_MAX, PROJECT_ID_MAX, is_agent_byte, is_project_byte};
pub use agent::{AgentName, DeliveryId, EventName, Login, ProjectId, RunId, StatusContext};
pub(crate) use checks::is_lower_hex;
pub use git::{BranchName, CommitSha, GitRef, ObjectFormats, RefName, TagName};
pub use number::{CommentId, IssueNumber, PullRequestNumber};
pub use repo::RepoName;

use crate::text::shorten;

/// Longest part of a refused text that an error repeats, in bytes.
const SHOWN: usize = 60;

/// A text or number that is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {shown:?} is not valid: {reason}")]
pub struct ForgeIdError {
    kind: &'static str,
    shown: String,
    reason: &'static str,
}

impl ForgeIdError {
    pub(crate) fn new(kind: &'static str, text: &str, reason: &'static str) -> Self {
        Self {
            kind,
            shown: shorten(text, SHOWN).into_owned(),
            reason,
        }
    }

    /// What the text should have been, e.g. `commit`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The rule that was broken.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}
