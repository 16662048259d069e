//! `action.yml`: composite, JavaScript and Docker actions are read, others named.

use config_core::{Diagnostics, quoted};
use serde::Serialize;

use super::availability::{ACTION_CONDITION, ACTION_TEXT};
use super::dialect::Dialect;
use super::docker_runs::DockerRuns;
use super::fields::MappingFields;
use super::parse::{ParsedFile, read_file};
use super::reader::WorkflowReader;
use super::step::{StepHost, read_all};
use super::trigger_types::{InputKind, InputSpec};
use super::types::Step;
use crate::expr::{ExprTemplate, IfCondition};
use crate::yaml::{YamlEntry, YamlNode};

/// An action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    /// Its file in the repository.
    pub file: Box<str>,
    /// Its name.
    pub name: Option<String>,
    /// What it takes; every input is a text. The description of one is what it says when it is
    /// deprecated.
    pub inputs: Vec<InputSpec>,
    /// What it gives.
    pub outputs: Vec<(String, ExprTemplate)>,
    /// The names of what it says that it gives, with or without a value here.
    pub declared_outputs: Vec<String>,
    /// What it does.
    pub runs: ActionRuns,
}

/// What an action does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionRuns {
    /// Steps.
    Composite(Vec<Step>),
    /// A program in JavaScript.
    Node(NodeRuns),
    /// A container.
    Docker(Box<DockerRuns>),
    /// Something else.
    Other(String),
}

/// What a JavaScript action runs: files, relative to the action's folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRuns {
    /// The least major version of Node that it wants: 20 of `node20`.
    pub major: u32,
    /// What runs as its step.
    pub main: String,
    /// What runs before the job's first step.
    pub pre: Option<NodeStage>,
    /// What runs after the job's last step.
    pub post: Option<NodeStage>,
}

/// What runs before or after the steps of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeStage {
    /// The file.
    pub script: String,
    /// Whether it runs; always without one.
    pub condition: Option<IfCondition>,
}

/// Reads an `action.yml` by the grammar of the workflow that uses it.
///
/// # Errors
/// Every mistake in it.
pub fn parse_action(
    file: &str,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<ParsedFile<Action>, Diagnostics> {
    read_file(file, bytes, dialect, |reader, root| {
        action(reader, file, root, ExtraKeys::Known)
    })
}

/// The same of an action of another repository: keys that GitHub does not look at are nobody's
/// mistake here.
///
/// # Errors
/// What makes it no action.
pub fn parse_stored_action(
    file: &str,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<ParsedFile<Action>, Diagnostics> {
    read_file(file, bytes, dialect, |reader, root| {
        action(reader, file, root, ExtraKeys::Any)
    })
}

/// Which keys may stand beside those that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtraKeys {
    /// Only documented ones.
    Known,
    /// Any.
    Any,
}

impl ExtraKeys {
    fn fields<'n>(
        self,
        reader: &WorkflowReader<'_>,
        node: &'n YamlNode,
        what: &str,
        known: &[&str],
    ) -> Option<MappingFields<'n>> {
        match self {
            Self::Known => {
                reader.entries(node, what)?;
                let fields = MappingFields::from_node(node)?;
                for entry in fields.entries() {
                    if !known.contains(&entry.key.as_str()) {
                        let message = format!("unknown key {} in {what}", quoted(&entry.key));
                        let near = reader.closest_name(&entry.key, known.iter().copied());
                        let help = near.map_or_else(
                            || "GitHub does not look at it".to_owned(),
                            |near| format!("did you mean `{near}`?"),
                        );
                        reader.warn(entry.key_place, message, help);
                    }
                }
                Some(fields)
            }
            Self::Any => {
                reader.entries(node, what)?;
                MappingFields::from_node(node)
            }
        }
    }
}

