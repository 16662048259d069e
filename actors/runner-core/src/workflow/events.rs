//! The events a workflow can name, and the options each of them has (page "Events that trigger
//! workflows").

use config_core::quoted;

use super::fields::MappingFields;
use super::filters::{patterns, same_for_both};
use super::reader::WorkflowReader;
use super::trigger_types::EventTrigger;
use crate::event_kind::EventKind;
use crate::glob::GlobFilter;
use crate::source_location::SourceLocation;
use crate::yaml::YamlNode;

/// An event and what may be said of it.
struct Event {
    name: &'static str,
    /// Its activity types; empty where it has none, or where anyone invents them.
    types: &'static [&'static str],
    /// Its other options.
    options: &'static [&'static str],
}

const BRANCHES: &[&str] = &["branches", "branches-ignore"];
const BRANCHES_AND_PATHS: &[&str] = &["branches", "branches-ignore", "paths", "paths-ignore"];

const fn event(name: &'static str, types: &'static [&'static str]) -> Event {
    filtered(name, types, &[])
}

const fn filtered(
    name: &'static str,
    types: &'static [&'static str],
    options: &'static [&'static str],
) -> Event {
    Event {
        name,
        types,
        options,
    }
}

const EDITS: &[&str] = &["created", "edited", "deleted"];

/// Actions of `pull_request` and `pull_request_target`; `synchronized` is Forgejo's word.
pub(super) const PULL_REQUEST_TYPES: &[&str] = &[
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
    "stacked",
];

const ISSUES: &[&str] = &[
    "opened",
    "edited",
    "deleted",
    "transferred",
    "pinned",
    "unpinned",
    "closed",
    "reopened",
    "assigned",
    "unassigned",
    "labeled",
    "unlabeled",
    "locked",
    "unlocked",
    "milestoned",
    "demilestoned",
    "field_added",
    "field_removed",
    "typed",
    "untyped",
];

const DISCUSSION: &[&str] = &[
    "created",
    "edited",
    "deleted",
    "transferred",
    "pinned",
    "unpinned",
    "labeled",
    "unlabeled",
    "locked",
    "unlocked",
    "category_changed",
    "answered",
    "unanswered",
];

const RELEASE: &[&str] = &[
    "published",
    "unpublished",
    "created",
    "edited",
    "deleted",
    "prereleased",
    "released",
];

/// Every event a workflow can name. The first five are read by `triggers`.
const EVENTS: &[Event] = &[
    event("push", &[]),
    event("pull_request", PULL_REQUEST_TYPES),
    event("workflow_dispatch", &[]),
    event("workflow_call", &[]),
    event("schedule", &[]),
    event("branch_protection_rule", EDITS),
    event(
        "check_run",
        &["created", "rerequested", "completed", "requested_action"],
    ),
    event("check_suite", &["completed"]),
    event("create", &[]),
    event("delete", &[]),
    event("deployment", &[]),
    event("deployment_status", &[]),
    event("discussion", DISCUSSION),
    event("discussion_comment", EDITS),
    event("fork", &[]),
    event("gollum", &[]),
    filtered(
        "image_version",
        &["created", "ready", "deleted"],
        &["names", "versions"],
    ),
    event("issue_comment", EDITS),
    event("issues", ISSUES),
    event("label", EDITS),
    filtered("merge_group", &["checks_requested"], BRANCHES),
    event(
        "milestone",
        &["created", "closed", "opened", "edited", "deleted"],
    ),
    event("page_build", &[]),
    event(
        "project",
        &["created", "closed", "reopened", "edited", "deleted"],
    ),
    event(
        "project_card",
        &["created", "moved", "converted", "edited", "deleted"],
    ),
    event(
        "project_column",
        &["created", "updated", "moved", "deleted"],
    ),
    event("public", &[]),
    event("pull_request_comment", EDITS),
    event("pull_request_review", &["submitted", "edited", "dismissed"]),
    event("pull_request_review_comment", EDITS),
    filtered(
        "pull_request_target",
        PULL_REQUEST_TYPES,
        BRANCHES_AND_PATHS,
    ),
    event("registry_package", &["published", "updated"]),
    event("release", RELEASE),
    event("repository_dispatch", &[]),
    event("status", &[]),
    event("watch", &["started"]),
    filtered(
        "workflow_run",
        &["completed", "requested", "in_progress"],
        &["workflows", "branches", "branches-ignore"],
    ),
    event("pull_request_label", &["labeled", "unlabeled"]),
    event(
        "workflow_job",
        &["queued", "waiting", "in_progress", "completed"],
    ),
];

