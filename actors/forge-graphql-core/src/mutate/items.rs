//! Changes of issues, and of pull requests where REST takes both alike.

use serde_json::{Map, Value, json};

use super::labels;
use crate::ids::{NodeId, resolve_id};
use crate::resolve::{issue_or_pull, node, reaction};
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

/// The id that the input gives under this name.
pub(super) async fn target(
    session: &QuerySession,
    input: &Value,
    name: &str,
) -> RestResult<NodeId> {
    resolve_id(session, input[name].as_str().unwrap_or_default()).await
}

/// The number of an issue or a pull request.
pub(super) async fn numbered(session: &QuerySession, input: &Value, name: &str) -> RestResult<u64> {
    let id = target(session, input, name).await?;
    if !matches!(id.kind.as_str(), "Issue" | "PullRequest") {
        let message = format!("`{name}` is the id of a {}", id.kind);
        return Err(RestFailure::new(422, message));
    }
    id.number()
}

/// What this id stands for, as it is now.
pub(super) async fn reload(session: &QuerySession, input: &Value, name: &str) -> RestResult<Value> {
    node(session, &target(session, input, name).await?).await
}

/// The names that ids stand for: logins, slugs of teams.
pub(super) async fn names(session: &QuerySession, ids: &Value) -> RestResult<Vec<String>> {
    let mut names = Vec::new();
    for id in ids.as_array().into_iter().flatten() {
        let id = resolve_id(session, id.as_str().unwrap_or_default()).await?;
        names.push(id.key);
    }
    Ok(names)
}

/// A body of those that are there.
pub(super) fn fields(pairs: &[(&str, &Value)]) -> Value {
    let there = pairs.iter().filter(|(_, value)| !value.is_null());
    let fields: Map<String, Value> = there
        .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
        .collect();
    fields.into()
}

pub(super) async fn add_comment(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = numbered(session, input, "subjectId").await?;
    let body = json!({"body": input["body"]});
    let path = format!("/issues/{number}/comments");
    let comment = session.change("POST", &path, Some(body)).await?;
    Ok(json!({"commentEdge": {"node": comment}, "subjectId": input["subjectId"]}))
}

pub(super) async fn update_comment(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let id = target(session, input, "id").await?;
    let path = format!("/issues/comments/{}", id.number()?);
    let body = json!({"body": input["body"]});
    let comment = session.change("PATCH", &path, Some(body)).await?;
    Ok(json!({"issueComment": comment}))
}

pub(super) async fn delete_comment(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let id = target(session, input, "id").await?;
    let path = format!("/issues/comments/{}", id.number()?);
    session.change("DELETE", &path, None).await?;
    Ok(json!({}))
}

pub(super) async fn create_issue(session: &QuerySession, input: &Value) -> RestResult<Value> {
    target(session, input, "repositoryId").await?;
    let mut body = fields(&[("title", &input["title"]), ("body", &input["body"])]);
    add_metadata(session, input, &mut body).await?;
    let issue = session.change("POST", "/issues", Some(body)).await?;
    Ok(json!({"issue": issue}))
}

/// Assignees, milestone and labels as REST takes them with an issue.
async fn add_metadata(session: &QuerySession, input: &Value, body: &mut Value) -> RestResult<()> {
    if input["assigneeIds"].is_array() {
        body["assignees"] = json!(names(session, &input["assigneeIds"]).await?);
    }
    if input["milestoneId"].is_string() {
        let milestone = target(session, input, "milestoneId").await?;
        body["milestone"] = json!(milestone.number()?);
    }
    if input["labelIds"].is_array() {
        body["labels"] = labels::values(session, &input["labelIds"]).await?;
    }
    Ok(())
}

