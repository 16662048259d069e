//! Words of REST as GraphQL's.

use serde_json::{Value, json};

use crate::lists::{PageSlice, of_items};

/// A pull request was merged.
pub(crate) fn is_merged(pull: &Value) -> bool {
    pull["merged"] == true || pull["merged_at"].is_string()
}

pub(crate) fn pull_state(pull: &Value) -> &'static str {
    match pull["state"].as_str() {
        _ if is_merged(pull) => "MERGED",
        Some("closed") => "CLOSED",
        _ => "OPEN",
    }
}

/// It is a draft, by its field, or by its title as Gitea has it.
pub(crate) fn is_draft(pull: &Value) -> bool {
    match pull["draft"].as_bool() {
        Some(draft) => draft,
        None => draft_prefix(pull["title"].as_str().unwrap_or_default()).is_some(),
    }
}

/// What makes a title a draft's at Gitea and Forgejo.
pub(crate) fn draft_prefix(title: &str) -> Option<&'static str> {
    let known = ["WIP:", "[WIP]"];
    let upper = title.to_ascii_uppercase();
    known.into_iter().find(|prefix| upper.starts_with(prefix))
}

/// The state of a review, as Gitea and GitHub write it; `None`: it is no review but a request.
pub(crate) fn review_state(review: &Value) -> Option<&'static str> {
    if review["dismissed"] == true {
        return Some("DISMISSED");
    }
    Some(match review["state"].as_str().unwrap_or_default() {
        "APPROVED" => "APPROVED",
        "CHANGES_REQUESTED" | "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        "DISMISSED" => "DISMISSED",
        "PENDING" => "PENDING",
        "REQUEST_REVIEW" => return None,
        _ => "COMMENTED",
    })
}

/// The state of a status: Gitea has `warning`, and calls the field otherwise in lists.
pub(crate) fn status_state(status: &Value) -> &'static str {
    let word = status["state"].as_str().or(status["status"].as_str());
    match word.unwrap_or_default() {
        "success" | "warning" => "SUCCESS",
        "failure" => "FAILURE",
        "error" => "ERROR",
        _ => "PENDING",
    }
}

const REACTIONS: [(&str, &str); 8] = [
    ("+1", "THUMBS_UP"),
    ("-1", "THUMBS_DOWN"),
    ("laugh", "LAUGH"),
    ("hooray", "HOORAY"),
    ("confused", "CONFUSED"),
    ("heart", "HEART"),
    ("rocket", "ROCKET"),
    ("eyes", "EYES"),
];

/// Reactions as GitHub counts them; where REST has no counts, none.
pub(crate) fn reaction_groups(of: &Value) -> Value {
    let groups = REACTIONS.iter().filter_map(|(name, content)| {
        let total = of["reactions"][*name].as_u64()?;
        Some(json!({"content": content, "users": {"totalCount": total, "nodes": []}}))
    });
    groups.collect()
}

/// REST's word of a reaction.
pub(crate) fn reaction(content: &str) -> &'static str {
    let found = REACTIONS.iter().find(|(_, word)| *word == content);
    found.map_or("+1", |(name, _)| name)
}

/// An array that is in the answer, as a connection.
pub(crate) fn inner(value: &Value, part: &PageSlice) -> Value {
    of_items(value.as_array().cloned().unwrap_or_default(), part)
}
