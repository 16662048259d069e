//! What callers hand over: inputs, secrets and outputs of `workflow_call`, inputs of `workflow_dispatch`.

use config_core::quoted;

use super::reader::Reader;
use super::slots::{CALL_DEFAULT, CALL_OUTPUT};
use super::types::{CallTrigger, InputKind, InputSpec, SecretSpec};
use crate::yaml::{Entry, Node};

/// Most inputs of `workflow_dispatch` (page "Workflow syntax for GitHub Actions", `on.workflow_dispatch.inputs`).
const MAX_DISPATCH_INPUTS: usize = 25;

/// `workflow_call`.
pub(super) fn call(reader: &Reader<'_>, node: &Node) -> CallTrigger {
    let Some(fields) = reader.fields(node, "workflow_call", &["inputs", "secrets", "outputs"])
    else {
        return CallTrigger::default();
    };
    let inputs = fields.read(reader, "inputs", |node| Some(inputs(reader, node, false)));
    let secrets = fields.read(reader, "secrets", |node| {
        let read = |entry: &Entry| {
            let fields = (!entry.value.is_null())
                .then(|| reader.fields(&entry.value, "a secret", &["description", "required"]))
                .flatten();
            let required = fields.and_then(|fields| {
                fields.read(reader, "required", |node| reader.boolean(node, "required"))
            });
            SecretSpec {
                name: entry.key.clone(),
                required: required.unwrap_or(false),
            }
        };
        Some(reader.entries(node, "secrets")?.iter().map(read).collect())
    });
    let outputs = fields.read(reader, "outputs", |node| {
        let read = |entry: &Entry| {
            let fields = reader.fields(&entry.value, "an output", &["description", "value"])?;
            let Some(value) = fields.get("value") else {
                reader.error(
                    entry.key_place,
                    format!("the output {} has no `value`", quoted(&entry.key)),
                );
                return None;
            };
            Some((
                entry.key.clone(),
                reader.template(value, "value", CALL_OUTPUT)?,
            ))
        };
        Some(
            reader
                .entries(node, "outputs")?
                .iter()
                .filter_map(read)
                .collect(),
        )
    });
    CallTrigger {
        inputs: inputs.unwrap_or_default(),
        secrets: secrets.unwrap_or_default(),
        outputs: outputs.unwrap_or_default(),
    }
}

/// Inputs of `workflow_dispatch`.
pub(super) fn dispatch(reader: &Reader<'_>, node: &Node) -> Vec<InputSpec> {
    let inputs = inputs(reader, node, true);
    if let Some(first) = inputs.get(MAX_DISPATCH_INPUTS) {
        let message = format!("{} inputs, {MAX_DISPATCH_INPUTS} at most", inputs.len());
        reader.error(first.place, message);
    }
    inputs
}

fn inputs(reader: &Reader<'_>, node: &Node, dispatch: bool) -> Vec<InputSpec> {
    let entries = reader.entries(node, "inputs").unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| reader.within(&entry.key, || input(reader, entry, dispatch)))
        .collect()
}

fn input(reader: &Reader<'_>, entry: &Entry, dispatch: bool) -> Option<InputSpec> {
    let spec = |kind, required, default| InputSpec {
        name: entry.key.clone(),
        kind,
        required,
        default,
        place: entry.key_place,
    };
    if entry.value.is_null() {
        return Some(spec(InputKind::Text, false, None));
    }
    let known = [
        "description",
        "required",
        "default",
        "type",
        "options",
        "deprecationMessage",
    ];
    let fields = reader.fields(&entry.value, "an input", &known)?;
    let kind = match fields.read(reader, "type", |node| {
        Some((reader.plain(node, "type")?, node.place))
    }) {
        None if !dispatch => {
            reader.error_help(
                entry.key_place,
                format!("the input {} has no `type`", quoted(&entry.key)),
                "string, boolean or number",
            );
            InputKind::Text
        }
        None => InputKind::Text,
        Some((kind, place)) => match kind.as_str() {
            "string" => InputKind::Text,
            "boolean" => InputKind::Boolean,
            "number" => InputKind::Number,
            "environment" if dispatch => InputKind::Environment,
            "choice" if dispatch => {
                let options = fields.read(reader, "options", |node| {
                    let texts = reader.one_or_more(node, "options")?.into_iter();
                    Some(
                        texts
                            .filter_map(|node| reader.plain(node, "an option"))
                            .collect(),
                    )
                });
                InputKind::Choice(options.unwrap_or_default())
            }
            _ => {
                let known = if dispatch {
                    "string, boolean, number, choice or environment"
                } else {
                    "string, boolean or number"
                };
                reader.error_help(place, format!("unknown type {}", quoted(&kind)), known);
                InputKind::Text
            }
        },
    };
    let required = fields.read(reader, "required", |node| reader.boolean(node, "required"));
    let default = fields.read(reader, "default", |node| {
        reader.template(node, "default", CALL_DEFAULT)
    });
    Some(spec(kind, required.unwrap_or(false), default))
}
