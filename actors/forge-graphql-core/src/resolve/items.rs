//! What issues and pull requests have in common, and what belongs to them.

use serde_json::{Value, json};

use super::states::{inner, reaction_groups};
use crate::ask::Ask;
use crate::lists::{List, nothing};
use crate::session::{RestResult, Session, escaped};

pub(super) async fn resolve(ask: &Ask<'_>) -> Option<RestResult<Value>> {
    Some(match ask.field {
        "closed" => Ok(json!(ask.of["state"] == "closed")),
        "repository" => ask.session.body("").await,
        "assignees" => assignees(ask).await,
        "labels" => part_of(ask, "/labels").await,
        "comments" => comments(ask).await,
        "participants" => ask
            .part()
            .map(|part| inner(&json!([ask.of["user"]]), &part)),
        "reactionGroups" => Ok(reaction_groups(ask.of)),
        "reactions" => Ok(nothing()),
        "releaseAssets" => part_of(ask, "/assets").await,
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

/// An array that is in the answer.
async fn part_of(ask: &Ask<'_>, place: &str) -> RestResult<Value> {
    let part = ask.part()?;
    Ok(inner(&ask.value(place).await?, &part))
}

async fn assignees(ask: &Ask<'_>) -> RestResult<Value> {
    let part = ask.part()?;
    let many = ask.value("/assignees").await?;
    if many.is_array() {
        return Ok(inner(&many, &part));
    }
    let one = ask.value("/assignee").await?;
    let one: Vec<Value> = one.is_object().then_some(one).into_iter().collect();
    Ok(inner(&one.into(), &part))
}

async fn comments(ask: &Ask<'_>) -> RestResult<Value> {
    let list = List::new(format!("/issues/{}/comments", ask.number()));
    let part = ask.part()?;
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

async fn is_viewer(ask: &Ask<'_>) -> RestResult<Value> {
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

async fn is_latest(ask: &Ask<'_>) -> RestResult<Value> {
    let latest = ask.session.body_if_there("/releases/latest").await?;
    Ok(json!(!latest.is_null() && latest["id"] == ask.of["id"]))
}

fn tag(release: &Value) -> Value {
    let name = release["tag_name"].as_str().unwrap_or_default();
    json!({"ref": format!("refs/tags/{name}")})
}

/// An issue, or the pull request of that number, with its type.
pub(crate) async fn issue_or_pull(session: &Session, number: u64) -> RestResult<Value> {
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
pub(crate) async fn label(session: &Session, name: &str) -> RestResult<Value> {
    if session.is_github() {
        return session
            .body_if_there(&format!("/labels/{}", escaped(name)))
            .await;
    }
    let all = List::new("/labels").all(session).await?;
    let same = |label: &Value| {
        let own = label["name"].as_str().unwrap_or_default();
        own.eq_ignore_ascii_case(name)
    };
    Ok(all.into_iter().find(same).unwrap_or_default())
}
