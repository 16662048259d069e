//! Mappings that workflows, jobs and steps share: `env`, `defaults`, `concurrency`.

use config_core::quoted;

use super::availability::Availability;
use super::fields::Fields;
use super::reader::Reader;
use super::types::{Concurrency, Env, Refusal, RunDefaults};
use crate::expr::Template;
use crate::yaml::{Entry, Node, NodeData};

/// `env`: names and values, or one expression.
pub(super) fn env(reader: &Reader<'_>, node: Option<&Node>, availability: Availability) -> Env {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Env::default();
    };
    reader.within("env", || {
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
        let pair = |entry: &Entry| {
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
                .for_each(|expr| reader.check(expr, entry.key_place, availability));
            let value = reader.within(&entry.key, || {
                reader.template(&entry.value, "a variable", availability)
            });
            Some((name, value?))
        };
        Env::Map(entries.iter().filter_map(pair).collect())
    })
}

/// `defaults`.
pub(super) fn defaults(
    reader: &Reader<'_>,
    node: Option<&Node>,
    availability: Availability,
) -> RunDefaults {
    let run = node.filter(|node| !node.is_null()).and_then(|node| {
        reader.within("defaults", || {
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
    reader: &Reader<'_>,
    file: &str,
    node: &Node,
    availability: Availability,
    refusals: &mut Vec<Refusal>,
) -> Option<Concurrency> {
    if !matches!(node.data, NodeData::Map(_)) {
        let group = reader.template(node, "concurrency", availability)?;
        check_group(reader, &group);
        return Some(Concurrency {
            group,
            cancel_in_progress: None,
        });
    }
    let known = ["group", "cancel-in-progress", "queue"];
    let fields = reader.fields(node, "concurrency", &known)?;
    refusals.extend(queue(reader, file, fields));
    let template = |key| fields.read(reader, key, |node| reader.template(node, key, availability));
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
    Some(Refusal::new(
        "concurrency.queue: max",
        "one run or job of a group waits, a newer one takes its place; leave `queue` out",
        file,
        entry.key_place,
    ))
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
