//! `on`: a text, a list or a mapping.

use config_core::quoted;

use super::reader::Reader;
use super::types::{Filter, PullRequestTrigger, PushTrigger, Triggers};
use crate::expr::Value;
use crate::glob::Pattern;
use crate::place::{Located, Place};
use crate::schedule::Schedule;
use crate::yaml::{Entry, Node, NodeData};

/// Every event a workflow can name (page "Events that trigger workflows").
const EVENTS: [&str; 39] = [
    "push",
    "pull_request",
    "workflow_dispatch",
    "workflow_call",
    "schedule",
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "image_version",
    "issue_comment",
    "issues",
    "label",
    "merge_group",
    "milestone",
    "page_build",
    "project",
    "project_card",
    "project_column",
    "public",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_target",
    "registry_package",
    "release",
    "repository_dispatch",
    "status",
    "watch",
    "workflow_run",
    "pull_request_label",
    "workflow_job",
];

/// Actions of `pull_request`.
const PULL_REQUEST_TYPES: [&str; 22] = [
    "opened",
    "synchronize",
    "synchronized",
    "reopened",
    "assigned",
    "unassigned",
    "labeled",
    "unlabeled",
    "edited",
    "closed",
    "converted_to_draft",
    "locked",
    "unlocked",
    "enqueued",
    "dequeued",
    "milestoned",
    "demilestoned",
    "ready_for_review",
    "review_requested",
    "review_request_removed",
    "auto_merge_enabled",
    "auto_merge_disabled",
];

/// Reads `on`.
pub(super) fn read(reader: &Reader<'_>, node: &Node) -> Triggers {
    let mut triggers = Triggers::default();
    match &node.data {
        NodeData::Scalar {
            value: Value::Text(name),
            ..
        } => {
            add(reader, &mut triggers, name, node.place, None);
        }
        NodeData::List(names) => {
            for name in names {
                if let Some(text) = reader.plain(name, "an event") {
                    add(reader, &mut triggers, &text, name.place, None);
                }
            }
        }
        NodeData::Map(entries) => {
            for Entry {
                key,
                key_place,
                value,
            } in entries
            {
                reader.within(key, || {
                    add(reader, &mut triggers, key, *key_place, Some(value));
                });
            }
        }
        NodeData::Scalar { .. } => {
            let _: Option<()> =
                reader.wrong_kind(node, "on", "an event, a list or a mapping of events");
        }
    }
    triggers
}

