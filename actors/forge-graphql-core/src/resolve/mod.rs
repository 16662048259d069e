//! Fields that are more than a place in a REST answer.

mod commits;
mod items;
mod pulls;
mod repository;
mod reviews;
mod root;
mod search;
mod states;

use serde_json::{Value, json};

use crate::ask::FieldRequest;
use crate::ids::plain;
use crate::lists::nothing;
use crate::session::RestResult;

pub(crate) use commits::reference;
pub(crate) use items::{issue_or_pull, label, label_name};
pub(crate) use root::node;
pub(crate) use states::{draft_prefix, reaction};

/// What a field says; `None`: nothing answers it.
pub(crate) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    if let Some(value) = everywhere(ask) {
        return Some(Ok(value));
    }
    match ask.kind {
        "Query" => root::resolve(ask).await,
        "Repository" => repository::resolve(ask).await,
        "Ref" | "Commit" | "Tree" | "Tag" | "Blob" | "Status" | "StatusCheckRollup"
        | "StatusContext" | "CheckRun" => commits::resolve(ask).await,
        "PullRequest" => match pulls::resolve(ask).await {
            None => items::resolve(ask).await,
            found => found,
        },
        "PullRequestReview" => reviews::of_review(ask).await,
        _ => items::resolve(ask).await,
    }
}

/// Boards, which REST has none of, and ids that are no more than a number or a name.
fn everywhere(ask: &FieldRequest<'_>) -> Option<Value> {
    let key = |name: &str| plain(&ask.of[name]);
    Some(match (ask.kind, ask.field) {
        (
            _,
            "projects"
            | "projectsV2"
            | "projectCards"
            | "projectItems"
            | "branchProtectionRules"
            | "organizations"
            | "teams",
        ) => nothing(),
        ("Issue" | "PullRequest", "id") => ask.id(key("number")),
        ("IssueComment" | "Release", "id") => ask.id(key("id")),
        ("PullRequestReview", "id") => ask.id(format!("{}/{}", key("pull"), key("id"))),
        ("PullRequestCommit" | "Commit" | "Tree" | "Tag" | "Blob", "id") => ask.id(key("sha")),
        ("Label", "id") => ask.id(format!("{}/{}", key("id"), key("name"))),
        ("Milestone", "id") => match &ask.of["number"] {
            Value::Null => ask.id(key("id")),
            number => ask.id(plain(number)),
        },
        ("User" | "Bot" | "Organization", "id") => match &ask.of["login"] {
            Value::Null => ask.id(key("username")),
            login => ask.id(plain(login)),
        },
        ("Team", "id") => match &ask.of["slug"] {
            Value::Null => ask.id(key("name")),
            slug => ask.id(plain(slug)),
        },
        ("Repository", "id") => {
            let name = key("full_name");
            json!(crate::ids::NodeId::new("Repository", &name, "").text())
        }
        _ => return None,
    })
}
