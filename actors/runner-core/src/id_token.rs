//! What an identity token says of its job: the claims that GitHub documents, as far as they are
//! known here.
//!
//! Source: <https://docs.github.com/en/actions/reference/security/oidc>, "OIDC token claims".

use serde_json::{Map, Value, json};

use crate::context::RunFacts;
use crate::event::{EventContext, RunCommit};
use crate::plan::WorkflowPlace;

/// The claims of a job of `workflow` (where it is called, of the called one) and of `environment`,
/// where it names one, but for issuer, audience and times.
#[must_use]
pub fn id_token_claims(
    event: &EventContext,
    facts: &RunFacts,
    workflow: &WorkflowPlace,
    environment: Option<&str>,
) -> Map<String, Value> {
    let (owner, _) = event
        .repository
        .split_once('/')
        .unwrap_or((&event.repository, ""));
    let of_file = |file: &str| format!("{}/{file}@{}", event.repository, event.reference);
    // Reviews of a pull request and their comments are events of it, and run its head.
    let is_pull = event.kind.commit() == RunCommit::PullHead;
    let subject = if let Some(environment) = environment {
        // A colon would begin the next part.
        let environment = environment.replace(':', "%3A");
        format!("repo:{}:environment:{environment}", event.repository)
    } else if is_pull {
        format!("repo:{}:pull_request", event.repository)
    } else {
        format!("repo:{}:ref:{}", event.repository, event.reference)
    };
    let ref_type = if event.reference.starts_with("refs/tags/") {
        "tag"
    } else {
        "branch"
    };
    let head = event.head_branch.as_deref().filter(|_| is_pull);
    let claims = json!({
        "sub": subject,
        "actor": event.actor,
        "base_ref": event.base_branch.as_deref().filter(|_| is_pull).unwrap_or_default(),
        "event_name": event.kind.as_str(),
        "head_ref": head.unwrap_or_default(),
        "job_workflow_ref": workflow.full_reference(),
        "job_workflow_sha": workflow.commit,
        "ref": event.reference,
        "ref_type": ref_type,
        "repository": event.repository,
        "repository_owner": owner,
        "run_attempt": facts.run_attempt.to_string(),
        "run_id": facts.run_id,
        "run_number": facts.run_number.to_string(),
        "runner_environment": "self-hosted",
        "sha": event.sha,
        "workflow": facts.workflow,
        "workflow_ref": of_file(&facts.workflow_file),
        "workflow_sha": event.sha,
    });
    let Value::Object(mut claims) = claims else {
        return Map::new();
    };
    if let Some(environment) = environment {
        claims.insert("environment".to_owned(), environment.into());
    }
    let repository = event.payload.get("repository");
    let number = |value: Option<&crate::expr::ExprValue>, name: &str| {
        let found = value?.get(name)?.as_text().to_string();
        (!found.is_empty()).then_some(Value::String(found))
    };
    let owner = repository.and_then(|repository| repository.get("owner"));
    let sender = event.payload.get("sender");
    for (claim, found) in [
        ("repository_id", number(repository, "id")),
        ("repository_owner_id", number(owner, "id")),
        ("actor_id", number(sender, "id")),
    ] {
        if let Some(found) = found {
            claims.insert(claim.to_owned(), found);
        }
    }
    let private = repository.and_then(|repository| repository.get("private"));
    if let Some(private) = private {
        let is_private = &*private.as_text() == "true";
        let word = if is_private { "private" } else { "public" };
        claims.insert("repository_visibility".to_owned(), word.into());
    }
    claims
}
