//! Beads: `.beads/issues.jsonl`, an issue a line.

use serde::Deserialize;

use super::labelled;
use crate::date;
use crate::item::{ItemLink, ParsedItems, SourceItem, line};

#[derive(Deserialize)]
struct Issue {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    design: String,
    #[serde(default)]
    notes: String,
    #[serde(default)]
    acceptance_criteria: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    issue_type: String,
    priority: Option<i64>,
    #[serde(default)]
    assignee: String,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Dependency {
    depends_on_id: String,
}

/// Reads the file; lines that are no issues are counted.
pub fn beads(text: &str) -> ParsedItems {
    let mut parsed = ParsedItems::default();
    for (number, row) in text
        .lines()
        .enumerate()
        .filter(|(_, row)| !row.trim().is_empty())
    {
        match serde_json::from_str::<Issue>(row) {
            // What was deleted stays as a tombstone.
            Ok(issue) if issue.status == "tombstone" => {}
            Ok(issue) => parsed.items.push(item(issue)),
            Err(error) => parsed.skipped.add(format!("line {}: {error}", number + 1)),
        }
    }
    parsed
}

fn item(issue: Issue) -> SourceItem {
    let parts = [
        issue.description,
        issue.design,
        issue.acceptance_criteria,
        issue.notes,
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    let mut tags = issue.labels;
    tags.extend(labelled("status", &issue.status));
    tags.extend(labelled("type", &issue.issue_type));
    tags.extend(
        issue
            .priority
            .map(|priority| format!("priority:{priority}")),
    );
    tags.extend(labelled("assignee", &issue.assignee));
    let links = issue.dependencies.into_iter().map(|other| ItemLink {
        target: other.depends_on_id,
        resolved: true,
    });
    SourceItem {
        key: issue.id.clone(),
        title: line(&format!("{} {}", issue.id, issue.title), 300),
        body: parts.join("\n\n"),
        tags,
        modified: issue.updated_at.as_deref().and_then(date::rfc3339),
        links: links.collect(),
        ..SourceItem::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_and_lines_that_are_none() {
        let text = "{\"id\":\"or-1\",\"title\":\"Valve\",\"description\":\"leaks\",\"status\":\"open\",\"priority\":1,\"issue_type\":\"bug\",\"labels\":[\"hw\"],\"updated_at\":\"2026-11-21T10:00:00Z\",\"dependencies\":[{\"issue_id\":\"or-1\",\"depends_on_id\":\"or-2\",\"type\":\"blocks\"}]}\nnonsense\n{\"id\":\"or-9\",\"title\":\"x\",\"status\":\"tombstone\"}\n";
        let parsed = beads(text);
        let item = &parsed.items[0];
        assert_eq!(
            (item.title.as_str(), item.body.as_str()),
            ("or-1 Valve", "leaks")
        );
        assert_eq!(item.tags, ["hw", "status:open", "type:bug", "priority:1"]);
        assert_eq!(item.links[0].target, "or-2");
        assert_eq!((parsed.items.len(), parsed.skipped.count), (1, 1));
        assert!(parsed.skipped.first.unwrap().starts_with("line 2"));
    }
}
