//! What the events say that are acted on by their name alone: issues, releases, reviews, branches.

use super::common::{Repository, login};
use super::pull_request::PullRequest;
use crate::json::JsonNode;
use crate::{CommitSha, Login, ObjectFormats, PullRequestNumber};

/// What an event of any other name says. It is read as far as it goes: an event that does not say
/// where it happened has none, and is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// What happened, in GitHub's words: `opened`, `published`.
    pub action: Option<String>,
    /// Where.
    pub repository: Repository,
    /// Who caused it.
    pub sender: Option<Login>,
    /// The full reference that was created or deleted, of a release's tag, or of a merge group.
    pub reference: Option<String>,
    /// The commit, where the event names one.
    pub sha: Option<CommitSha>,
    /// The branch a merge group goes into.
    pub base_branch: Option<String>,
    /// The pull request that a review is of.
    pub pull_request: Option<(PullRequestNumber, PullRequest)>,
}

impl Activity {
    pub(super) fn read(name: &str, body: &JsonNode<'_>, formats: ObjectFormats) -> Option<Self> {
        let text = |node: JsonNode<'_>| node.opt_string().ok().flatten();
        let action = text(body.field("action"));
        let action = action.map(|action| githubs_word(name, action));
        let mut activity = Self {
            action,
            repository: Repository::read(body).ok()?,
            sender: login(body, "sender").ok().flatten(),
            reference: None,
            sha: None,
            base_branch: None,
            pull_request: None,
        };
        match name {
            "create" | "delete" => {
                let kind = text(body.field("ref_type")).unwrap_or_default();
                activity.reference = text(body.field("ref")).map(|name| full(&name, &kind));
            }
            "release" => {
                let tag = text(body.field("release").field("tag_name"));
                activity.reference = tag.map(|tag| full(&tag, "tag"));
            }
            "merge_group" => {
                let group = body.field("merge_group");
                activity.reference = text(group.field("head_ref"));
                activity.sha = group.field("head_sha").opt_commit(formats).ok().flatten();
                let base = text(group.field("base_ref"));
                activity.base_branch =
                    base.map(|base| base.trim_start_matches("refs/heads/").to_owned());
            }
            _ => {}
        }
        if name.starts_with("pull_request_review") {
            let pull = body.field("pull_request");
            let number = pull.field("number").number(PullRequestNumber::EXPECTED);
            let read = pull
                .object()
                .ok()
                .and_then(|pull| PullRequest::read(pull, formats).ok());
            activity.pull_request = number.ok().zip(read);
        }
        Some(activity)
    }
}

/// Gitea and Forgejo have words of their own for some actions.
fn githubs_word(event: &str, action: String) -> String {
    let word = match action.as_str() {
        "created" if ["package", "registry_package"].contains(&event) => "published",
        "label_updated" => "labeled",
        "label_cleared" => "unlabeled",
        "reviewed" => "submitted",
        "updated" => "edited",
        _ => return action,
    };
    word.to_owned()
}

fn full(name: &str, kind: &str) -> String {
    match kind {
        _ if name.starts_with("refs/") => name.to_owned(),
        "tag" => format!("refs/tags/{name}"),
        _ => format!("refs/heads/{name}"),
    }
}