/// Changes an issue or a pull request.
pub(super) async fn update(
    session: &QuerySession,
    input: &Value,
    id: &str,
    payload: &str,
) -> RestResult<Value> {
    let number = numbered(session, input, id).await?;
    let state = input["state"].as_str().map(str::to_ascii_lowercase);
    let mut body = fields(&[
        ("title", &input["title"]),
        ("body", &input["body"]),
        ("state", &json!(state)),
    ]);
    add_metadata(session, input, &mut body).await?;
    // `null` takes the milestone away: GitHub by the same, Gitea by 0.
    if input.get("milestoneId").is_some_and(Value::is_null) {
        body["milestone"] = if session.is_github() {
            Value::Null
        } else {
            json!(0)
        };
    }
    // Gitea changes labels by a call of their own.
    let labels = body.as_object_mut().and_then(|body| body.remove("labels"));
    if body.as_object().is_some_and(|body| !body.is_empty()) {
        let path = format!("/issues/{number}");
        session.change("PATCH", &path, Some(body)).await?;
    }
    if let Some(labels) = labels {
        let path = format!("/issues/{number}/labels");
        session
            .change("PUT", &path, Some(json!({"labels": labels})))
            .await?;
    }
    if payload == "pullRequest" {
        let body = fields(&[
            ("base", &input["baseRefName"]),
            ("maintainer_can_modify", &input["maintainerCanModify"]),
        ]);
        if body.as_object().is_some_and(|body| !body.is_empty()) {
            let path = format!("/pulls/{number}");
            session.change("PATCH", &path, Some(body)).await?;
        }
    }
    Ok(json!({payload: reload(session, input, id).await?}))
}

pub(super) async fn set_state(
    session: &QuerySession,
    input: &Value,
    id: &str,
    state: &str,
) -> RestResult<Value> {
    let kind = target(session, input, id).await?.kind;
    let number = numbered(session, input, id).await?;
    let mut body = json!({"state": state});
    if let (true, Some(reason)) = (session.is_github(), input["stateReason"].as_str()) {
        body["state_reason"] = json!(reason.to_ascii_lowercase());
    }
    let (folder, payload) = match kind.as_str() {
        "PullRequest" => ("pulls", "pullRequest"),
        _ => ("issues", "issue"),
    };
    let path = format!("/{folder}/{number}");
    session.change("PATCH", &path, Some(body)).await?;
    Ok(json!({payload: reload(session, input, id).await?}))
}

pub(super) async fn lock(session: &QuerySession, input: &Value, lock: bool) -> RestResult<Value> {
    let number = numbered(session, input, "lockableId").await?;
    let path = format!("/issues/{number}/lock");
    let reason = input["lockReason"].as_str();
    let reason = reason.map(|reason| reason.to_ascii_lowercase().replace('_', " "));
    let body = fields(&[("lock_reason", &json!(reason))]);
    let (method, payload) = if lock {
        ("PUT", "lockedRecord")
    } else {
        ("DELETE", "unlockedRecord")
    };
    session.change(method, &path, lock.then_some(body)).await?;
    Ok(json!({payload: issue_or_pull(session, number).await?}))
}

/// Gitea takes assignees with the issue only, all of them.
pub(super) async fn assign(session: &QuerySession, input: &Value, add: bool) -> RestResult<Value> {
    let number = numbered(session, input, "assignableId").await?;
    let names = names(session, &input["assigneeIds"]).await?;
    if session.is_github() {
        let path = format!("/issues/{number}/assignees");
        let method = if add { "POST" } else { "DELETE" };
        let body = json!({"assignees": names});
        session.change(method, &path, Some(body)).await?;
    } else {
        let path = format!("/issues/{number}");
        let issue = session.body(&path).await?;
        let own = issue["assignees"].as_array().into_iter().flatten();
        let own = own.filter_map(|user| user["login"].as_str());
        let mut all: Vec<String> = own.map(str::to_owned).collect();
        all.retain(|login| !names.contains(login));
        if add {
            all.extend(names);
        }
        session
            .change("PATCH", &path, Some(json!({"assignees": all})))
            .await?;
    }
    Ok(json!({"assignable": issue_or_pull(session, number).await?}))
}

pub(super) async fn add_reaction(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let id = target(session, input, "subjectId").await?;
    let number = id.number()?;
    let path = match id.kind.as_str() {
        "IssueComment" => format!("/issues/comments/{number}/reactions"),
        "Issue" | "PullRequest" => format!("/issues/{number}/reactions"),
        kind => {
            return Err(RestFailure::not_answered(&format!(
                "a reaction to a {kind}"
            )));
        }
    };
    let content = input["content"].as_str().unwrap_or_default();
    let body = json!({"content": reaction(content)});
    session.change("POST", &path, Some(body)).await?;
    Ok(json!({"reaction": {"content": content}}))
}
