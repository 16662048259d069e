//! A commit of files that the document holds. GitHub makes it of a tree, Gitea in one call.

use serde_json::{Value, json};

use super::items::target;
use crate::ids::plain;
use crate::resolve::reference;
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult, escaped_path};

pub(super) async fn create(session: &QuerySession, input: &Value) -> RestResult<Value> {
    let name = branch(session, input).await?;
    let full = format!("refs/heads/{name}");
    let head = reference(session, &full).await?;
    let head = plain(&head["object"]["sha"]);
    let expected = plain(&input["expectedHeadOid"]);
    if head != expected {
        return Err(RestFailure::new(
            409,
            format!(
                "Expected branch to point to \"{expected}\" but it did not. Pull and try again."
            ),
        ));
    }
    let message = &input["message"];
    let text = match message["body"].as_str() {
        Some(body) if !body.is_empty() => format!("{}\n\n{body}", plain(&message["headline"])),
        _ => plain(&message["headline"]),
    };
    let changes = &input["fileChanges"];
    let sha = if session.is_github() {
        of_tree(session, &full, &head, &text, changes).await?
    } else {
        in_one(session, &name, &text, changes).await?
    };
    Ok(json!({
        "commit": {"sha": sha},
        "ref": {"ref": full, "object": {"sha": sha, "type": "commit"}},
    }))
}

async fn branch(session: &QuerySession, input: &Value) -> RestResult<String> {
    let branch = &input["branch"];
    let name = if branch["id"].is_string() {
        target(session, branch, "id").await?.key
    } else {
        session.check_repository(&plain(&branch["repositoryNameWithOwner"]))?;
        plain(&branch["branchName"])
    };
    Ok(name.trim_start_matches("refs/heads/").to_owned())
}

fn list(changes: &Value, name: &str) -> Vec<Value> {
    changes[name].as_array().cloned().unwrap_or_default()
}

async fn of_tree(
    session: &QuerySession,
    full: &str,
    head: &str,
    message: &str,
    changes: &Value,
) -> RestResult<String> {
    let mut tree = Vec::new();
    for file in list(changes, "additions") {
        let body = json!({"content": file["contents"], "encoding": "base64"});
        let blob = session.change("POST", "/git/blobs", Some(body)).await?;
        tree.push(json!({
            "path": file["path"], "mode": "100644", "type": "blob", "sha": blob["sha"],
        }));
    }
    for file in list(changes, "deletions") {
        tree.push(json!({
            "path": file["path"], "mode": "100644", "type": "blob", "sha": null,
        }));
    }
    let body = json!({"base_tree": head, "tree": tree});
    let tree = session.change("POST", "/git/trees", Some(body)).await?;
    let body = json!({"message": message, "tree": tree["sha"], "parents": [head]});
    let commit = session.change("POST", "/git/commits", Some(body)).await?;
    let body = json!({"sha": commit["sha"], "force": false});
    session
        .change("PATCH", &format!("/git/{}", escaped_path(full)), Some(body))
        .await?;
    Ok(plain(&commit["sha"]))
}

async fn in_one(
    session: &QuerySession,
    branch: &str,
    message: &str,
    changes: &Value,
) -> RestResult<String> {
    let mut files = Vec::new();
    for (name, operation) in [("additions", "create"), ("deletions", "delete")] {
        for file in list(changes, name) {
            let path = plain(&file["path"]);
            let asked = format!("/contents/{}", escaped_path(&path));
            let own = session.read(&asked, &[("ref", branch.to_owned())]).await;
            let sha = match own {
                Ok(own) => own.body["sha"].clone(),
                Err(failure) if failure.status == 404 => Value::Null,
                Err(failure) => return Err(failure),
            };
            let operation = match sha {
                Value::String(_) if operation == "create" => "update",
                _ => operation,
            };
            files.push(json!({
                "operation": operation, "path": path, "content": file["contents"], "sha": sha,
            }));
        }
    }
    let body = json!({"branch": branch, "message": message, "files": files});
    let made = session.change("POST", "/contents", Some(body)).await?;
    Ok(plain(&made["commit"]["sha"]))
}
