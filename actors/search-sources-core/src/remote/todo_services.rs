//! Hosted task lists: Vikunja and ClickUp.

use serde::Deserialize;
use serde_json::Value;

use super::{RemoteRequest, json, list, parse_entries};
use crate::date;
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

/// Asks Vikunja's API for tasks that match.
pub fn vikunja_ask(words: &str, limit: usize) -> RemoteRequest {
    RemoteRequest::get(
        "/api/v1/tasks/all",
        vec![
            ("s", words.to_owned()),
            ("per_page", limit.clamp(1, 50).to_string()),
        ],
    )
}

#[derive(Deserialize)]
struct VikunjaTask {
    id: u64,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    priority: i64,
    labels: Option<Vec<VikunjaLabel>>,
    due_date: Option<String>,
    updated: Option<String>,
}

#[derive(Deserialize)]
struct VikunjaLabel {
    title: String,
}

/// Reads Vikunja's answer; `base` is its URL, for links.
///
/// # Errors
/// When it is an error of the server or another shape.
pub fn vikunja(base: &str, body: &str) -> Result<ParsedItems, SourceDataError> {
    const WHAT: &str = "Vikunja";
    let value = json(WHAT, body)?;
    check_error(WHAT, &value, "message")?;
    // No tasks are `null`.
    let entries = if value.is_null() {
        Vec::new()
    } else {
        list(WHAT, value, "")?
    };
    let base = base.trim_end_matches('/');
    Ok(parse_entries(entries, |task: VikunjaTask| {
        let labels = task.labels.unwrap_or_default();
        let mut tags: Vec<String> = labels.into_iter().map(|label| label.title).collect();
        tags.push(format!(
            "status:{}",
            if task.done { "completed" } else { "pending" }
        ));
        if task.priority > 0 {
            tags.push(format!("priority:{}", task.priority));
        }
        // The year 1 stands for none.
        let due = task.due_date.filter(|due| !due.starts_with("0001"));
        let due = due.map(|due| format!("Due: {}\n", due.get(..10).unwrap_or(&due)));
        Some(SourceItem {
            key: format!("task-{}", task.id),
            title: line(&task.title, 300),
            body: format!(
                "{}{}",
                due.unwrap_or_default(),
                super::html::text(&task.description)
            ),
            tags,
            modified: task.updated.as_deref().and_then(date::rfc3339),
            url: Some(format!("{base}/tasks/{}", task.id)),
            ..SourceItem::default()
        })
    }))
}

/// Asks ClickUp's API 2 for one page of a workspace's tasks; it has no search by words, so they are
/// filtered here.
pub fn clickup_ask(team: &str, page: usize) -> RemoteRequest {
    RemoteRequest::get(
        format!("/api/v2/team/{team}/task"),
        vec![
            ("page", page.to_string()),
            ("include_closed", "true".to_owned()),
            ("subtasks", "true".to_owned()),
        ],
    )
}

#[derive(Deserialize)]
struct ClickUpTask {
    id: String,
    name: String,
    #[serde(default)]
    text_content: Option<String>,
    status: Option<ClickUpStatus>,
    priority: Option<ClickUpPriority>,
    #[serde(default)]
    tags: Vec<ClickUpTag>,
    url: Option<String>,
    /// Milliseconds, as a string.
    date_updated: Option<String>,
    due_date: Option<String>,
}

#[derive(Deserialize)]
struct ClickUpStatus {
    status: String,
}

#[derive(Deserialize)]
struct ClickUpPriority {
    priority: Option<String>,
}

#[derive(Deserialize)]
struct ClickUpTag {
    name: String,
}

/// Reads one page of ClickUp's tasks, and whether there are more.
///
/// # Errors
/// When it is an error of the server or another shape.
pub fn clickup(body: &str) -> Result<(ParsedItems, bool), SourceDataError> {
    const WHAT: &str = "ClickUp";
    let value = json(WHAT, body)?;
    check_error(WHAT, &value, "err")?;
    let last = value.get("last_page").and_then(Value::as_bool);
    let entries = list(WHAT, value, "tasks")?;
    let more = !last.unwrap_or(entries.len() < 100);
    let parsed = parse_entries(entries, |task: ClickUpTask| {
        let mut tags: Vec<String> = task.tags.into_iter().map(|tag| tag.name).collect();
        tags.extend(
            task.status
                .map(|status| format!("status:{}", status.status)),
        );
        tags.extend(
            task.priority
                .and_then(|p| p.priority)
                .map(|p| format!("priority:{p}")),
        );
        let due = task
            .due_date
            .as_deref()
            .and_then(millis)
            .and_then(|time| jiff::Timestamp::from_second(time).ok());
        let due = due.map(|time| format!("Due: {}\n", time.strftime("%Y-%m-%d")));
        Some(SourceItem {
            key: task.id,
            title: line(&task.name, 300),
            body: format!(
                "{}{}",
                due.unwrap_or_default(),
                task.text_content.unwrap_or_default()
            ),
            tags,
            modified: task.date_updated.as_deref().and_then(millis),
            url: task.url,
            ..SourceItem::default()
        })
    });
    Ok((parsed, more))
}

fn millis(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().map(|time| time.div_euclid(1000))
}

/// An error of the server's own, in `field` of an object.
fn check_error(what: &'static str, value: &Value, field: &str) -> Result<(), SourceDataError> {
    match value.get(field).and_then(Value::as_str) {
        Some(message) => Err(SourceDataError::Refused {
            what,
            message: line(message, 300),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vikunja_tasks() {
        let body = r#"[{"id":5,"title":"Valve","description":"<p>leaks</p>","done":false,"priority":3,"labels":[{"title":"hw"}],"due_date":"2026-12-01T00:00:00Z","updated":"2026-11-21T10:00:00Z"},
            {"id":6,"title":"x","done":true,"labels":null,"due_date":"0001-01-01T00:00:00Z"}]"#;
        let items = vikunja("https://v.example/", body).unwrap().items;
        assert_eq!(
            (items[0].body.as_str(), items[0].url.as_deref()),
            ("Due: 2026-12-01\nleaks", Some("https://v.example/tasks/5"))
        );
        assert_eq!(
            (items[0].tags.len(), items[1].tags.as_slice()),
            (3, ["status:completed".to_owned()].as_slice())
        );
        assert!(vikunja("https://v", "null").unwrap().items.is_empty());
        assert!(
            vikunja("https://v", r#"{"message":"missing token"}"#)
                .unwrap_err()
                .to_string()
                .contains("missing token")
        );
    }

    #[test]
    fn clickup_pages() {
        let body = r#"{"tasks":[{"id":"9h","name":"N","text_content":"T","status":{"status":"open"},"priority":{"priority":"high"},"tags":[{"name":"a"}],"url":"https://app.clickup.com/t/9h","date_updated":"1795255200000","due_date":"1795255200000"}],"last_page":false}"#;
        let (parsed, more) = clickup(body).unwrap();
        assert_eq!(
            (parsed.items[0].modified, more),
            (Some(1_795_255_200), true)
        );
        assert_eq!(parsed.items[0].tags, ["a", "status:open", "priority:high"]);
        assert!(
            parsed.items[0].body.starts_with("Due: 2026-11-21\nT"),
            "{}",
            parsed.items[0].body
        );
        assert!(
            clickup(r#"{"err":"Token invalid","ECODE":"OAUTH_025"}"#)
                .unwrap_err()
                .to_string()
                .contains("Token invalid")
        );
    }
}
