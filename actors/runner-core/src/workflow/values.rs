//! Values of expressions that can be told before anything runs: calls that fail, kinds that are lost.

use config_core::quoted;

use super::reader::Reader;
use super::sites::{Site, Walk, Wanted};
use super::types::Workflow;
use crate::expr::{Expr, Function, Kind, Operator, Value};
use crate::place::Place;

/// Errors where GitHub refuses the file, else warnings.
pub(super) fn check(reader: &Reader<'_>, workflow: &Workflow) {
    Walk::workflow(reader, workflow, &mut |site| {
        if reader.is_wrong(site.place) {
            return;
        }
        for (nth, expr) in site.expressions.iter().enumerate() {
            let place = reader.nth_place(site.place, site.source, nth);
            expr.walk(&mut |expr| part(reader, expr, place));
            whole(reader, site, expr, place);
        }
    });
}

/// One call, comparison or property.
fn part(reader: &Reader<'_>, expr: &Expr, place: Place) {
    match expr {
        Expr::Call(Function::Format, arguments) => {
            let wrong = literal(arguments)
                .and_then(|text| Function::check_format(text, arguments.len() - 1).err());
            if let Some(error) = wrong {
                let help = "`{0}` is the first value; write braces twice";
                reader.error_help(place, error.to_string(), help);
            }
        }
        Expr::Call(Function::FromJson, arguments) => {
            if let Some(error) = literal(arguments).and_then(|text| Function::read_json(text).err())
            {
                let help = "without a value the step or the job fails";
                reader.warn(place, error.to_string(), help);
            }
        }
        Expr::Binary(operator, left, right) => comparison(reader, *operator, left, right, place),
        Expr::Index(inner, name) => property(reader, inner, name, place),
        _ => {}
    }
}

/// The first argument, if it is a text as written.
fn literal(arguments: &[Expr]) -> Option<&str> {
    match arguments.first() {
        Some(Expr::Literal(Value::Text(text))) => Some(text),
        _ => None,
    }
}

/// Two values of which one is a list or an object are equal only when they are the same one; those
/// that are no numbers are never less or more.
fn comparison(reader: &Reader<'_>, operator: Operator, left: &Expr, right: &Expr, place: Place) {
    if matches!(operator, Operator::And | Operator::Or) {
        return;
    }
    let (Some(left), Some(right)) = (left.kind(), right.kind()) else {
        return;
    };
    let holds_many = |kind| matches!(kind, Kind::List | Kind::Object);
    if !holds_many(left) && !holds_many(right) {
        return;
    }
    if left == right && matches!(operator, Operator::Equal | Operator::NotEqual) {
        return;
    }
    let result = if operator == Operator::NotEqual {
        "true"
    } else {
        "false"
    };
    let message = format!(
        "{} compared with {} is always {result}",
        left.name(),
        right.name()
    );
    reader.warn(place, message, "compare texts, numbers or booleans");
}

fn property(reader: &Reader<'_>, inner: &Expr, name: &Expr, place: Place) {
    let Some(kind) = inner.kind() else {
        return;
    };
    if matches!(kind, Kind::List | Kind::Object) {
        return;
    }
    let name = match name {
        Expr::Literal(value) => quoted(&value.as_text()),
        _ => "`[…]`".to_owned(),
    };
    let message = format!("{} has no property {name}", kind.name());
    reader.warn(place, message, "it is always empty");
}

/// What becomes of the value.
fn whole(reader: &Reader<'_>, site: &Site<'_>, expr: &Expr, place: Place) {
    let Some(kind) = expr.kind() else {
        return;
    };
    match site.wanted {
        Wanted::Object if !site.alone || !matches!(kind, Kind::Object | Kind::Null) => {
            let found = if site.alone { kind.name() } else { "a text" };
            let message = format!("env is {found}, expected an object");
            reader.warn(
                place,
                message,
                "the step or the job would fail; write a mapping",
            );
        }
        Wanted::Text if matches!(kind, Kind::List | Kind::Object | Kind::Null) => {
            let message = match kind {
                Kind::Null => "an empty value leaves nothing in a text".to_owned(),
                kind => format!("{} in a text says only `{}`", kind.name(), kind.in_text()),
            };
            reader.warn(place, message, "`toJSON` writes out what it holds");
        }
        _ => {}
    }
}
