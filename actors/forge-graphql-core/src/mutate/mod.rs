//! Changes: each is one or a few REST calls, and reads anew what it gives back.

mod commit;
mod items;
mod labels;
mod pulls;
mod refs;

use serde_json::Value;

use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

/// Carries a mutation out; gives what its payload says.
pub(crate) async fn mutate(session: &QuerySession, name: &str, input: &Value) -> RestResult<Value> {
    let done = match name {
        "addComment" => items::add_comment(session, input).await,
        "updateIssueComment" => items::update_comment(session, input).await,
        "deleteIssueComment" => items::delete_comment(session, input).await,
        "createIssue" => items::create_issue(session, input).await,
        "updateIssue" => items::update(session, input, "id", "issue").await,
        "closeIssue" => items::set_state(session, input, "issueId", "closed").await,
        "reopenIssue" => items::set_state(session, input, "issueId", "open").await,
        "lockLockable" => items::lock(session, input, true).await,
        "unlockLockable" => items::lock(session, input, false).await,
        "addReaction" => items::add_reaction(session, input).await,
        "createPullRequest" => pulls::create(session, input).await,
        "updatePullRequest" => items::update(session, input, "pullRequestId", "pullRequest").await,
        "closePullRequest" => items::set_state(session, input, "pullRequestId", "closed").await,
        "reopenPullRequest" => items::set_state(session, input, "pullRequestId", "open").await,
        "mergePullRequest" => pulls::merge(session, input, false).await,
        "enablePullRequestAutoMerge" => pulls::merge(session, input, true).await,
        "disablePullRequestAutoMerge" => pulls::keep_open(session, input).await,
        "markPullRequestReadyForReview" => pulls::set_draft(session, input, false).await,
        "convertPullRequestToDraft" => pulls::set_draft(session, input, true).await,
        "updatePullRequestBranch" => pulls::update_branch(session, input).await,
        "addPullRequestReview" => pulls::review(session, input).await,
        "requestReviews" => pulls::request_reviews(session, input).await,
        "addLabelsToLabelable" => labels::add(session, input).await,
        "removeLabelsFromLabelable" => labels::remove(session, input).await,
        "createLabel" => labels::create(session, input).await,
        "addAssigneesToAssignable" => items::assign(session, input, true).await,
        "removeAssigneesFromAssignable" => items::assign(session, input, false).await,
        "createRef" => refs::create(session, input).await,
        "updateRef" => refs::update(session, input).await,
        "deleteRef" => refs::delete(session, input).await,
        "createCommitOnBranch" => commit::create(session, input).await,
        name => Err(RestFailure::not_answered(&format!("the mutation {name}"))),
    };
    let mut payload = done?;
    payload["clientMutationId"] = input["clientMutationId"].clone();
    Ok(payload)
}
