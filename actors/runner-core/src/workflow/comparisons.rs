//! Comparisons with a text or a value that can never be there: they are the same in every run.

use config_core::quoted;

use super::events;
use super::trigger_types::InputKind;
use super::types::Workflow;
use crate::event_kind::EventKind;
use crate::expr::{BinaryOperator, Chain, ContextName, Expr, ExprValue, KindLookup, ValueType};

const RESULTS: &[&str] = &["success", "failure", "cancelled", "skipped"];
const STATUSES: &[&str] = &["success", "failure", "cancelled"];
const SYSTEMS: &[&str] = &["Linux", "Windows", "macOS"];
const ARCHITECTURES: &[&str] = &["X86", "X64", "ARM", "ARM64"];
const HOSTS: &[&str] = &["github-hosted", "self-hosted"];
const REF_TYPES: &[&str] = &["branch", "tag"];

/// What is said of a comparison: what it comes to, and what was meant.
pub(super) struct Constant {
    pub(super) message: String,
    pub(super) help: String,
}

/// Nothing where a comparison may come out either way.
pub(super) fn constant(
    workflow: &Workflow,
    (operator, left, right): (BinaryOperator, &Expr, &Expr),
    named: KindLookup<'_>,
) -> Option<Constant> {
    let always = match operator {
        BinaryOperator::Equal => "never",
        BinaryOperator::NotEqual => "always",
        _ => return None,
    };
    let (asked, literal) = match (left, right) {
        (Expr::Literal(_), Expr::Literal(_)) => return None,
        (asked, Expr::Literal(literal)) | (Expr::Literal(literal), asked) => (asked, literal),
        _ => return None,
    };
    let unlike = || unlike_kind(asked.kind(named)?, literal);
    let (what, help) = unlike().or_else(|| unlike_values(workflow, &asked.chain()?, literal))?;
    let holds = if operator == BinaryOperator::Equal {
        "never equal to"
    } else {
        "always other than"
    };
    let literal = match literal {
        ExprValue::Text(text) => quoted(text),
        other => format!("`{}`", other.as_text()),
    };
    let message = format!("this comparison {always} holds: {what} is {holds} {literal}");
    Some(Constant { message, help })
}

/// Values of different kinds are compared as numbers (page "Evaluate expressions in workflows").
fn unlike_kind(kind: ValueType, literal: &ExprValue) -> Option<(String, String)> {
    let is_flag = |text: &str| {
        ["true", "false"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(text))
    };
    let is_bit = |number: f64| number == 0.0 || number == 1.0;
    let (what, help) = match (kind, literal) {
        (ValueType::Bool, ExprValue::Text(text)) if !is_bit(literal.number()) => {
            let help = if is_flag(text) {
                format!(
                    "compare it with `{}`, without quotes",
                    text.to_ascii_lowercase()
                )
            } else {
                "it is true or false".to_owned()
            };
            ("a boolean", help)
        }
        (ValueType::Bool, ExprValue::Number(number)) if !is_bit(*number) => {
            ("a boolean", "it is true or false".to_owned())
        }
        (ValueType::Number, ExprValue::Text(_)) if literal.number().is_nan() => {
            ("a number", "compare it with a number".to_owned())
        }
        // What is empty is equal to false; what a text says is not.
        (ValueType::Text, ExprValue::Bool(true)) => {
            ("a text (but `1`)", "write `'true'`, with quotes".to_owned())
        }
        _ => return None,
    };
    Some((what.to_owned(), help))
}

/// Values that GitHub documents (page "Contexts reference").
fn unlike_values(
    workflow: &Workflow,
    chain: &Chain<'_>,
    literal: &ExprValue,
) -> Option<(String, String)> {
    let ExprValue::Text(text) = literal else {
        return None;
    };
    // What is not there is empty.
    if text.is_empty() {
        return None;
    }
    let names: Option<Vec<String>> = chain
        .names
        .iter()
        .map(|name| name.map(str::to_ascii_lowercase))
        .collect();
    let names = names?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let what = format!("`{}`", written(chain));
    match (chain.context, names.as_slice()) {
        (ContextName::Github, ["ref"]) if !text.to_ascii_lowercase().starts_with("refs/") => {
            let help = format!(
                "it is the whole `refs/heads/…`: compare `github.ref_name`, or with {}",
                quoted(&format!("refs/heads/{text}"))
            );
            return Some((what, help));
        }
        (ContextName::Github, ["repository"]) if text.matches('/').count() != 1 => {
            return Some((what, "it is `owner/name`".to_owned()));
        }
        _ => {}
    }
    let known: Vec<&str> = match (chain.context, names.as_slice()) {
        (ContextName::Job, ["status"]) => STATUSES.to_vec(),
        (ContextName::Needs | ContextName::Jobs, [_, "result"])
        | (ContextName::Steps, [_, "outcome" | "conclusion"]) => RESULTS.to_vec(),
        (ContextName::Runner, ["os"]) => SYSTEMS.to_vec(),
        (ContextName::Runner, ["arch"]) => ARCHITECTURES.to_vec(),
        (ContextName::Runner, ["environment"]) => HOSTS.to_vec(),
        (ContextName::Github, ["ref_type"]) => REF_TYPES.to_vec(),
        (ContextName::Github, ["event_name"]) if text.eq_ignore_ascii_case("workflow_call") => {
            let help = "a called workflow has the event of its caller";
            return Some((what, help.to_owned()));
        }
        (ContextName::Github, ["event_name"]) => {
            let kinds = EventKind::ALL.map(EventKind::as_str);
            kinds.into_iter().chain(events::names()).collect()
        }
        (ContextName::Inputs, [name]) => choices(workflow, name)?,
        _ => return None,
    };
    if known.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        return None;
    }
    let near = config_core::suggestion(text, known.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() > 8 => "no event is called so".to_owned(),
        None => format!("it is one of: {}", known.join(", ")),
    };
    Some((what, help))
}

/// The options of an input, where every declaration of it has options.
fn choices<'w>(workflow: &'w Workflow, name: &str) -> Option<Vec<&'w str>> {
    let on = &workflow.on;
    let called = on.workflow_call.iter().flat_map(|call| &call.inputs);
    let all = on.workflow_dispatch.iter().flatten().chain(called);
    let mut options = Vec::new();
    for input in all.filter(|input| input.name.eq_ignore_ascii_case(name)) {
        let InputKind::Choice(choices) = &input.kind else {
            return None;
        };
        options.extend(choices.iter().map(String::as_str));
    }
    (!options.is_empty()).then_some(options)
}

fn written(chain: &Chain<'_>) -> String {
    let names = chain.names.iter().map(|name| name.unwrap_or("*"));
    let all: Vec<&str> = std::iter::once(chain.context.name()).chain(names).collect();
    all.join(".")
}
