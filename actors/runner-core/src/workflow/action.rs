//! `action.yml` of a local action: composite actions are read, others named.

use config_core::{Diagnostics, quoted};
use serde::Serialize;

use super::availability::ACTION_TEXT;
use super::parse::{Parsed, read_file};
use super::reader::Reader;
use super::step::{StepHost, read_all};
use super::types::{InputKind, InputSpec, Step};
use crate::expr::Template;
use crate::yaml::{Entry, Node};

/// A local action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    /// Its file in the repository.
    pub file: Box<str>,
    /// Its name.
    pub name: Option<String>,
    /// What it takes; every input is a text.
    pub inputs: Vec<InputSpec>,
    /// What it gives.
    pub outputs: Vec<(String, Template)>,
    /// What it does.
    pub runs: ActionRuns,
}

/// What an action does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionRuns {
    /// Steps.
    Composite(Vec<Step>),
    /// Something else: `node24`, `docker`.
    Other(String),
}

/// Reads an `action.yml`.
///
/// # Errors
/// Every mistake in it.
pub fn parse_action(file: &str, bytes: &[u8]) -> Result<Parsed<Action>, Diagnostics> {
    read_file(file, bytes, |reader, root| action(reader, file, root))
}

fn action(reader: &Reader<'_>, file: &str, root: &Node) -> Option<Action> {
    let known = [
        "name",
        "author",
        "description",
        "inputs",
        "outputs",
        "runs",
        "branding",
    ];
    let fields = reader.fields(root, "an action", &known)?;
    let Some(runs) = fields.get("runs") else {
        reader.error(root.place, "the action has no `runs`");
        return None;
    };
    let runs = reader.within("runs", || self::runs(reader, runs))?;
    let composite = matches!(runs, ActionRuns::Composite(_));
    let inputs = fields.read(reader, "inputs", |node| {
        let entries = reader.entries(node, "inputs")?;
        Some(
            entries
                .iter()
                .filter_map(|entry| reader.within(&entry.key, || input(reader, entry)))
                .collect(),
        )
    });
    let outputs = fields.read(reader, "outputs", |node| {
        let entries = reader.entries(node, "outputs")?;
        Some(
            entries
                .iter()
                .filter_map(|entry| output(reader, entry, composite))
                .collect(),
        )
    });
    Some(Action {
        file: file.into(),
        name: fields.read(reader, "name", |node| reader.plain(node, "name")),
        inputs: inputs.unwrap_or_default(),
        outputs: outputs.unwrap_or_default(),
        runs,
    })
}

fn runs(reader: &Reader<'_>, node: &Node) -> Option<ActionRuns> {
    // Only what composite actions have is looked at; the rest belongs to kinds that are refused.
    let entries = reader.entries(node, "runs")?;
    let get = |key: &str| {
        entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &*entry.value)
    };
    let Some(using) = get("using") else {
        reader.error(node.place, "`runs` has no `using`");
        return None;
    };
    let using = reader.plain(using, "using")?;
    if !using.eq_ignore_ascii_case("composite") {
        return Some(ActionRuns::Other(using));
    }
    let fields = reader.fields(node, "runs", &["using", "steps"])?;
    match fields.get("steps") {
        Some(steps) => reader
            .within("steps", || read_all(reader, steps, StepHost::Action))
            .map(ActionRuns::Composite),
        None => {
            reader.error(node.place, "a composite action has no `steps`");
            None
        }
    }
}

fn input(reader: &Reader<'_>, entry: &Entry) -> Option<InputSpec> {
    let spec = |required, default| InputSpec {
        name: entry.key.clone(),
        description: None,
        kind: InputKind::Text,
        required,
        default,
        place: entry.key_place,
    };
    if entry.value.is_null() {
        return Some(spec(false, None));
    }
    let known = [
        "description",
        "required",
        "default",
        "deprecationMessage",
        "type",
    ];
    let fields = reader.fields(&entry.value, "an input", &known)?;
    let required = fields.read(reader, "required", |node| reader.plain(node, "required"));
    let default = fields.read(reader, "default", |node| {
        reader.template(node, "default", ACTION_TEXT)
    });
    Some(spec(required.as_deref() == Some("true"), default))
}

fn output(reader: &Reader<'_>, entry: &Entry, composite: bool) -> Option<(String, Template)> {
    let fields = reader.fields(&entry.value, "an output", &["description", "value"])?;
    match fields.get("value") {
        Some(value) => Some((
            entry.key.clone(),
            reader.template(value, "value", ACTION_TEXT)?,
        )),
        None => {
            if composite {
                reader.error(
                    entry.key_place,
                    format!("the output {} has no `value`", quoted(&entry.key)),
                );
            }
            None
        }
    }
}
