//! What became of a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What became of a delivery as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookOutcome {
    /// Stored; at least one dispatch was queued.
    Accepted,
    /// Stored; every dispatch it asked for was rejected.
    Rejected,
    /// Stored; it asked for nothing.
    Ignored,
    /// Seen before; nothing was done.
    Duplicate,
}

/// The reply to `POST /webhook`: 202, or 200 for `ignored` and `duplicate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookReply {
    /// The delivery's id.
    pub delivery: String,
    /// What became of it.
    pub outcome: WebhookOutcome,
    /// Runs that were queued.
    pub dispatches: Vec<AcceptedView>,
    /// What was asked for and refused.
    pub rejected: Vec<RejectedView>,
    /// Why nothing was asked for: a word of [`crate::intake::Ignored`]; with `ignored` and
    /// `duplicate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in one sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A queued run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcceptedView {
    /// Its id, to follow it by.
    pub run: String,
    /// The project.
    pub project: String,
    /// The agent.
    pub agent: String,
}

/// A refused dispatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedView {
    /// The agent as named, with its project where one was written.
    pub agent: String,
    /// A word of [`crate::run::Reason`].
    pub reason: String,
    /// One sentence for people: what to do about it.
    pub detail: String,
}

/// The reply to a cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelReply {
    /// The run.
    pub run: String,
    /// Its state now; a running process may need up to its grace period to end.
    pub state: String,
    /// Whether this request did it; false when it had ended already.
    pub cancelled: bool,
}

/// The reply to a retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryReply {
    /// The run that was repeated.
    pub of: String,
    /// The new run.
    pub run: String,
}