fn add(
    reader: &Reader<'_>,
    triggers: &mut Triggers,
    name: &str,
    place: Place,
    options: Option<&Node>,
) {
    let options = options.filter(|node| !node.is_null());
    match name {
        "push" => {
            triggers.push = Some(options.map_or_else(Default::default, |node| push(reader, node)));
        }
        "pull_request" => {
            triggers.pull_request =
                Some(options.map_or_else(Default::default, |node| pull_request(reader, node)));
        }
        "workflow_dispatch" => {
            let inputs =
                options.and_then(|node| reader.fields(node, "workflow_dispatch", &["inputs"]));
            let inputs = inputs.and_then(|fields| {
                fields.read(reader, "inputs", |node| {
                    Some(super::inputs::dispatch(reader, node))
                })
            });
            triggers.workflow_dispatch = Some(inputs.unwrap_or_default());
        }
        "workflow_call" => {
            triggers.workflow_call = Some(
                options.map_or_else(Default::default, |node| super::inputs::call(reader, node)),
            );
        }
        "schedule" => {
            triggers.schedule = match options {
                Some(node) => schedules(reader, node),
                None => {
                    let help = "for example `schedule: [{cron: '0 4 * * *'}]`";
                    reader.error_help(place, "schedule has no `cron` entries", help);
                    Vec::new()
                }
            };
        }
        _ if EVENTS.contains(&name) => triggers.others.push(Located::new(name.to_owned(), place)),
        _ => {
            let message = format!("unknown event {}", quoted(name));
            let help = reader.meant(name, EVENTS).map_or_else(
                || "for example `push` or `pull_request`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            reader.error_help(place, message, help);
        }
    }
}

fn push(reader: &Reader<'_>, node: &Node) -> PushTrigger {
    let known = [
        "branches",
        "branches-ignore",
        "tags",
        "tags-ignore",
        "paths",
        "paths-ignore",
    ];
    let Some(fields) = reader.fields(node, "push", &known) else {
        return PushTrigger::default();
    };
    let filter = |only, ignore| filter(reader, fields, only, ignore);
    PushTrigger {
        branches: filter("branches", "branches-ignore"),
        tags: filter("tags", "tags-ignore"),
        paths: filter("paths", "paths-ignore"),
    }
}

fn pull_request(reader: &Reader<'_>, node: &Node) -> PullRequestTrigger {
    // Tag filters mean nothing here, but a mapping may be shared with `push` by an alias.
    let known = [
        "types",
        "branches",
        "branches-ignore",
        "paths",
        "paths-ignore",
        "tags",
        "tags-ignore",
    ];
    let Some(fields) = reader.fields(node, "pull_request", &known) else {
        return PullRequestTrigger::default();
    };
    let types = fields.read(reader, "types", |node| {
        let mut types = Vec::new();
        for node in reader.one_or_more(node, "types")? {
            let Some(action) = reader.plain(node, "a type") else {
                continue;
            };
            if PULL_REQUEST_TYPES.contains(&action.as_str()) {
                types.push(action);
            } else {
                let message = format!("pull requests have no action {}", quoted(&action));
                let near = reader.meant(&action, PULL_REQUEST_TYPES);
                let help = near.map_or_else(
                    || PULL_REQUEST_TYPES.join(", "),
                    |near| format!("did you mean `{near}`?"),
                );
                reader.error_help(node.place, message, help);
            }
        }
        Some(types)
    });
    PullRequestTrigger {
        types: types.unwrap_or_default(),
        branches: filter(reader, fields, "branches", "branches-ignore"),
        paths: filter(reader, fields, "paths", "paths-ignore"),
    }
}

fn filter(
    reader: &Reader<'_>,
    fields: super::reader::Fields<'_>,
    only: &str,
    ignore: &str,
) -> Filter {
    let patterns = |key: &str| fields.read(reader, key, |node| patterns(reader, node, key));
    match (patterns(only), patterns(ignore)) {
        (Some(_), Some(_)) => {
            let place = fields
                .entry(ignore)
                .map(|entry| entry.key_place)
                .unwrap_or_default();
            reader.error_help(
                place,
                format!("`{only}` and `{ignore}` exclude each other"),
                format!("use `{only}` with `!` patterns"),
            );
            Filter::All
        }
        (Some(patterns), None) => {
            if !patterns.is_empty() && patterns.iter().all(|pattern| pattern.negative) {
                let place = fields
                    .entry(only)
                    .map(|entry| entry.key_place)
                    .unwrap_or_default();
                reader.error_help(
                    place,
                    format!("`{only}` only takes away, so nothing is left"),
                    format!("use `{ignore}`"),
                );
            }
            Filter::Only(patterns)
        }
        (None, Some(patterns)) => {
            if patterns.iter().any(|pattern| pattern.negative) {
                let place = fields
                    .entry(ignore)
                    .map(|entry| entry.key_place)
                    .unwrap_or_default();
                reader.error_help(
                    place,
                    format!("`{ignore}` takes no `!` patterns"),
                    format!("use `{only}`"),
                );
            }
            Filter::Ignore(patterns)
        }
        (None, None) => Filter::All,
    }
}

fn patterns(reader: &Reader<'_>, node: &Node, what: &str) -> Option<Vec<Pattern>> {
    let read = |node: &Node| {
        let text = reader.plain(node, what)?;
        match Pattern::parse(&text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                reader.error(node.place, error);
                None
            }
        }
    };
    Some(
        reader
            .one_or_more(node, what)?
            .into_iter()
            .filter_map(read)
            .collect(),
    )
}

fn schedules(reader: &Reader<'_>, node: &Node) -> Vec<Located<Schedule>> {
    let NodeData::List(entries) = &node.data else {
        return reader
            .wrong_kind(node, "schedule", "a list of `cron` entries")
            .unwrap_or_default();
    };
    let read = |node: &Node| {
        let fields = reader.fields(node, "a schedule", &["cron", "timezone"])?;
        let Some(cron) = fields.get("cron") else {
            reader.error(node.place, "a schedule has no `cron`");
            return None;
        };
        let text = reader.plain(cron, "cron")?;
        let timezone = fields.read(reader, "timezone", |node| reader.plain(node, "timezone"));
        if is_placeholder(&text) {
            let message = format!("{} is a template's placeholder, no schedule", quoted(&text));
            reader.warn(cron.place, message, "put a cron expression there");
            return None;
        }
        match Schedule::parse(&text, timezone) {
            Ok(schedule) => Some(Located::new(schedule, cron.place)),
            Err(error) => {
                reader.error(cron.place, error);
                None
            }
        }
    };
    entries.iter().filter_map(|node| read(node)).collect()
}

/// `$cron-daily`, `$default-branch`: what a collection of templates leaves to be filled in.
pub(super) fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}
