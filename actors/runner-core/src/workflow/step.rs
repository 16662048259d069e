//! The steps of a job or a composite action.

use std::collections::HashSet;

use config_core::quoted;

use super::availability::{self, Availability};
use super::background;
use super::blocks::env;
use super::checks::{check_id, checked_bool, checked_step_minutes};
use super::dialect::Dialect;
use super::fields::MappingFields;
use super::reader::WorkflowReader;
use super::types::{Step, StepWork};
use crate::limits::MAX_STEPS;
use crate::source_location::Located;
use crate::yaml::{NodeData, YamlNode};

/// Where steps stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepHost {
    /// In a job.
    Job,
    /// In a composite action: `run` needs `shell`, there are no secrets and no timeouts.
    Action,
}

impl StepHost {
    fn slots(self, dialect: Dialect) -> (Availability, Availability) {
        match self {
            Self::Job => (availability::STEP_TEXT, availability::step_if(dialect)),
            Self::Action => (availability::ACTION_TEXT, availability::ACTION_CONDITION),
        }
    }

    fn keys(self) -> &'static [&'static str] {
        /// The first ten are those of an action's steps too.
        const KEYS: [&str; 16] = [
            "id",
            "if",
            "name",
            "uses",
            "run",
            "working-directory",
            "shell",
            "with",
            "env",
            "continue-on-error",
            "timeout-minutes",
            "background",
            "wait",
            "wait-all",
            "cancel",
            "parallel",
        ];
        match self {
            Self::Job => &KEYS,
            Self::Action => &KEYS[..10],
        }
    }
}

/// Reads `steps`.
pub(super) fn read_all(
    reader: &WorkflowReader<'_>,
    node: &YamlNode,
    kind: StepHost,
) -> Option<Vec<Step>> {
    let steps = read_list(reader, node, kind)?;
    background::check_references(reader, &steps);
    Some(steps)
}

fn read_list(reader: &WorkflowReader<'_>, node: &YamlNode, kind: StepHost) -> Option<Vec<Step>> {
    let NodeData::List(nodes) = &node.data else {
        return reader.wrong_kind(node, "steps", "a list");
    };
    if nodes.is_empty() {
        reader.error(node.place, "there are no steps");
    }
    if nodes.len() > MAX_STEPS {
        reader.error(node.place, format!("there are more than {MAX_STEPS} steps"));
        return None;
    }
    let mut ids = HashSet::new();
    let mut steps = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let Some(read) = reader.at_key(&index.to_string(), || one_or_group(reader, node, kind))
        else {
            reader.lose();
            continue;
        };
        for step in read {
            if let Some(id) = &step.id
                && !ids.insert(id.to_lowercase())
            {
                reader.error(step.place, format!("two steps have the id {}", quoted(id)));
            }
            steps.push(step);
        }
    }
    Some(steps)
}

/// A step, or those of a `parallel` with the wait for them.
fn one_or_group(reader: &WorkflowReader<'_>, node: &YamlNode, kind: StepHost) -> Option<Vec<Step>> {
    let read = |steps: &YamlNode| read_list(reader, steps, kind);
    let group = match kind {
        StepHost::Job => background::group(reader, node, read),
        StepHost::Action => None,
    };
    group.unwrap_or_else(|| Some(vec![step(reader, node, kind)?]))
}

fn step(reader: &WorkflowReader<'_>, node: &YamlNode, kind: StepHost) -> Option<Step> {
    let fields = reader.fields(node, "a step", kind.keys())?;
    let (availability, condition) = kind.slots(reader.dialect);
    let template = |key| fields.read(reader, key, |node| reader.template(node, key, availability));
    let id = fields.read(reader, "id", |node| {
        let id = reader.plain(node, "id")?;
        check_id(reader, "a step", &id, node.place);
        Some(id)
    });
    let step = Step {
        place: node.place,
        id,
        name: template("name"),
        condition: fields.read(reader, "if", |node| reader.condition(node, condition)),
        env: env(reader, fields.get("env"), availability),
        continue_on_error: checked_bool(reader, template("continue-on-error"), "continue-on-error"),
        timeout_minutes: checked_step_minutes(reader, template("timeout-minutes")),
        background: background::is_background(reader, fields),
        work: work(reader, node, fields, kind)?,
    };
    super::commands::check(reader, &step);
    Some(step)
}

fn work(
    reader: &WorkflowReader<'_>,
    node: &YamlNode,
    fields: MappingFields<'_>,
    kind: StepHost,
) -> Option<StepWork> {
    let (availability, _) = kind.slots(reader.dialect);
    let template = |key| fields.read(reader, key, |node| reader.template(node, key, availability));
    let mut beginning = node.place;
    beginning.end = beginning.start + 1;
    let without = |keys: &[&str], why: &str| {
        for entry in keys.iter().filter_map(|key| fields.entry(key)) {
            reader.error(
                entry.key_place,
                format!("a step {why} has no `{}`", entry.key),
            );
        }
    };
    if let Some(control) = background::control(reader, fields) {
        return control;
    }
    match (fields.get("run"), fields.get("uses")) {
        (Some(_), Some(_)) => {
            reader.error(
                beginning,
                "a step has either `run` or `uses`, this has both",
            );
            None
        }
        (None, None) => {
            reader.error_help(
                beginning,
                "a step has neither `run` nor `uses`",
                "a script or an action is needed",
            );
            None
        }
        (Some(script), None) => {
            without(&["with"], "that runs a script");
            let shell = template("shell");
            if kind == StepHost::Action && shell.is_none() {
                reader.strict(
                    beginning,
                    "a script of an action has no `shell`",
                    "actions have no default shell",
                    "it runs by bash; GitHub refuses such an action",
                );
            }
            let script = reader.at_key("run", || reader.template(script, "run", availability))?;
            if script.source.trim().is_empty() {
                let place = fields
                    .entry("run")
                    .map_or(beginning, |entry| entry.key_place);
                reader.warn(place, "the script is empty", "nothing would run");
            }
            Some(StepWork::Run {
                script,
                shell,
                working_directory: template("working-directory"),
            })
        }
        (None, Some(uses)) => {
            without(&["shell", "working-directory"], "that uses an action");
            let with = fields
                .read(reader, "with", |node| {
                    Some(reader.templates(node, "an input", availability))
                })
                .unwrap_or_default();
            let name = super::uses::named(reader, uses)?;
            super::uses::check_action(reader, &name, uses.place);
            super::uses::check_inputs(reader, &name, &with, uses.place);
            Some(StepWork::Uses {
                uses: Located::new(name, uses.place),
                comment: reader.comment_behind(uses.place),
                with,
            })
        }
    }
}
