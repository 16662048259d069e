//! Mappings that workflows, jobs and steps share: `env`, `defaults`, `concurrency`.

use config_core::quoted;

use super::availability::Availability;
use super::fields::MappingFields;
use super::implicit_group::IMPLICIT_GROUP;
use super::reader::WorkflowReader;
use super::types::{Concurrency, ConcurrencyQueue, Env, RunDefaults};
use crate::expr::{DataKey, ExprTemplate};
use crate::lost_jobs::{RERUN_VARIABLE, parse_reruns};
use crate::yaml::{NodeData, YamlEntry, YamlNode};

/// `env`: names and values, or one expression.
pub(super) fn env(
    reader: &WorkflowReader<'_>,
    node: Option<&YamlNode>,
    availability: Availability,
) -> Env {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Env::default();
    };
    reader.at_key("env", || {
        if matches!(node.data, NodeData::Scalar { .. }) {
            let template = reader
                .template(node, "env", availability)
                .filter(|template| template.fixed().is_none());
            return match template {
                Some(template) => Env::Expr(template),
                None => reader
                    .wrong_kind(node, "env", "a mapping")
                    .unwrap_or_default(),
            };
        }
        let entries = reader.entries(node, "env").unwrap_or_default();
        let pair = |entry: &YamlEntry| {
            let name = reader.key(entry, availability)?;
            let is_fixed = matches!(&name, DataKey::Text(name) if name.fixed().is_some());
            if is_fixed && entry.key.contains('=') {
                let message = format!("{} is no name of a variable", quoted(&entry.key));
                reader.error_help(entry.key_place, message, "names hold no `=`");
            }
            let value = reader.at_key(&entry.key, || {
                reader.template(&entry.value, "a variable", availability)
            });
            let value = value?;
            check_reruns(reader, &name, &value);
            Some((name, value))
        };
        Env::Map(entries.iter().filter_map(pair).collect())
    })
}

/// The variable that says how often a lost job runs again has a number that is one.
fn check_reruns(reader: &WorkflowReader<'_>, name: &DataKey, value: &ExprTemplate) {
    let DataKey::Text(name) = name else { return };
    let fixed = |template: &ExprTemplate| template.fixed().map(|value| value.as_text());
    if fixed(name).is_none_or(|name| &*name != RERUN_VARIABLE) {
        return;
    }
    if let Some(Err(message)) = fixed(value).map(|text| parse_reruns(&text)) {
        let help = "what is not such a number is ignored, and the runner's own setting counts";
        reader.warn(value.place, message, help);
    }
}

/// `defaults`.
pub(super) fn defaults(
    reader: &WorkflowReader<'_>,
    node: Option<&YamlNode>,
    availability: Availability,
) -> RunDefaults {
    let run = node.filter(|node| !node.is_null()).and_then(|node| {
        reader.at_key("defaults", || {
            let fields = reader.fields(node, "defaults", &["run"])?;
            fields.read(reader, "run", |node| {
                let fields =
                    reader.fields(node, "defaults.run", &["shell", "working-directory"])?;
                let template =
                    |key| fields.read(reader, key, |node| reader.template(node, key, availability));
                Some(RunDefaults {
                    shell: template("shell"),
                    working_directory: template("working-directory"),
                })
            })
        })
    });
    run.unwrap_or_default()
}

/// `concurrency`: a group, or a group, whether to end what runs, and how many wait.
pub(super) fn concurrency(
    reader: &WorkflowReader<'_>,
    node: &YamlNode,
    availability: Availability,
) -> Option<Concurrency> {
    if !matches!(node.data, NodeData::Map(_)) {
        let group = reader.template(node, "concurrency", availability)?;
        check_group(reader, &group);
        return Some(Concurrency {
            group,
            cancel_in_progress: None,
            queue: ConcurrencyQueue::Single,
        });
    }
    let known = ["group", "cancel-in-progress", "queue"];
    let fields = reader.fields(node, "concurrency", &known)?;
    let queue = queue(reader, fields);
    let template = |key| fields.read(reader, key, |node| reader.template(node, key, availability));
    let group = template("group").or_else(|| implicit_group(reader, fields, node));
    let Some(group) = group else {
        reader.error(node.place, "concurrency has no `group`");
        return None;
    };
    check_group(reader, &group);
    let cancel_in_progress = template("cancel-in-progress");
    let cancels = cancel_in_progress.as_ref().and_then(ExprTemplate::fixed);
    if queue == ConcurrencyQueue::Max && cancels.is_some_and(|value| value.truthy()) {
        let place = fields.entry("queue").map_or(node.place, |it| it.key_place);
        let help = "leave one of them out: either all wait, or a newer one ends what runs";
        let message = "`queue: max` and `cancel-in-progress: true` exclude each other";
        reader.error_help(place, message, help);
    }
    Some(Concurrency {
        group,
        cancel_in_progress,
        queue,
    })
}

/// Gitea and Forgejo take one without a name: the runs of the same workflow and branch.
fn implicit_group(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
    node: &YamlNode,
) -> Option<ExprTemplate> {
    if !reader.dialect.is_forge() || fields.get("group").is_some() {
        return None;
    }
    ExprTemplate::parse(IMPLICIT_GROUP, node.place).ok()
}

/// `queue: single`, the default, or `max`.
fn queue(reader: &WorkflowReader<'_>, fields: MappingFields<'_>) -> ConcurrencyQueue {
    let written = fields.read(reader, "queue", |node| {
        let mode = reader.plain(node, "queue")?;
        let known = match mode.as_str() {
            "single" => ConcurrencyQueue::Single,
            "max" => ConcurrencyQueue::Max,
            _ => {
                let message = format!("queue is {}, expected single or max", quoted(&mode));
                reader.error(node.place, message);
                return None;
            }
        };
        Some(known)
    });
    written.unwrap_or_default()
}

/// A group has a name, of fewer than 400 characters.
fn check_group(reader: &WorkflowReader<'_>, group: &ExprTemplate) {
    let Some(name) = group.fixed().map(|name| name.as_text()) else {
        return;
    };
    if name.is_empty() {
        let help = "for example `${{ github.workflow }}-${{ github.ref }}`";
        reader.error_help(group.place, "the group of concurrency has no name", help);
    } else if name.chars().count() >= 400 {
        let message = "the name of the concurrency group has 400 characters or more";
        reader.error(group.place, message);
    }
}
