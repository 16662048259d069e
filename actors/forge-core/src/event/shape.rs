//! Which event a body is, by the fields it has.

use super::error::EventError;
use super::kind::ForgeEventKind;
use crate::EventName;
use crate::json::JsonNode;

/// The event that a review of a pull request is.
pub(super) const REVIEW: &str = "pull_request_review";

/// The name of an event, where it is a review that Gitea and Forgejo call by what it came to.
pub(super) fn review_name(name: EventName, body: &JsonNode<'_>) -> EventName {
    const OUTCOMES: [&str; 3] = [
        "pull_request_approved",
        "pull_request_rejected",
        "pull_request_comment",
    ];
    let is_review = BodyShape::from_body(body) == BodyShape::Review || is_gitea_review(body);
    match OUTCOMES.contains(&name.as_str()) && is_review {
        true => EventName::try_from(REVIEW).expect("a constant name"),
        false => name,
    }
}

/// What a body looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyShape {
    Known(ForgeEventKind),
    /// A pull request's review or review comment.
    Review,
    Unknown,
}

impl BodyShape {
    /// A comment's payload may also hold its pull request (Gitea since 1.23), so it is looked for
    /// first; a review's holds `pull_request` beside `review` or a `comment` without an `issue`.
    pub(super) fn from_body(body: &JsonNode<'_>) -> Self {
        let has = |name| body.field(name).is_present();
        if has("comment") && has("issue") {
            Self::Known(ForgeEventKind::IssueComment)
        } else if has("pull_request") && (has("comment") || has("review")) {
            Self::Review
        } else if has("pull_request") {
            Self::Known(ForgeEventKind::PullRequest)
        } else if has("ref") && (has("after") || has("before")) {
            Self::Known(ForgeEventKind::Push)
        } else if has("zen") || body.field("hook").is_object() {
            Self::Known(ForgeEventKind::Ping)
        } else {
            Self::Unknown
        }
    }
}

/// The declared kind, unless the body is recognisably another. A body that looks like nothing goes
/// on to be read, so that the error names the missing field. `None`: a review of a pull request as
/// old versions of Gitea send it, under the name of a pull request's or a comment's event; nothing
/// acts on one.
pub(super) fn confirm(
    declared: ForgeEventKind,
    body: &JsonNode<'_>,
) -> Result<Option<ForgeEventKind>, EventError> {
    match BodyShape::from_body(body) {
        BodyShape::Known(kind) if kind != declared => Err(EventError::Mismatch {
            declared,
            body: kind.name(),
        }),
        BodyShape::Review if is_gitea_review(body) && declared != ForgeEventKind::Push => Ok(None),
        BodyShape::Review => Err(EventError::Mismatch {
            declared,
            body: "a pull request review",
        }),
        BodyShape::Known(_) | BodyShape::Unknown => Ok(Some(declared)),
    }
}

/// Whether a push says nothing but where: which reference moved, and how, is not in it.
pub(super) fn is_bare_push(body: &JsonNode<'_>) -> bool {
    let has = |name| body.field(name).is_present();
    BodyShape::from_body(body) == BodyShape::Unknown
        && has("repository")
        && !["ref", "before", "after", "commits", "head_commit"]
            .into_iter()
            .any(has)
}

/// Gitea's word for what was done; GitHub's are `submitted`, `edited` and `dismissed`, under an
/// event name of their own.
fn is_gitea_review(body: &JsonNode<'_>) -> bool {
    matches!(body.field("action").opt_text(), Ok(Some("reviewed")))
}
