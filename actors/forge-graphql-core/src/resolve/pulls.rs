//! Fields of a pull request.

use serde_json::{Value, json};

use super::commits::rollup;
use super::reviews;
use super::states::{is_draft, is_merged, pull_state};
use crate::ask::FieldRequest;
use crate::ids::plain;
use crate::lists::{RestList, of_items};
use crate::session::RestResult;

pub(super) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    let pull = ask.of;
    Some(match ask.field {
        "state" => Ok(json!(pull_state(pull))),
        "merged" => Ok(json!(is_merged(pull))),
        "closed" => Ok(json!(pull_state(pull) != "OPEN")),
        "isDraft" => Ok(json!(is_draft(pull))),
        "mergeable" => mergeable(ask).await,
        "mergeStateStatus" => merge_state(ask).await,
        "mergeCommit" => Ok(commit_if(is_merged(pull), pull)),
        "potentialMergeCommit" => Ok(commit_if(!is_merged(pull), pull)),
        "baseRef" => Ok(branch(&pull["base"])),
        "headRef" => Ok(branch(&pull["head"])),
        "headRepositoryOwner" => Ok(owner(&pull["head"]["repo"])),
        "isCrossRepository" => {
            let name = |side: &str| pull[side]["repo"]["full_name"].clone();
            Ok(json!(name("head") != name("base")))
        }
        "commits" => commits(ask).await,
        "files" => files(ask).await,
        "reviews" => reviews::all(ask).await,
        "latestReviews" | "latestOpinionatedReviews" => reviews::latest(ask).await,
        "reviewDecision" => reviews::decision(ask).await,
        "reviewRequests" => reviews::requests(ask).await,
        "statusCheckRollup" => rollup(ask.session, &plain(&pull["head"]["sha"])).await,
        "viewerMergeHeadlineText" => Ok(headline(ask)),
        "viewerMergeBodyText" => Ok(pull["title"].clone()),
        _ => return None,
    })
}

async fn mergeable(ask: &FieldRequest<'_>) -> RestResult<Value> {
    Ok(json!(match ask.truth("/mergeable").await? {
        Some(true) => "MERGEABLE",
        Some(false) => "CONFLICTING",
        None => "UNKNOWN",
    }))
}

/// Gitea says no more than whether it can be merged.
async fn merge_state(ask: &FieldRequest<'_>) -> RestResult<Value> {
    if let Some(word) = ask.value("/mergeable_state").await?.as_str() {
        return Ok(json!(word.to_ascii_uppercase()));
    }
    Ok(json!(match ask.truth("/mergeable").await? {
        _ if is_draft(ask.of) => "DRAFT",
        Some(true) => "CLEAN",
        Some(false) => "DIRTY",
        None => "UNKNOWN",
    }))
}

fn commit_if(holds: bool, pull: &Value) -> Value {
    match &pull["merge_commit_sha"] {
        Value::String(sha) if holds && !sha.is_empty() => json!({"sha": sha}),
        _ => Value::Null,
    }
}

fn branch(side: &Value) -> Value {
    let name = side["ref"].as_str().unwrap_or_default();
    json!({
        "ref": format!("refs/heads/{name}"),
        "object": {"sha": side["sha"], "type": "commit"},
    })
}

/// The owner of a repository, as far as it is named.
pub(super) fn owner(repository: &Value) -> Value {
    if repository["owner"].is_object() {
        return repository["owner"].clone();
    }
    let name = repository["full_name"].as_str().unwrap_or_default();
    match name.split_once('/') {
        Some((owner, _)) => json!({"login": owner}),
        None => Value::Null,
    }
}

/// The last one is the head, which needs no list.
async fn commits(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    if ask.args["last"] == 1 && !part.counts {
        return Ok(of_items(vec![json!({"sha": ask.of["head"]["sha"]})], &part));
    }
    let number = ask.number();
    if !part.nodes
        && let Some(total) = ask.value("/commits").await?.as_u64()
    {
        return Ok(json!({"totalCount": total, "nodes": [], "cursors": []}));
    }
    let list = RestList::new(format!("/pulls/{number}/commits"));
    list.connection(ask.session, &part).await
}

async fn files(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let list = RestList::new(format!("/pulls/{}/files", ask.number()));
    list.connection(ask.session, &ask.part()?).await
}

fn headline(ask: &FieldRequest<'_>) -> Value {
    let (pull, number) = (ask.of, ask.number());
    let title = pull["title"].as_str().unwrap_or_default();
    if ask.text("mergeType") == "SQUASH" {
        return json!(format!("{title} (#{number})"));
    }
    let login = owner(&pull["head"]["repo"]);
    let login = login["login"].as_str().unwrap_or_default();
    let branch = pull["head"]["ref"].as_str().unwrap_or_default();
    json!(format!(
        "Merge pull request #{number} from {login}/{branch}"
    ))
}
