//! A workflow file as a whole.

use config_core::{Diagnostics, Severity, SourceText, quoted};

use super::fields::Fields;
use super::permissions::permissions;
use super::reader::Reader;
use super::slots::{self, Slot};
use super::types::{Concurrency, Env, Refusal, RunDefaults, Triggers, Workflow};
use super::{job, triggers};
use crate::expr::Template;
use crate::place::Place;
use crate::yaml::{self, Node, NodeData};

/// A file that was read, and what is odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T> {
    /// What it says.
    pub value: T,
    /// Warnings only.
    pub warnings: Diagnostics,
}

/// Reads a workflow file.
///
/// # Errors
/// Every mistake in it, with line, column and, where a name is nearly right, the name that was meant.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Parsed<Workflow>, Diagnostics> {
    read_file(file, bytes, |reader, root| workflow(reader, file, root))
}

/// Reads a file of any kind from its tree.
pub(super) fn read_file<T>(
    file: &str,
    bytes: &[u8],
    read: impl FnOnce(&Reader<'_>, &Node) -> Option<T>,
) -> Result<Parsed<T>, Diagnostics> {
    // Only `\n` ends a line for everything that follows.
    let text = SourceText::read(file, bytes)?;
    let loaded = yaml::load(&text).map_err(|error| {
        let place = error.place.bytes();
        let help = error.help.as_deref();
        Diagnostics::from(text.diagnostic(Severity::Error, place, &error.message, help, ""))
    })?;
    let reader = Reader::new(&text);
    for mistake in loaded.mistakes {
        reader.note(mistake.place, false, mistake.message, mistake.help);
    }
    let value = read(&reader, &loaded.root);
    let found = reader.finish();
    match value {
        Some(value) if !found.has_errors() => Ok(Parsed {
            value,
            warnings: found,
        }),
        _ => Err(found),
    }
}

fn workflow(reader: &Reader<'_>, file: &str, root: &Node) -> Option<Workflow> {
    let known = [
        "name",
        "description",
        "run-name",
        "on",
        "permissions",
        "env",
        "defaults",
        "concurrency",
        "jobs",
    ];
    let fields = reader.fields(root, "a workflow", &known)?;
    let beginning = Place {
        line: 1,
        col: 1,
        start: root.place.start,
        end: root.place.start + 1,
    };
    let mut refusals = Vec::new();
    if let Some(node) = fields.get("permissions") {
        reader.within("permissions", || {
            permissions(reader, file, node, &mut refusals);
        });
    }
    let on = match fields.get("on") {
        Some(node) => reader.within("on", || triggers::read(reader, node)),
        None => {
            reader.error_help(
                beginning,
                "the workflow has no `on`",
                "for example `on: push`",
            );
            Triggers::default()
        }
    };
    let jobs = match fields.get("jobs") {
        Some(node) if !node.is_null() => {
            reader.within("jobs", || job::read_all(reader, file, node))
        }
        _ => {
            reader.error_help(
                beginning,
                "the workflow has no `jobs`",
                "at least one job is needed",
            );
            Vec::new()
        }
    };
    let workflow = Workflow {
        file: file.into(),
        name: fields.read(reader, "name", |node| reader.plain(node, "name")),
        run_name: fields.read(reader, "run-name", |node| {
            reader.template(node, "run-name", slots::RUN_NAME)
        }),
        on,
        env: env(reader, fields.get("env"), slots::WORKFLOW_ENV),
        defaults: defaults(reader, fields.get("defaults"), slots::WORKFLOW_DEFAULTS),
        concurrency: fields.read(reader, "concurrency", |node| {
            concurrency(reader, file, node, slots::CONCURRENCY, &mut refusals)
        }),
        jobs,
        refusals,
    };
    super::values::check(reader, &workflow);
    super::references::check(reader, &workflow);
    Some(workflow)
}

/// `env`: names and values, or one expression.
pub(super) fn env(reader: &Reader<'_>, node: Option<&Node>, slot: Slot) -> Env {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Env::default();
    };
    reader.within("env", || {
        if matches!(node.data, NodeData::Scalar { .. }) {
            let template = reader
                .template(node, "env", slot)
                .filter(|template| template.fixed().is_none());
            return match template {
                Some(template) => Env::Expr(template),
                None => reader
                    .wrong_kind(node, "env", "a mapping")
                    .unwrap_or_default(),
            };
        }
        let entries = reader.entries(node, "env").unwrap_or_default();
        let pair = |entry: &yaml::Entry| {
            let name = match Template::parse(&entry.key, entry.key_place) {
                Ok(name) => name,
                Err(error) => {
                    reader.error(entry.key_place, error.message);
                    return None;
                }
            };
            if name.fixed().is_some() && entry.key.contains('=') {
                let message = format!("{} is no name of a variable", quoted(&entry.key));
                reader.error_help(entry.key_place, message, "names hold no `=`");
            }
            name.expressions()
                .for_each(|expr| reader.check(expr, entry.key_place, slot));
            let value = reader.within(&entry.key, || {
                reader.template(&entry.value, "a variable", slot)
            });
            Some((name, value?))
        };
        Env::Map(entries.iter().filter_map(pair).collect())
    })
}

/// `defaults`.
pub(super) fn defaults(reader: &Reader<'_>, node: Option<&Node>, slot: Slot) -> RunDefaults {
    let run = node.filter(|node| !node.is_null()).and_then(|node| {
        reader.within("defaults", || {
            let fields = reader.fields(node, "defaults", &["run"])?;
            fields.read(reader, "run", |node| {
                let fields =
                    reader.fields(node, "defaults.run", &["shell", "working-directory"])?;
                let template =
                    |key| fields.read(reader, key, |node| reader.template(node, key, slot));
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
    reader: &Reader<'_>,
    file: &str,
    node: &Node,
    slot: Slot,
    refusals: &mut Vec<Refusal>,
) -> Option<Concurrency> {
    if !matches!(node.data, NodeData::Map(_)) {
        let group = reader.template(node, "concurrency", slot)?;
        check_group(reader, &group);
        return Some(Concurrency {
            group,
            cancel_in_progress: None,
        });
    }
    let known = ["group", "cancel-in-progress", "queue"];
    let fields = reader.fields(node, "concurrency", &known)?;
    refusals.extend(queue(reader, file, fields));
    let template = |key| fields.read(reader, key, |node| reader.template(node, key, slot));
    let Some(group) = template("group") else {
        reader.error(node.place, "concurrency has no `group`");
        return None;
    };
    check_group(reader, &group);
    Some(Concurrency {
        group,
        cancel_in_progress: template("cancel-in-progress"),
    })
}

/// `queue: single`, the default, is what is done; `max` is refused.
fn queue(reader: &Reader<'_>, file: &str, fields: Fields<'_>) -> Option<Refusal> {
    let written = fields.read(reader, "queue", |node| {
        let mode = reader.plain(node, "queue")?;
        if !["single", "max"].contains(&mode.as_str()) {
            let message = format!("queue is {}, expected single or max", quoted(&mode));
            reader.error(node.place, message);
        }
        Some(mode)
    });
    let entry = fields
        .entry("queue")
        .filter(|_| written.as_deref() == Some("max"))?;
    Some(Refusal {
        feature: "concurrency.queue: max".to_owned(),
        reason: "one run or job of a group waits, a newer one takes its place; leave `queue` out"
            .to_owned(),
        file: file.into(),
        place: entry.key_place,
    })
}

/// A group has a name, of fewer than 400 characters.
fn check_group(reader: &Reader<'_>, group: &Template) {
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
