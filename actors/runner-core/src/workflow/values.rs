//! Values of expressions that can be told before anything runs: calls that fail, kinds that are
//! lost.

use config_core::quoted;

use super::comparisons;
use super::kinds::{self, KindByName};
use super::reader::WorkflowReader;
use super::sites::{ExpectedKind, ExpressionSite, SiteVisitor};
use super::types::Workflow;
use crate::expr::{BinaryOperator, ContextName, Expr, ExprValue, Function, KindLookup, ValueType};
use crate::source_location::SourceLocation;

/// Errors where GitHub refuses the file, else warnings.
pub(super) fn check(reader: &WorkflowReader<'_>, workflow: &Workflow) {
    let inputs = kinds::of_inputs(workflow);
    // Of the job that is being gone through.
    let mut rows: (Option<&str>, KindByName) = Default::default();
    SiteVisitor::workflow(reader, workflow, &mut |site| {
        if reader.is_wrong(site.place) {
            return;
        }
        let id = site.job.map(|job| job.id.as_str());
        if rows.0 != id {
            rows = (id, site.job.map(kinds::of_matrix).unwrap_or_default());
        }
        let named = |context, name: &str| {
            let kinds = if context == ContextName::Inputs {
                &inputs
            } else {
                &rows.1
            };
            kinds.get(&name.to_ascii_lowercase()).copied().flatten()
        };
        for (nth, expr) in site.expressions.iter().enumerate() {
            let at = ExpressionLocation {
                reader,
                workflow,
                site,
                nth,
            };
            expr.walk(&mut |expr| part(&at, expr, &named));
            value_use(&at, expr.kind(&named));
        }
    });
}

/// An expression's place, looked for only when there is something to say.
struct ExpressionLocation<'s, 'a, 'w> {
    reader: &'s WorkflowReader<'a>,
    workflow: &'s Workflow,
    site: &'s ExpressionSite<'w>,
    nth: usize,
}

impl ExpressionLocation<'_, '_, '_> {
    fn place(&self) -> SourceLocation {
        self.reader
            .nth_place(self.site.place, self.site.source, self.nth)
    }

    fn error(&self, message: String, help: &str) {
        if !self.reader.is_full_of_errors() {
            self.reader.error_help(self.place(), message, help);
        }
    }

    fn warn(&self, message: impl Into<String>, help: &str) {
        if !self.reader.is_full() {
            self.reader.warn(self.place(), message, help);
        }
    }
}

/// One call, comparison or property.
fn part(at: &ExpressionLocation<'_, '_, '_>, expr: &Expr, named: KindLookup<'_>) {
    match expr {
        Expr::Call(Function::Format, arguments) => {
            let wrong = literal(arguments)
                .and_then(|text| Function::check_format(text, arguments.len() - 1).err());
            if let Some(error) = wrong {
                let help = "`{0}` is the first value; write braces twice";
                at.error(error.to_string(), help);
            }
        }
        Expr::Call(Function::FromJson, arguments) => {
            if let Some(error) = literal(arguments).and_then(|text| Function::read_json(text).err())
            {
                let help = "without a value the step or the job fails";
                at.warn(error.to_string(), help);
            }
        }
        Expr::Binary(BinaryOperator::And | BinaryOperator::Or, ..) => {}
        Expr::Binary(operator, left, right) => {
            if let (Some(left), Some(right)) = (left.kind(named), right.kind(named)) {
                comparison(at, *operator, left, right);
            }
            let sides = (*operator, &**left, &**right);
            if let Some(constant) = comparisons::constant(at.workflow, sides, named) {
                at.warn(constant.message, &constant.help);
            }
        }
        Expr::Index(inner, name) => property(at, inner.kind(named), name),
        _ => {}
    }
}

/// The first argument, if it is a text as written.
fn literal(arguments: &[Expr]) -> Option<&str> {
    match arguments.first() {
        Some(Expr::Literal(ExprValue::Text(text))) => Some(text),
        _ => None,
    }
}

/// Two values of which one is a list or an object are equal only when they are the same one; those
/// that are no numbers are never less or more.
fn comparison(
    at: &ExpressionLocation<'_, '_, '_>,
    operator: BinaryOperator,
    left: ValueType,
    right: ValueType,
) {
    let holds_many = |kind| matches!(kind, ValueType::List | ValueType::Object);
    // What is there in one copy of a job may be nothing in another.
    let nothing = left == ValueType::Null || right == ValueType::Null;
    if nothing || !holds_many(left) && !holds_many(right) {
        return;
    }
    if left == right && matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual) {
        return;
    }
    let result = if operator == BinaryOperator::NotEqual {
        "true"
    } else {
        "false"
    };
    let message = format!(
        "{} compared with {} is always {result}",
        left.name(),
        right.name()
    );
    at.warn(message, "compare texts, numbers or booleans");
}

fn property(at: &ExpressionLocation<'_, '_, '_>, kind: Option<ValueType>, name: &Expr) {
    let Some(kind) = kind else {
        return;
    };
    if matches!(kind, ValueType::List | ValueType::Object) {
        return;
    }
    let name = match name {
        Expr::Literal(value) => quoted(&value.as_text()),
        _ => "`[…]`".to_owned(),
    };
    let message = format!("{} has no property {name}", kind.name());
    at.warn(message, "it is always empty");
}

/// What becomes of the value.
fn value_use(at: &ExpressionLocation<'_, '_, '_>, kind: Option<ValueType>) {
    let Some(kind) = kind else {
        return;
    };
    let site = at.site;
    match site.expected {
        ExpectedKind::Object
            if !site.alone || !matches!(kind, ValueType::Object | ValueType::Null) =>
        {
            let found = if site.alone { kind.name() } else { "a text" };
            let message = format!("env is {found}, expected an object");
            at.warn(message, "the step or the job would fail; write a mapping");
        }
        ExpectedKind::Text
            if matches!(kind, ValueType::List | ValueType::Object | ValueType::Null) =>
        {
            let message = match kind {
                ValueType::Null => "an empty value leaves nothing in a text".to_owned(),
                kind => format!("{} in a text says only `{}`", kind.name(), kind.in_text()),
            };
            at.warn(message, "`toJSON` writes out what it holds");
        }
        _ => {}
    }
}