/// The names of all events.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|event| event.name)
}

/// The options of an event without checks of its own: what GitHub does not know is a warning.
/// Nothing when the event never starts a run here.
pub(super) fn read_other(
    reader: &WorkflowReader<'_>,
    name: &str,
    place: SourceLocation,
    options: Option<&YamlNode>,
) -> Option<EventTrigger> {
    let mut trigger = EventKind::from_name(name)
        .filter(|kind| kind.as_str() == name)
        .map(EventTrigger::new);
    if let Some(event) = EVENTS.iter().find(|event| event.name == name) {
        read_options(reader, event, place, options, trigger.as_mut());
    }
    trigger
}

fn read_options(
    reader: &WorkflowReader<'_>,
    event: &Event,
    place: SourceLocation,
    options: Option<&YamlNode>,
    trigger: Option<&mut EventTrigger>,
) {
    let name = event.name;
    let mut ignored = EventTrigger::new(EventKind::Push);
    let trigger = trigger.unwrap_or(&mut ignored);
    if name == "workflow_run" && options.is_none_or(|node| node.entry("workflows").is_none()) {
        let help = "name the workflows it follows, for example `workflows: [CI]`";
        reader.warn(place, "workflow_run names no `workflows`", help);
    }
    let Some(fields) = options.and_then(MappingFields::from_node) else {
        return;
    };
    for entry in fields.entries() {
        match entry.key.as_str() {
            // Anyone may send any type.
            "types" if name == "repository_dispatch" => trigger.types = texts(&entry.value),
            "types" if !event.types.is_empty() => {
                check_types(reader, event, &entry.value);
                trigger.types = texts(&entry.value);
            }
            key if event.options.contains(&key) => {
                read_option(reader, key, &entry.value, trigger);
            }
            key => unknown_option(reader, event, key, entry.key_place),
        }
    }
    for only in ["branches", "paths"] {
        let ignore = format!("{only}-ignore");
        if let (Some(_), Some(entry)) = (fields.entry(only), fields.entry(&ignore)) {
            let (message, help) = same_for_both(only, &ignore);
            reader.warn(entry.key_place, message, help);
        }
    }
}

fn check_types(reader: &WorkflowReader<'_>, event: &Event, node: &YamlNode) {
    for node in node.items() {
        let Some(action) = node.text().filter(|text| !event.types.contains(text)) else {
            continue;
        };
        let message = format!("{} has no type {}", event.name, quoted(action));
        reader.warn(node.place, message, near(reader, action, event.types));
    }
}

fn read_option(
    reader: &WorkflowReader<'_>,
    key: &str,
    node: &YamlNode,
    trigger: &mut EventTrigger,
) {
    if node.items().is_empty() {
        reader.warn(node.place, format!("{key} is empty"), "name at least one");
    }
    if key == "workflows" {
        trigger.workflows = texts(node);
    }
    if !BRANCHES_AND_PATHS.contains(&key) {
        return;
    }
    let found = patterns(reader, node, key).unwrap_or_default();
    match key {
        "branches" => trigger.branches = GlobFilter::Only(found),
        "branches-ignore" => trigger.branches = GlobFilter::Ignore(found),
        "paths" => trigger.paths = GlobFilter::Only(found),
        _ => trigger.paths = GlobFilter::Ignore(found),
    }
}

fn texts(node: &YamlNode) -> Vec<String> {
    let items = node.items();
    let texts = items.iter().filter_map(|node| node.text());
    texts.map(str::to_owned).collect()
}

fn unknown_option(reader: &WorkflowReader<'_>, event: &Event, key: &str, place: SourceLocation) {
    let types = (!event.types.is_empty() || event.name == "repository_dispatch").then_some("types");
    let known: Vec<&str> = types
        .into_iter()
        .chain(event.options.iter().copied())
        .collect();
    let message = format!("{} has no option {}", event.name, quoted(key));
    let help = if known.is_empty() {
        "it has none".to_owned()
    } else {
        near(reader, key, &known)
    };
    reader.warn(place, message, help);
}

/// What was meant, or all there is.
fn near(reader: &WorkflowReader<'_>, written: &str, known: &[&str]) -> String {
    reader
        .closest_name(written, known.iter().copied())
        .map_or_else(
            || format!("there are: {}", known.join(", ")),
            |near| format!("did you mean `{near}`?"),
        )
}
