//! What issues and pull requests have in common, and what belongs to them.

use serde_json::{Value, json};

use super::states::{inner, reaction_groups};
use crate::ask::FieldRequest;
use crate::lists::{RestList, nothing, sort};
use crate::session::{QuerySession, RestResult, escaped};

pub(super) async fn resolve(ask: &FieldRequest<'_>) -> Option<RestResult<Value>> {
    Some(match ask.field {
        "closed" => Ok(json!(ask.of["state"] == "closed")),
        "repository" => ask.session.body("").await,
        "assignees" => assignees(ask).await,
        "labels" => labels(ask).await,
        "comments" => comments(ask).await,
        "participants" => ask
            .part()
            .map(|part| inner(&json!([ask.of["user"]]), &part)),
        "reactionGroups" => Ok(reaction_groups(ask.of)),
        "reactions" => Ok(nothing()),
        "releaseAssets" => assets(ask).await,
        "authorAssociation" => Ok(association(ask.of)),
        "viewerDidAuthor" => is_viewer(ask).await,
        "includesCreatedEdit" => Ok(json!(ask.of["created_at"] != ask.of["updated_at"])),
        "color" => Ok(json!(color(ask.of))),
        "url" => ask.session.body("").await.map(|it| label_url(&it, ask.of)),
        "isLatest" => is_latest(ask).await,
        "tag" => Ok(tag(ask.of)),
        "team" => Ok(json!({"slug": ask.text("slug"), "organization": ask.of})),
        _ => return None,
    })
}

/// What labels are ordered by; their numbers grow as they are made.
pub(super) const LABEL_ORDERS: [(&str, &str); 2] = [("CREATED_AT", "/id"), ("NAME", "/name")];

async fn labels(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let mut labels = ask.value("/labels").await?;
    if let (Some(labels), Some((places, largest_first))) =
        (labels.as_array_mut(), ask.order(&LABEL_ORDERS)?)
    {
        sort(labels, places, largest_first);
    }
    Ok(inner(&labels, &part))
}

async fn assets(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let mut assets = ask.value("/assets").await?;
    if let (Some(assets), Some(name)) = (assets.as_array_mut(), ask.args["name"].as_str()) {
        assets.retain(|asset| asset["name"] == name);
    }
    Ok(inner(&assets, &part))
}

async fn assignees(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let many = ask.value("/assignees").await?;
    if many.is_array() {
        return Ok(inner(&many, &part));
    }
    let one = ask.value("/assignee").await?;
    let one: Vec<Value> = one.is_object().then_some(one).into_iter().collect();
    Ok(inner(&one.into(), &part))
}

async fn comments(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let list = RestList::new(format!("/issues/{}/comments", ask.number()));
    let part = ask.part()?;
    // The order of REST's list is that of their numbers.
    ask.order(&[])?;
    // Both forges say how many there are with the thing itself.
    if !part.nodes
        && let Some(total) = ask.of["comments"].as_u64()
    {
        return Ok(json!({"totalCount": total, "nodes": [], "cursors": []}));
    }
    list.connection(ask.session, &part).await
}

/// Gitea has no such word.
fn association(of: &Value) -> Value {
    match &of["author_association"] {
        Value::Null => json!("NONE"),
        word => word.clone(),
    }
}

async fn is_viewer(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let viewer = ask.session.viewer().await?;
    let author = ask.of["user"]["login"].as_str();
    Ok(json!(author.is_some_and(|author| author == viewer.login)))
}

fn color(label: &Value) -> &str {
    let color = label["color"].as_str().unwrap_or_default();
    color.trim_start_matches('#')
}

fn label_url(repository: &Value, label: &Value) -> Value {
    let base = repository["html_url"].as_str().unwrap_or_default();
    let name = escaped(label["name"].as_str().unwrap_or_default());
    json!(format!("{base}/labels/{name}"))
}

async fn is_latest(ask: &FieldRequest<'_>) -> RestResult<Value> {
    let latest = ask.session.body_if_there("/releases/latest").await?;
    Ok(json!(!latest.is_null() && latest["id"] == ask.of["id"]))
}

fn tag(release: &Value) -> Value {
    let name = release["tag_name"].as_str().unwrap_or_default();
    json!({"ref": format!("refs/tags/{name}")})
}

/// An issue, or the pull request of that number, with its type.
pub(crate) async fn issue_or_pull(session: &QuerySession, number: u64) -> RestResult<Value> {
    let mut issue = session.body(&format!("/issues/{number}")).await?;
    if issue["pull_request"].is_object() {
        issue = session.body(&format!("/pulls/{number}")).await?;
        issue["__typename"] = json!("PullRequest");
    } else {
        issue["__typename"] = json!("Issue");
    }
    Ok(issue)
}

/// The name in a label's id, which has its number in front.
pub(crate) fn label_name(key: &str) -> &str {
    key.split_once('/').map_or(key, |(_, name)| name)
}

/// A label by its name; null: there is none. Gitea finds them by numbers only.
pub(crate) async fn label(session: &QuerySession, name: &str) -> RestResult<Value> {
    if session.is_github() {
        return session
            .body_if_there(&format!("/labels/{}", escaped(name)))
            .await;
    }
    let all = RestList::new("/labels").all(session).await?;
    let same = |label: &Value| {
        let own = label["name"].as_str().unwrap_or_default();
        own.eq_ignore_ascii_case(name)
    };
    Ok(all.into_iter().find(same).unwrap_or_default())
}
