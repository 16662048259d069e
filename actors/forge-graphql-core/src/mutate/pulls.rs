//! Changes of pull requests.

use serde_json::{Value, json};

use super::items::{fields, names, numbered, reload, target};
use crate::resolve::draft_prefix;
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

const ID: &str = "pullRequestId";

pub(super) async fn create(session: &QuerySession, input: &Value) -> RestResult<Value> {
    target(session, input, "repositoryId").await?;
    let draft = input["draft"] == true;
    let title = input["title"].as_str().unwrap_or_default();
    // A draft at Gitea is one by its title.
    let title = match (draft && !session.is_github(), draft_prefix(title)) {
        (true, None) => format!("WIP: {title}"),
        _ => title.to_owned(),
    };
    let base = input["baseRefName"].as_str().unwrap_or_default();
    let base = base.trim_start_matches("refs/heads/");
    let mut body = fields(&[
        ("title", &json!(title)),
        ("body", &input["body"]),
        ("base", &json!(base)),
        ("head", &input["headRefName"]),
    ]);
    if session.is_github() {
        body["draft"] = json!(draft);
        if !input["maintainerCanModify"].is_null() {
            body["maintainer_can_modify"] = input["maintainerCanModify"].clone();
        }
    }
    let pull = session.change("POST", "/pulls", Some(body)).await?;
    Ok(json!({"pullRequest": pull}))
}

/// Merges, or lets the forge do it when it can.
pub(super) async fn merge(session: &QuerySession, input: &Value, later: bool) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    let method = input["mergeMethod"].as_str().unwrap_or("MERGE");
    let method = method.to_ascii_lowercase();
    let (verb, mut body) = if session.is_github() {
        let body = fields(&[
            ("merge_method", &json!(method)),
            ("commit_title", &input["commitHeadline"]),
            ("commit_message", &input["commitBody"]),
            ("sha", &input["expectedHeadOid"]),
        ]);
        ("PUT", body)
    } else {
        let body = fields(&[
            ("Do", &json!(method)),
            ("MergeTitleField", &input["commitHeadline"]),
            ("MergeMessageField", &input["commitBody"]),
            ("head_commit_id", &input["expectedHeadOid"]),
        ]);
        ("POST", body)
    };
    if later {
        if session.is_github() {
            return Err(RestFailure::not_answered(
                "merging later (`--auto`) at GitHub",
            ));
        }
        body["merge_when_checks_succeed"] = json!(true);
    }
    let path = format!("/pulls/{number}/merge");
    session.change(verb, &path, Some(body)).await?;
    Ok(json!({"pullRequest": reload(session, input, ID).await?}))
}

/// Takes back what [`merge`] left for later.
pub(super) async fn keep_open(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    if session.is_github() {
        return Err(RestFailure::not_answered("merging later at GitHub"));
    }
    session
        .change("DELETE", &format!("/pulls/{number}/merge"), None)
        .await?;
    Ok(json!({"pullRequest": reload(session, input, ID).await?}))
}

pub(super) async fn set_draft(
    session: &QuerySession,
    input: &Value,
    draft: bool,
) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    if session.is_github() {
        let what = "making a draft of a pull request, or a pull request of a draft, at GitHub";
        return Err(RestFailure::not_answered(what));
    }
    let path = format!("/pulls/{number}");
    let pull = session.body(&path).await?;
    let title = pull["title"].as_str().unwrap_or_default();
    let changed = match (draft, draft_prefix(title)) {
        (true, None) => Some(format!("WIP: {title}")),
        (false, Some(prefix)) => Some(title[prefix.len()..].trim_start().to_owned()),
        _ => None,
    };
    if let Some(title) = changed {
        let body = json!({"title": title});
        session.change("PATCH", &path, Some(body)).await?;
    }
    Ok(json!({"pullRequest": reload(session, input, ID).await?}))
}

pub(super) async fn update_branch(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    if session.is_github() {
        let body = fields(&[("expected_head_sha", &input["expectedHeadOid"])]);
        let path = format!("/pulls/{number}/update-branch");
        session.change("PUT", &path, Some(body)).await?;
    } else {
        let rebase = input["updateMethod"] == "REBASE";
        let style = if rebase { "rebase" } else { "merge" };
        let path = format!("/pulls/{number}/update");
        session
            .change_with("POST", &path, &[("style", style.to_owned())], None)
            .await?;
    }
    Ok(json!({"pullRequest": reload(session, input, ID).await?}))
}

/// A review; Gitea's word for an approval is another.
pub(super) async fn review(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    let event = match input["event"].as_str() {
        Some("APPROVE") if !session.is_github() => json!("APPROVED"),
        Some(event) => json!(event),
        None => Value::Null,
    };
    let body = fields(&[
        ("body", &input["body"]),
        ("event", &event),
        ("commit_id", &input["commitOID"]),
    ]);
    let path = format!("/pulls/{number}/reviews");
    let mut review = session.change("POST", &path, Some(body)).await?;
    review["pull"] = json!(number);
    Ok(json!({"pullRequestReview": review}))
}

/// Those that are not named are no longer asked, unless it says `union`.
pub(super) async fn request_reviews(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = numbered(session, input, ID).await?;
    let path = format!("/pulls/{number}/requested_reviewers");
    let users = names(session, &input["userIds"]).await?;
    let teams = names(session, &input["teamIds"]).await?;
    if input["union"] != true {
        let pull = session.body(&format!("/pulls/{number}")).await?;
        let own = pull["requested_reviewers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let own = own.iter().filter_map(|user| user["login"].as_str());
        let dropped: Vec<&str> = own
            .filter(|login| !users.iter().any(|user| user == login))
            .collect();
        if !dropped.is_empty() {
            let body = json!({"reviewers": dropped});
            session.change("DELETE", &path, Some(body)).await?;
        }
    }
    if !users.is_empty() || !teams.is_empty() {
        let body = json!({"reviewers": users, "team_reviewers": teams});
        session.change("POST", &path, Some(body)).await?;
    }
    Ok(json!({"pullRequest": reload(session, input, ID).await?}))
}
