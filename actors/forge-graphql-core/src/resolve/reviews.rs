//! Reviews of a pull request.

use serde_json::{Value, json};

use super::items;
use super::states::review_state;
use crate::ask::FieldRequest;
use crate::lists::{RestList, of_items};
use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

pub(super) async fn of_review(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    Some(match ask.field {
        "state" => Ok(json!(review_state(ask.of))),
        "commit" => Ok(match &ask.of["commit_id"] {
            Value::String(sha) if !sha.is_empty() => json!({"sha": sha}),
            _ => Value::Null,
        }),
        _ => return items::resolve(ask).await,
    })
}

fn list(number: u64) -> RestList {
    RestList::new(format!("/pulls/{number}/reviews"))
        .mark("pull", number)
        .keep(|review| review_state(review).is_some())
}

pub(super) async fn all(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let author = ask.text("author").to_owned();
    let states: Vec<Value> = ask.args["states"].as_array().cloned().unwrap_or_default();
    let list = list(ask.number()).keep(move |review| {
        let by = author.is_empty() || review["user"]["login"] == author.as_str();
        by && (states.is_empty() || states.contains(&json!(review_state(review))))
    });
    list.connection(ask.session, &ask.part()?).await
}

/// The last opinion of each reviewer; where one has none, the last remark.
async fn last_ones(ask: &FieldRequest<'_>) -> RestResult<Vec<Value>> {
    let mut last: Vec<Value> = Vec::new();
    for review in list(ask.number()).all(ask.session).await? {
        let state = review_state(&review).unwrap_or_default();
        if state == "PENDING" {
            continue;
        }
        let same = |one: &&mut Value| one["user"]["login"] == review["user"]["login"];
        match last.iter_mut().find(same) {
            Some(before) if state != "COMMENTED" || review_state(before) == Some("COMMENTED") => {
                *before = review;
            }
            Some(_) => {}
            None => last.push(review),
        }
    }
    Ok(last)
}

pub(super) async fn latest(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    Ok(of_items(last_ones(ask).await?, &part))
}

/// What the rules of protection ask for is not known: a request stands for it.
pub(super) async fn decision(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let last = last_ones(ask).await?;
    let any = |state: &str| {
        last.iter()
            .any(|review| review_state(review) == Some(state))
    };
    let asked = ask.value("/requested_reviewers").await?;
    let asked = asked.as_array().is_some_and(|asked| !asked.is_empty());
    Ok(match () {
        () if any("CHANGES_REQUESTED") => json!("CHANGES_REQUESTED"),
        () if asked => json!("REVIEW_REQUIRED"),
        () if any("APPROVED") => json!("APPROVED"),
        () => Value::Null,
    })
}

pub(super) async fn requests(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let mut all = Vec::new();
    for (place, kind) in [
        ("/requested_reviewers", "User"),
        ("/requested_teams|/requested_reviewers_teams", "Team"),
    ] {
        let found = ask.value(place).await?;
        for mut one in found.as_array().cloned().unwrap_or_default() {
            one["__typename"] = json!(kind);
            all.push(one);
        }
    }
    Ok(of_items(all, &part))
}

/// A review by `pull request/review`.
pub(super) async fn review(session: &QuerySession, key: &str) -> RestResult<Value> {
    let numbers = key
        .split_once('/')
        .and_then(|(pull, review)| Some((pull.parse::<u64>().ok()?, review.parse::<u64>().ok()?)));
    let (pull, review) =
        numbers.ok_or_else(|| RestFailure::not_found("there is no such review"))?;
    let mut found = session
        .body(&format!("/pulls/{pull}/reviews/{review}"))
        .await?;
    found["pull"] = json!(pull);
    Ok(found)
}
