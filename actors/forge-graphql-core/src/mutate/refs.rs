//! Branches and tags. GitHub has one call for both; Gitea deletes branches as branches, and makes
//! them of others.

use serde_json::{Value, json};

use super::items::{reload, target};
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult, escaped, escaped_path};

pub(super) async fn create(session: &QuerySession, input: &Value) -> RestResult<Value> {
    target(session, input, "repositoryId").await?;
    let name = input["name"].as_str().unwrap_or_default();
    if session.is_github() {
        let body = json!({"ref": name, "sha": input["oid"]});
        let reference = session.change("POST", "/git/refs", Some(body)).await?;
        return Ok(json!({"ref": reference}));
    }
    let (path, body) = match (
        name.strip_prefix("refs/heads/"),
        name.strip_prefix("refs/tags/"),
    ) {
        (Some(branch), _) => (
            "/branches",
            json!({"new_branch_name": branch, "old_ref_name": input["oid"]}),
        ),
        (_, Some(tag)) => ("/tags", json!({"tag_name": tag, "target": input["oid"]})),
        _ => {
            return Err(RestFailure::not_answered(&format!(
                "a new reference `{name}`"
            )));
        }
    };
    session.change("POST", path, Some(body)).await?;
    Ok(json!({"ref": {"ref": name, "object": {"sha": input["oid"], "type": "commit"}}}))
}

pub(super) async fn update(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let name = target(session, input, "refId").await?.key;
    if !session.is_github() {
        return Err(RestFailure::not_answered("moving a branch of this forge"));
    }
    let path = format!("/git/{}", escaped_path(&name));
    let body = json!({"sha": input["oid"], "force": input["force"] == true});
    session.change("PATCH", &path, Some(body)).await?;
    Ok(json!({"ref": reload(session, input, "refId").await?}))
}

pub(super) async fn delete(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let name = target(session, input, "refId").await?.key;
    let path = match (
        name.strip_prefix("refs/heads/"),
        name.strip_prefix("refs/tags/"),
    ) {
        _ if session.is_github() => format!("/git/{}", escaped_path(&name)),
        (Some(branch), _) => format!("/branches/{}", escaped(branch)),
        (_, Some(tag)) => format!("/tags/{}", escaped(tag)),
        _ => return Err(RestFailure::not_answered(&format!("deleting `{name}`"))),
    };
    session.change("DELETE", &path, None).await?;
    Ok(json!({}))
}
