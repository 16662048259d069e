//! What callers hand over: inputs, secrets and outputs of `workflow_call`, inputs of
//! `workflow_dispatch`.

use config_core::quoted;

use super::availability::{CALL_DEFAULT, CALL_OUTPUT};
use super::fields::MappingFields;
use super::reader::WorkflowReader;
use super::trigger_types::{CallTrigger, InputKind, InputSpec, SecretSpec};
use crate::expr::{ContextName, Expr, ExprValue};
use crate::yaml::{YamlEntry, YamlNode};

/// Most inputs of `workflow_dispatch` (page "Workflow syntax for GitHub Actions",
/// `on.workflow_dispatch.inputs`).
const MAX_DISPATCH_INPUTS: usize = 25;

/// `workflow_call`.
pub(super) fn call(reader: &WorkflowReader<'_>, node: &YamlNode) -> CallTrigger {
    let Some(fields) = reader.fields(node, "workflow_call", &["inputs", "secrets", "outputs"])
    else {
        return CallTrigger::default();
    };
    let inputs = fields.read(reader, "inputs", |node| Some(inputs(reader, node, false)));
    check_references(reader, inputs.as_deref().unwrap_or_default());
    let secrets = fields.read(reader, "secrets", |node| {
        let read = |entry: &YamlEntry| {
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
        let read = |entry: &YamlEntry| {
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
pub(super) fn dispatch(reader: &WorkflowReader<'_>, node: &YamlNode) -> Vec<InputSpec> {
    let inputs = inputs(reader, node, true);
    if let Some(first) = inputs.get(MAX_DISPATCH_INPUTS) {
        let message = format!("{} inputs, {MAX_DISPATCH_INPUTS} at most", inputs.len());
        reader.error(first.place, message);
    }
    inputs
}

fn inputs(reader: &WorkflowReader<'_>, node: &YamlNode, dispatch: bool) -> Vec<InputSpec> {
    let entries = reader.entries(node, "inputs").unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let input = reader.at_key(&entry.key, || input(reader, entry, dispatch));
            if input.is_none() {
                reader.lose();
            }
            input
        })
        .collect()
}

fn input(reader: &WorkflowReader<'_>, entry: &YamlEntry, dispatch: bool) -> Option<InputSpec> {
    let mut spec = InputSpec {
        name: entry.key.clone(),
        description: None,
        kind: InputKind::Text,
        required: false,
        default: None,
        place: entry.key_place,
    };
    if entry.value.is_null() {
        if !dispatch {
            no_type(reader, entry);
        }
        return Some(spec);
    }
    let known = [
        "description",
        "required",
        "default",
        "type",
        "options",
        "deprecationMessage",
    ];
    let fields = if dispatch {
        reader.loose_fields(&entry.value, "an input", &known)?
    } else {
        reader.fields(&entry.value, "an input", &known)?
    };
    // Only shown: whatever it is, it is no mistake.
    let description = fields.get("description").and_then(|node| node.text());
    spec.description = description.map(str::to_owned);
    spec.kind = kind(reader, entry, fields, dispatch);
    let required = fields.read(reader, "required", |node| reader.boolean(node, "required"));
    spec.required = required.unwrap_or(false);
    spec.default = fields.read(reader, "default", |node| {
        reader.template(node, "default", CALL_DEFAULT)
    });
    check_default(reader, &spec, dispatch);
    Some(spec)
}

fn no_type(reader: &WorkflowReader<'_>, entry: &YamlEntry) {
    reader.error_help(
        entry.key_place,
        format!("the input {} has no `type`", quoted(&entry.key)),
        "string, boolean or number",
    );
}

fn kind(
    reader: &WorkflowReader<'_>,
    entry: &YamlEntry,
    fields: MappingFields<'_>,
    dispatch: bool,
) -> InputKind {
    let written = fields.read(reader, "type", |node| {
        Some((reader.plain(node, "type")?, node.place))
    });
    let name = written.as_ref().map(|(kind, _)| kind.as_str());
    if name != Some("choice")
        && let Some(options) = fields.entry("options")
    {
        let message = format!(
            "the input {} has `options`, but is no choice",
            quoted(&entry.key)
        );
        let help = "its `type` is `choice`";
        if dispatch {
            let help = format!("{help}; GitHub lets anything be given");
            reader.warn(options.key_place, message, help);
        } else {
            reader.error_help(options.key_place, message, help);
        }
    }
    match written {
        None => {
            if !dispatch {
                no_type(reader, entry);
            }
            InputKind::Text
        }
        Some((kind, place)) => match kind.as_str() {
            "string" => InputKind::Text,
            "boolean" => InputKind::Boolean,
            "number" => InputKind::Number,
            "environment" if dispatch => InputKind::Environment,
            "choice" if dispatch => InputKind::Choice(options(reader, entry, fields)),
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
    }
}

/// The options of a choice: at least one; one that stands twice is only odd.
fn options(
    reader: &WorkflowReader<'_>,
    entry: &YamlEntry,
    fields: MappingFields<'_>,
) -> Vec<String> {
    let nodes = fields.read(reader, "options", |node| {
        reader.one_or_more(node, "options")
    });
    let mut options: Vec<String> = Vec::new();
    for node in nodes.unwrap_or_default() {
        let Some(option) = reader.plain(node, "an option") else {
            continue;
        };
        if options.contains(&option) {
            let message = format!("the option {} is there twice", quoted(&option));
            reader.warn(node.place, message, "take one of them away");
        }
        options.push(option);
    }
    if options.is_empty() {
        let message = format!("the choice {} has no `options`", quoted(&entry.key));
        reader.error_help(entry.key_place, message, "for example `options: [a, b]`");
    }
    options
}

/// A default that needs no expression has a value of the input's kind.
fn check_default(reader: &WorkflowReader<'_>, spec: &InputSpec, dispatch: bool) {
    let Some(default) = &spec.default else {
        return;
    };
    if spec.required && !dispatch {
        let message = format!(
            "{} must be given: its default is never used",
            quoted(&spec.name)
        );
        let help = "leave out `required`, or the default";
        reader.warn(default.place, message, help);
    }
    let Some(value) = default.fixed() else {
        return;
    };
    let Err(message) = crate::plan::typed_input(Some(value), &spec.kind, &spec.name) else {
        return;
    };
    match &spec.kind {
        // A form shows the first option instead; a run that is started without it is refused.
        InputKind::Choice(options) if options.is_empty() => {}
        InputKind::Choice(_) => {
            reader.warn(default.place, message, "the default is one of the options");
        }
        _ => reader.error_help(default.place, message, "the default is of the input's type"),
    }
}

/// Defaults that name inputs: those that stand before theirs are known, and one that is another
/// input's value has its type.
fn check_references(reader: &WorkflowReader<'_>, inputs: &[InputSpec]) {
    for (at, spec) in inputs.iter().enumerate() {
        let Some(default) = &spec.default else {
            continue;
        };
        for expr in default.expressions() {
            expr.walk(&mut |part| {
                let Some(name) = input_of(part) else {
                    return;
                };
                let is_named = |known: &&InputSpec| known.name.eq_ignore_ascii_case(name);
                let Some(known) = inputs[..at].iter().find(is_named) else {
                    // One that is nowhere is found with all other references.
                    if inputs[at..].iter().any(|known| is_named(&known)) {
                        let message = format!("no input {} stands before this one", quoted(name));
                        reader.warn(default.place, message, "the default is empty then");
                    }
                    return;
                };
                let is_whole = default.is_one_expression() && input_of(expr) == Some(name);
                let is_text = known.kind == InputKind::Text;
                if is_whole && is_text && spec.kind != InputKind::Text {
                    let message = format!(
                        "the default of {} is a text, as {} is",
                        quoted(&spec.name),
                        quoted(name)
                    );
                    reader.warn(default.place, message, "a call without this input fails");
                }
            });
        }
    }
}

/// The name in `inputs.name`.
fn input_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Index(of, by) => match (&**of, &**by) {
            (Expr::Context(ContextName::Inputs), Expr::Literal(ExprValue::Text(name))) => {
                Some(name)
            }
            _ => None,
        },
        _ => None,
    }
}