fn action(
    reader: &WorkflowReader<'_>,
    file: &str,
    root: &YamlNode,
    strictness: ExtraKeys,
) -> Option<Action> {
    let known = [
        "name",
        "author",
        "description",
        "inputs",
        "outputs",
        "runs",
        "branding",
    ];
    let fields = strictness.fields(reader, root, "an action", &known)?;
    let Some(runs) = fields.get("runs") else {
        reader.error(root.place, "the action has no `runs`");
        return None;
    };
    let runs = reader.at_key("runs", || self::runs(reader, runs))?;
    let composite = matches!(runs, ActionRuns::Composite(_));
    let inputs = fields.read(reader, "inputs", |node| {
        let entries = reader.entries(node, "inputs")?;
        Some(
            entries
                .iter()
                .filter_map(|entry| reader.at_key(&entry.key, || input(reader, entry, strictness)))
                .collect(),
        )
    });
    let outputs = fields.read(reader, "outputs", |node| {
        let entries = reader.entries(node, "outputs")?;
        Some(
            entries
                .iter()
                .filter_map(|entry| output(reader, entry, composite, strictness))
                .collect(),
        )
    });
    let declared = fields.get("outputs").and_then(MappingFields::from_node);
    let declared = declared.iter().flat_map(MappingFields::entries);
    Some(Action {
        declared_outputs: declared.map(|entry| entry.key.clone()).collect(),
        file: file.into(),
        name: fields.read(reader, "name", |node| reader.plain(node, "name")),
        inputs: inputs.unwrap_or_default(),
        outputs: outputs.unwrap_or_default(),
        runs,
    })
}

fn runs(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<ActionRuns> {
    // Each kind has keys of its own; those of kinds that are refused are not looked at.
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
    let lower = using.to_ascii_lowercase();
    let major = lower.strip_prefix("node").map(str::parse);
    if let Some(Ok(major)) = major {
        return node_runs(reader, node, major).map(ActionRuns::Node);
    }
    if lower == "docker" {
        let runs = super::docker_runs::read(reader, node)?;
        return Some(ActionRuns::Docker(Box::new(runs)));
    }
    if lower != "composite" {
        return Some(ActionRuns::Other(using));
    }
    let fields = reader.fields(node, "runs", &["using", "steps"])?;
    match fields.get("steps") {
        Some(steps) => reader
            .at_key("steps", || read_all(reader, steps, StepHost::Action))
            .map(ActionRuns::Composite),
        None => {
            reader.error(node.place, "a composite action has no `steps`");
            None
        }
    }
}

/// `main`, and what runs before and after the job's steps.
fn node_runs(reader: &WorkflowReader<'_>, node: &YamlNode, major: u32) -> Option<NodeRuns> {
    let known = [
        "using", "main", "pre", "pre-if", "post", "post-if", "args", "env",
    ];
    let fields = reader.fields(node, "runs", &known)?;
    let file = |key: &str| fields.read(reader, key, |node| reader.plain(node, key));
    let Some(main) = file("main") else {
        reader.error(node.place, "a JavaScript action has no `main`");
        return None;
    };
    let stage = |key: &str, condition: &str| {
        let script = file(key)?;
        let condition = fields.read(reader, condition, |node| {
            reader.condition(node, ACTION_CONDITION)
        });
        Some(NodeStage { script, condition })
    };
    Some(NodeRuns {
        major,
        main,
        pre: stage("pre", "pre-if"),
        post: stage("post", "post-if"),
    })
}

fn input(
    reader: &WorkflowReader<'_>,
    entry: &YamlEntry,
    strictness: ExtraKeys,
) -> Option<InputSpec> {
    let spec = |required, default, deprecated| InputSpec {
        name: entry.key.clone(),
        description: deprecated,
        kind: InputKind::Text,
        required,
        default,
        place: entry.key_place,
    };
    if entry.value.is_null() {
        return Some(spec(false, None, None));
    }
    let known = [
        "description",
        "required",
        "default",
        "deprecationMessage",
        "type",
    ];
    let fields = strictness.fields(reader, &entry.value, "an input", &known)?;
    let required = fields.read(reader, "required", |node| reader.plain(node, "required"));
    let default = fields.read(reader, "default", |node| {
        reader.template(node, "default", ACTION_TEXT)
    });
    let deprecated = fields
        .get("deprecationMessage")
        .and_then(|node| node.text());
    Some(spec(
        required.as_deref() == Some("true"),
        default,
        deprecated.map(str::to_owned),
    ))
}

fn output(
    reader: &WorkflowReader<'_>,
    entry: &YamlEntry,
    composite: bool,
    strictness: ExtraKeys,
) -> Option<(String, ExprTemplate)> {
    if !composite && entry.value.is_null() {
        return None;
    }
    let known = ["description", "value"];
    let fields = strictness.fields(reader, &entry.value, "an output", &known)?;
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
