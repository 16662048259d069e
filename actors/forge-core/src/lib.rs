//! Forge facts without I/O: signatures, typed events, ids, the mention grammar, commit statuses.
//!
//! ```text
//! raw request ──WebhookHeaders──▶ SecretBook::verify ──VerifiedBody──▶ delivery() ──▶ Delivery { id, event }
//!                                      │ 403                               │ 403 other repository, 400 the rest
//! comment body ──mention::scan──▶ Mention { project, agent, rest of the line }
//! agent output ──Marker::attach──▶ text to post (no mention in it, run id and depth hidden in it)
//! run result   ──CommitStatus──▶ JSON body for GitHub, Gitea or Forgejo
//! ```
//!
//! Nothing here reads a clock, a file, the network or the environment, and no input panics: what
//! the outside world sends becomes a typed value or a typed error.

mod delivery;
mod event;
mod forge;
mod form;
mod headers;
mod id;
mod id_token_key;
mod json;
mod marker;
pub mod mention;
pub mod retention;
mod signature;
mod skip;
mod status;
pub mod text;

pub use delivery::{BodyDigest, Delivery, DeliveryError, ParseOptions};
pub use event::{
    Activity, BY_HAND, ChangedPaths, Comment, CommentAction, EventError, ForgeEvent,
    ForgeEventKind, HeadOrigin, Issue, IssueCommentEvent, IssueState, OtherEvent, PingEvent,
    PullRequest, PullRequestAction, PullRequestBase, PullRequestEvent, PullRequestHead, PushEvent,
    PushedCommit, RefChange, Repository,
};
pub use forge::Forge;
pub use headers::{HeaderError, WebhookHeaders};
pub use id::{
    AgentName, BranchName, CommentId, CommitSha, DeliveryId, EventName, ForgeIdError, GitRef,
    IssueNumber, Login, ObjectFormats, ProjectId, PullRequestNumber, RefName, RepoName, RunId,
    StatusContext, TagName,
};
pub use id_token_key::{IdTokenKey, IdTokenKeyError};
pub use json::JsonError;
pub use marker::Marker;
pub use signature::{
    EmptySecret, SecretAge, SecretBook, Signature, SignatureError, SignatureHeader, VerifiedBody,
    VerifiedBy, WebhookSecrets, sign,
};
pub use skip::skip_mark;
pub use status::{CommitState, CommitStatus, StatusBody};
