//! The array that `task export` prints (the same in versions 2 and 3, whose stores differ).

use serde::Deserialize;

use super::labelled;
use crate::date;
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

#[derive(Deserialize)]
struct Task {
    uuid: String,
    description: String,
    status: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    priority: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    annotations: Vec<Annotation>,
    modified: Option<String>,
    entry: Option<String>,
    due: Option<String>,
    /// Others it waits for; version 2 may print one string with commas.
    #[serde(default)]
    depends: Depends,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Depends {
    Many(Vec<String>),
    One(String),
}

impl Default for Depends {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

/// Reads the output of `task … export`. Deleted tasks are left out without being counted.
///
/// # Errors
/// When it is not a JSON array.
pub fn taskwarrior(output: &str) -> Result<ParsedItems, SourceDataError> {
    let values: Vec<serde_json::Value> =
        serde_json::from_str(output).map_err(|error| SourceDataError::Shape {
            what: "task export",
            reason: error.to_string(),
        })?;
    let mut parsed = ParsedItems::default();
    for value in values {
        match serde_json::from_value::<Task>(value) {
            Ok(task) if task.status == "deleted" => {}
            Ok(task) => parsed.items.push(item(task)),
            Err(error) => parsed.skipped.add(error.to_string()),
        }
    }
    Ok(parsed)
}

fn item(task: Task) -> SourceItem {
    let mut body: Vec<String> = task
        .annotations
        .into_iter()
        .map(|note| note.description)
        .collect();
    let due = task.due.as_deref().and_then(date::compact);
    if let Some(day) = due.and_then(day) {
        body.insert(0, format!("Due: {day}"));
    }
    let mut tags = task.tags;
    tags.extend(labelled("status", &task.status));
    tags.extend(labelled("project", &task.project));
    tags.extend(labelled("priority", &task.priority));
    let depends = match task.depends {
        Depends::Many(ids) => ids,
        Depends::One(ids) => ids.split(',').map(str::to_owned).collect(),
    };
    let links = depends
        .into_iter()
        .filter(|id| !id.is_empty())
        .map(|id| crate::ItemLink {
            target: id,
            resolved: true,
        });
    let changed = task.modified.or(task.entry);
    SourceItem {
        key: task.uuid,
        title: line(&task.description, 300),
        body: body.join("\n"),
        tags,
        modified: changed.as_deref().and_then(date::compact),
        links: links.collect(),
        ..SourceItem::default()
    }
}

/// `2026-11-21` of seconds since the epoch.
fn day(seconds: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_with_everything() {
        let output = r#"[{"id":1,"uuid":"a-1","description":"Fix the\nvalve","status":"pending","entry":"20261120T100000Z","modified":"20261121T100000Z",
            "due":"20261231T000000Z","project":"rocket","priority":"H","tags":["urgent"],"depends":["b-2"],"annotations":[{"entry":"20261120T100000Z","description":"call Ada"}],"urgency":9.1},
            {"uuid":"b-2","description":"done one","status":"completed","depends":"a-1,c-3"},{"uuid":"x","description":"gone","status":"deleted"},{"uuid":7}]"#;
        let parsed = taskwarrior(output).unwrap();
        let first = &parsed.items[0];
        assert_eq!(
            (first.key.as_str(), first.title.as_str()),
            ("a-1", "Fix the valve")
        );
        assert_eq!(first.body, "Due: 2026-12-31\ncall Ada");
        assert_eq!(
            first.tags,
            ["urgent", "status:pending", "project:rocket", "priority:H"]
        );
        assert_eq!(first.modified, Some(1_795_255_200));
        assert_eq!(parsed.items[1].links.len(), 2);
        assert_eq!((parsed.items.len(), parsed.skipped.count), (2, 1));
        assert!(taskwarrior("{}").is_err() && taskwarrior("[").is_err());
    }
}
