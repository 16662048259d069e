//! Where a query begins.

use serde_json::{Value, json};

use super::search::search;
use super::{commits, items, reviews};
use crate::ask::FieldRequest;
use crate::ids::{NodeId, resolve_id};
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

pub(super) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    Some(match ask.field {
        "repository" => repository(ask).await,
        "node" => found(ask.session, ask.text("id")).await,
        "nodes" => nodes(ask).await,
        "viewer" => viewer(ask.session).await,
        "user" => Ok(json!({"login": ask.text("login")})),
        "organization" => organization(ask).await,
        "search" => search(ask).await,
        "rateLimit" => Ok(json!({"limit": 1000, "remaining": 1000, "used": 0})),
        _ => return None,
    })
}

async fn repository(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let name = format!("{}/{}", ask.text("owner"), ask.text("name"));
    ask.session.check_repository(&name)?;
    ask.session.body("").await
}

async fn viewer(session: &QuerySession) -> RestResult<Value> {
    let viewer = session.viewer().await?;
    Ok(json!({"login": viewer.login, "id": viewer.id}))
}

/// The repository's owner, where it is one; others are out of reach.
async fn organization(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let login = ask.text("login");
    let owner = ask.session.body("").await?["owner"].clone();
    let same = owner["login"]
        .as_str()
        .is_some_and(|own| own.eq_ignore_ascii_case(login));
    if same && owner["type"] == "Organization" {
        return Ok(owner);
    }
    Err(RestFailure::not_found(format!(
        "Could not resolve to an Organization with the login of '{login}'."
    )))
}

async fn nodes(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let mut nodes = Vec::new();
    for id in ask.args["ids"].as_array().unwrap_or(&Vec::new()) {
        nodes.push(found(ask.session, id.as_str().unwrap_or_default()).await?);
    }
    Ok(nodes.into())
}

async fn found(session: &QuerySession, text: &str) -> RestResult<Value> {
    node(session, &resolve_id(session, text).await?).await
}

/// What an id stands for, with its type.
pub(crate) async fn node(session: &QuerySession, id: &NodeId) -> RestResult<Value> {
    let mut found = match id.kind.as_str() {
        "Repository" => session.body("").await?,
        "PullRequest" => session.body(&format!("/pulls/{}", id.number()?)).await?,
        "Issue" => return items::issue_or_pull(session, id.number()?).await,
        "IssueComment" => {
            session
                .body(&format!("/issues/comments/{}", id.number()?))
                .await?
        }
        "PullRequestReview" => reviews::review(session, &id.key).await?,
        "Release" => session.body(&format!("/releases/{}", id.number()?)).await?,
        "Milestone" => {
            session
                .body(&format!("/milestones/{}", id.number()?))
                .await?
        }
        "Label" => items::label(session, items::label_name(&id.key)).await?,
        "Commit" | "PullRequestCommit" => json!({"sha": id.key}),
        "Ref" => commits::reference(session, &id.key).await?,
        "User" | "Bot" | "Organization" => json!({"login": id.key}),
        "Team" => json!({"slug": id.key}),
        kind => {
            return Err(RestFailure::not_answered(&format!(
                "a node of the type {kind}"
            )));
        }
    };
    if found.is_object() {
        found["__typename"] = json!(id.kind);
    }
    Ok(found)
}
