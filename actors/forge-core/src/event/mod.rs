//! Typed events from the payloads of GitHub, Gitea and Forgejo.
//!
//! Unknown fields are ignored. What the platform cannot do without is required and named when it is
//! missing; what only some consumers need is an `Option`, since a hand-made or command-line payload
//! holds no more than the interface asks for. Sources:
//! <https://docs.github.com/en/webhooks/webhook-events-and-payloads>,
//! <https://docs.gitea.com/usage/webhooks>, <https://forgejo.org/docs/latest/user/webhooks/>.

mod activity;
mod common;
mod error;
mod issue_comment;
mod kind;
mod pull_request;
mod push;
mod shape;

pub use activity::Activity;
pub use common::Repository;
pub use error::EventError;
pub use issue_comment::{BY_HAND, Comment, CommentAction, Issue, IssueCommentEvent, IssueState};
pub use kind::ForgeEventKind;
pub use pull_request::{
    HeadOrigin, PullRequest, PullRequestAction, PullRequestBase, PullRequestEvent, PullRequestHead,
};
pub use push::{ChangedPaths, PushEvent, PushedCommit, RefChange};

use crate::json::JsonNode;
use crate::{EventName, ObjectFormats, RepoName, WebhookHeaders};
use shape::BodyShape;

/// One event of a forge. The larger ones are boxed, so that messages stay small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeEvent {
    /// Commits, a branch or a tag were pushed, or a reference deleted.
    Push(Box<PushEvent>),
    /// Something happened to a pull request.
    PullRequest(Box<PullRequestEvent>),
    /// A comment on an issue or in a pull request's conversation.
    IssueComment(Box<IssueCommentEvent>),
    /// GitHub's greeting when a webhook is created.
    Ping(PingEvent),
    /// Any other event its header names.
    Other(OtherEvent),
}

/// GitHub's greeting when a webhook is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingEvent {
    /// The hook's number on the forge.
    pub hook_id: Option<u64>,
    /// The repository it belongs to; hooks of organisations have none.
    pub repository: Option<RepoName>,
}

/// An event that is known by its name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherEvent {
    /// The name its header gave.
    pub name: EventName,
    /// The repository it is about, if it names one.
    pub repository: Option<RepoName>,
    /// What it says, if it is about a repository.
    pub activity: Option<Box<Activity>>,
}

impl ForgeEvent {
    /// Reads the event in a body. `headers` choose how to read it; without an event header its
    /// shape does. This does **not** verify a signature: see [`crate::SecretBook::verify`].
    pub fn parse(
        headers: &WebhookHeaders,
        raw_body: &[u8],
        formats: ObjectFormats,
    ) -> Result<Self, EventError> {
        let declared = headers.event()?;
        let tree = crate::json::parse(raw_body)?;
        let body = JsonNode::root(&tree);
        body.object()?;
        match declared.map(ForgeEventKind::from_name) {
            Some(Err(name)) => Self::other(shape::review_name(name, &body), &body, formats),
            // No more than the interface asks for: a push of which only the place is known.
            Some(Ok(ForgeEventKind::Push)) if shape::is_bare_push(&body) => {
                let name = EventName::try_from("push").expect("a constant name");
                Self::other(name, &body, formats)
            }
            Some(Ok(kind)) => match shape::confirm(kind, &body)? {
                Some(kind) => Self::parse_known(kind, headers, &body, formats),
                None => {
                    let name = EventName::try_from(shape::REVIEW).expect("a constant name");
                    Self::other(name, &body, formats)
                }
            },
            None => match BodyShape::from_body(&body) {
                BodyShape::Known(kind) => Self::parse_known(kind, headers, &body, formats),
                BodyShape::Review | BodyShape::Unknown => Err(EventError::Unrecognised),
            },
        }
    }

    fn parse_known(
        kind: ForgeEventKind,
        headers: &WebhookHeaders,
        body: &JsonNode<'_>,
        formats: ObjectFormats,
    ) -> Result<Self, EventError> {
        Ok(match kind {
            ForgeEventKind::Push => Self::Push(Box::new(PushEvent::read(body, formats)?)),
            ForgeEventKind::PullRequest => {
                Self::PullRequest(Box::new(PullRequestEvent::read(body, formats)?))
            }
            ForgeEventKind::IssueComment => {
                Self::IssueComment(Box::new(IssueCommentEvent::read(body, headers)?))
            }
            ForgeEventKind::Ping => Self::Ping(PingEvent {
                hook_id: body.field("hook_id").opt_number("a positive integer")?,
                repository: common::repository_name(body)?,
            }),
        })
    }

    fn other(
        name: EventName,
        body: &JsonNode<'_>,
        formats: ObjectFormats,
    ) -> Result<Self, EventError> {
        let activity = Activity::read(name.as_str(), body, formats);
        Ok(Self::Other(OtherEvent {
            name,
            repository: common::repository_name(body)?,
            activity: activity.map(Box::new),
        }))
    }

    /// The repository the event is about, if it names one.
    pub fn repository(&self) -> Option<&RepoName> {
        match self {
            Self::Push(event) => Some(&event.repository.name),
            Self::PullRequest(event) => Some(&event.repository.name),
            Self::IssueComment(event) => Some(&event.repository.name),
            Self::Ping(event) => event.repository.as_ref(),
            Self::Other(event) => event.repository.as_ref(),
        }
    }

    /// The event's name as its header has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Push(_) => ForgeEventKind::Push.name(),
            Self::PullRequest(_) => ForgeEventKind::PullRequest.name(),
            Self::IssueComment(_) => ForgeEventKind::IssueComment.name(),
            Self::Ping(_) => ForgeEventKind::Ping.name(),
            Self::Other(event) => event.name.as_str(),
        }
    }
}
