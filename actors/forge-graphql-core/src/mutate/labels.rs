//! Labels: GitHub takes their names, Gitea their numbers.

use serde_json::{Value, json};

use crate::ids::resolve_id;
use crate::resolve::{issue_or_pull, label, label_name};
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult, escaped};

/// The labels that ids stand for, as a forge takes them.
pub(super) async fn values(session: &QuerySession, ids: &Value) -> RestResult<Value> {
    let mut values = Vec::new();
    for id in ids.as_array().into_iter().flatten() {
        let id = resolve_id(session, id.as_str().unwrap_or_default()).await?;
        values.push(value(session, &id.key).await?);
    }
    Ok(values.into())
}

async fn value(session: &QuerySession, key: &str) -> RestResult<Value> {
    let name = label_name(key);
    if session.is_github() {
        return Ok(json!(name));
    }
    match key
        .split_once('/')
        .and_then(|(id, _)| id.parse::<u64>().ok())
    {
        Some(id) => Ok(json!(id)),
        None => match label(session, name).await? {
            Value::Null => Err(RestFailure::not_found(format!(
                "there is no label '{name}'"
            ))),
            label => Ok(label["id"].clone()),
        },
    }
}

async fn number(session: &QuerySession, input: &Value) -> RestResult<u64> {
    let id = input["labelableId"].as_str().unwrap_or_default();
    let id = resolve_id(session, id).await?;
    if !matches!(id.kind.as_str(), "Issue" | "PullRequest") {
        let message = format!("a {} has no labels", id.kind);
        return Err(RestFailure::new(422, message));
    }
    id.number()
}

pub(super) async fn add(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = number(session, input).await?;
    let labels = values(session, &input["labelIds"]).await?;
    let path = format!("/issues/{number}/labels");
    session
        .change("POST", &path, Some(json!({"labels": labels})))
        .await?;
    Ok(json!({"labelable": issue_or_pull(session, number).await?}))
}

pub(super) async fn remove(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let number = number(session, input).await?;
    let labels = values(session, &input["labelIds"]).await?;
    for label in labels.as_array().into_iter().flatten() {
        let one = escaped(&crate::ids::plain(label));
        let path = format!("/issues/{number}/labels/{one}");
        session.change("DELETE", &path, None).await?;
    }
    Ok(json!({"labelable": issue_or_pull(session, number).await?}))
}

pub(super) async fn create(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let color = input["color"].as_str().unwrap_or_default();
    let color = color.trim_start_matches('#');
    let color = if session.is_github() {
        color.to_owned()
    } else {
        format!("#{color}")
    };
    let body = json!({
        "name": input["name"], "color": color, "description": input["description"],
    });
    let label = session.change("POST", "/labels", Some(body)).await?;
    Ok(json!({"label": label}))
}
