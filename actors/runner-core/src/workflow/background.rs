//! Steps beside each other: `background`, `wait`, `wait-all`, `cancel`, `parallel` (page "Workflow
//! syntax", `jobs.<job_id>.steps[*].background` and those after it).

use std::collections::HashSet;

use config_core::quoted;

use super::fields::MappingFields;
use super::reader::WorkflowReader;
use super::types::{Env, Step, StepWork, WaitFor};
use crate::expr::ExprValue;
use crate::source_location::Located;
use crate::yaml::{NodeData, YamlNode};

/// Keys of steps that work on steps in the background.
const CONTROLS: [&str; 3] = ["wait", "wait-all", "cancel"];

/// `background: true`; false is the default.
pub(super) fn is_background(reader: &WorkflowReader<'_>, fields: MappingFields<'_>) -> bool {
    let asked = fields.read(reader, "background", |node| {
        reader.boolean(node, "background")
    });
    asked == Some(true)
}

/// What a step does that waits for others or ends one; nothing where it is no such step.
pub(super) fn control(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
) -> Option<Option<StepWork>> {
    let entry = CONTROLS.iter().find_map(|key| fields.entry(key))?;
    let others = [
        "run",
        "uses",
        "with",
        "shell",
        "working-directory",
        "background",
        "if",
    ];
    for other in others.iter().filter_map(|key| fields.entry(key)) {
        reader.error(
            other.key_place,
            format!("a step with `{}` has no `{}`", entry.key, other.key),
        );
    }
    let idle = ["env", "timeout-minutes"];
    for other in idle.iter().filter_map(|key| fields.entry(key)) {
        let message = format!("`{}` means nothing beside `{}`", other.key, entry.key);
        reader.warn(other.key_place, message, "take it away");
    }
    Some(reader.at_key(&entry.key, || match entry.key.as_str() {
        "wait" => waited(reader, &entry.value).map(StepWork::Wait),
        "cancel" => id(reader, &entry.value, "cancel").map(StepWork::Cancel),
        _ => wait_all(reader, &entry.value),
    }))
}

/// `wait-all` takes nothing, or `true`.
fn wait_all(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<StepWork> {
    match &node.data {
        NodeData::Scalar {
            value: ExprValue::Null | ExprValue::Bool(true),
            ..
        } => Some(StepWork::Wait(WaitFor::All)),
        _ => reader.wrong_kind(node, "wait-all", "nothing"),
    }
}

fn waited(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<WaitFor> {
    let NodeData::List(nodes) = &node.data else {
        return Some(WaitFor::Steps(vec![id(reader, node, "wait")?]));
    };
    if nodes.is_empty() {
        reader.error(node.place, "`wait` names no step");
        return None;
    }
    let ids = nodes.iter().map(|node| id(reader, node, "wait"));
    ids.collect::<Option<_>>().map(WaitFor::Steps)
}

fn id(reader: &WorkflowReader<'_>, node: &YamlNode, what: &str) -> Option<Located<String>> {
    let id = reader.plain(node, what)?;
    Some(Located::new(id, node.place))
}

/// The steps of a `parallel`: in the background, and a wait for all of them. Nothing where the
/// step is none.
pub(super) fn group(
    reader: &WorkflowReader<'_>,
    node: &YamlNode,
    read: impl FnOnce(&YamlNode) -> Option<Vec<Step>>,
) -> Option<Option<Vec<Step>>> {
    let entry = node.entry("parallel")?;
    if reader
        .fields(node, "a group of steps", &["parallel"])
        .is_none()
    {
        return Some(None);
    }
    if let NodeData::List(nodes) = &entry.value.data {
        nodes.iter().for_each(|node| check_member(reader, node));
    }
    let steps = reader.at_key("parallel", || read(&entry.value));
    Some(steps.map(|mut steps| {
        steps.iter_mut().for_each(|step| step.background = true);
        let count = steps.len();
        steps.push(Step {
            place: entry.key_place,
            id: None,
            name: None,
            condition: None,
            env: Env::default(),
            continue_on_error: None,
            timeout_minutes: None,
            background: false,
            work: StepWork::Wait(WaitFor::Group(count)),
        });
        steps
    }))
}

/// What a step of a group cannot be.
fn check_member(reader: &WorkflowReader<'_>, node: &YamlNode) {
    for key in CONTROLS.iter().chain(&["parallel", "background"]) {
        let Some(entry) = node.entry(key) else {
            continue;
        };
        let message = format!("a step of `parallel` has no `{key}`");
        let help = match *key {
            "background" => "its steps are in the background as they are",
            "parallel" => "groups do not stand in each other",
            _ => "a group waits for its steps by itself",
        };
        reader.error_help(entry.key_place, message, help);
    }
}

/// Checks that `wait` and `cancel` name steps in the background that stand before them.
pub(super) fn check_references(reader: &WorkflowReader<'_>, steps: &[Step]) {
    let mut known = HashSet::new();
    for step in steps {
        let named = match &step.work {
            StepWork::Wait(WaitFor::Steps(ids)) => ids.as_slice(),
            StepWork::Cancel(id) => std::slice::from_ref(id),
            _ => &[],
        };
        for id in named {
            if !known.contains(&id.value.to_lowercase()) {
                reader.error_help(
                    id.place,
                    format!(
                        "no step in the background before has the id {}",
                        quoted(&id.value)
                    ),
                    "it is the `id` of an earlier step with `background: true`",
                );
            }
        }
        if let Some(id) = step.id.as_ref().filter(|_| step.background) {
            known.insert(id.to_lowercase());
        }
    }
}

/// Whether one of the steps has waited for the background step at that place, or ended it.
pub(super) fn is_awaited(steps: &[Step], place: usize) -> bool {
    let is_it = |id: &Located<String>| {
        let known = steps[place].id.as_ref();
        known.is_some_and(|known| known.eq_ignore_ascii_case(&id.value))
    };
    let mut later = steps.iter().enumerate().skip(place + 1);
    later.any(|(index, step)| match &step.work {
        StepWork::Wait(WaitFor::All) => true,
        StepWork::Wait(WaitFor::Group(count)) => index - count <= place,
        StepWork::Wait(WaitFor::Steps(ids)) => ids.iter().any(is_it),
        StepWork::Cancel(id) => is_it(id),
        _ => false,
    })
}
