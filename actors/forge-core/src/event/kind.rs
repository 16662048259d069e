//! The events that are acted on.

use crate::EventName;

/// The events that are acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForgeEventKind {
    /// `push`
    Push,
    /// `pull_request`
    PullRequest,
    /// `issue_comment`
    IssueComment,
    /// `ping`
    Ping,
}

impl ForgeEventKind {
    /// The name in the event header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::PullRequest => "pull_request",
            Self::IssueComment => "issue_comment",
            Self::Ping => "ping",
        }
    }

    /// The kind of that name; other names are given back.
    pub(super) fn from_name(name: EventName) -> Result<Self, EventName> {
        let all = [
            Self::Push,
            Self::PullRequest,
            Self::IssueComment,
            Self::Ping,
        ];
        all.into_iter()
            .find(|kind| kind.name() == name.as_str())
            .ok_or(name)
    }
}

impl std::fmt::Display for ForgeEventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
