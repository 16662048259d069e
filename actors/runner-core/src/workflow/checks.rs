//! Checks of single values that jobs, steps and strategies share.

use config_core::quoted;

use super::reader::WorkflowReader;
use crate::expr::{ExprTemplate, ExprValue};
use crate::source_location::SourceLocation;

/// Ids begin with a letter or `_` and hold letters, digits, `-` and `_`.
pub(super) fn check_id(reader: &WorkflowReader<'_>, what: &str, id: &str, place: SourceLocation) {
    let begins = id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let holds = id
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !begins || !holds || id.len() > 100 {
        let message = format!("{} is not an id of {what}", quoted(id));
        reader.error_help(
            place,
            message,
            "a letter or `_`, then letters, digits, `-` and `_`, 100 at most",
        );
    } else if id.starts_with("__") {
        let message = format!("{} is not an id of {what}", quoted(id));
        reader.error_help(place, message, "ids that begin with `__` are reserved");
    }
}

/// The id of a job; Gitea and Forgejo take any that is not empty.
pub(super) fn check_job_id(reader: &WorkflowReader<'_>, id: &str, place: SourceLocation) {
    let plain = |c: char| !c.is_control() && !"/\\".contains(c);
    let is_taken = !id.trim().is_empty() && id.len() <= 100 && id.chars().all(plain);
    if !reader.dialect.is_forge() || !is_taken {
        return check_id(reader, "a job", id, place);
    }
    let usual = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.chars().all(usual) {
        let message = format!("{} is an unusual id of a job", quoted(id));
        let help = "GitHub refuses it, and `needs.<id>` cannot name it: use `name` for people";
        reader.warn(place, message, help);
    }
}

/// A template that, if it is fixed, is true or false.
pub(super) fn checked_bool(
    reader: &WorkflowReader<'_>,
    template: Option<ExprTemplate>,
    what: &str,
) -> Option<ExprTemplate> {
    let template = template?;
    if template
        .fixed()
        .is_some_and(|value| !["true", "false"].contains(&&*value.as_text()))
    {
        reader.error(
            template.place,
            format!(
                "{what} is {}, expected true or false",
                quoted(&template.source)
            ),
        );
    }
    Some(template)
}

/// The same of a step, where 0 stands for no limit, as on GitHub.
pub(super) fn checked_step_minutes(
    reader: &WorkflowReader<'_>,
    template: Option<ExprTemplate>,
) -> Option<ExprTemplate> {
    let is_zero = |template: &ExprTemplate| {
        let value = template.fixed();
        value.is_some_and(|value| matches!(value, ExprValue::Number(_)) && value.number() == 0.0)
    };
    match template {
        Some(template) if is_zero(&template) => Some(template),
        template => checked_minutes(reader, template),
    }
}

/// A template that, if it is fixed, is a number above 0; in quotes it is a text, which GitHub does
/// not take.
pub(super) fn checked_minutes(
    reader: &WorkflowReader<'_>,
    template: Option<ExprTemplate>,
) -> Option<ExprTemplate> {
    let template = template?;
    if template.fixed().is_some_and(|value| {
        let number = value.number();
        let is_number = matches!(value, ExprValue::Number(_)) || reader.dialect.is_forge();
        !is_number || number.is_nan() || number <= 0.0
    }) {
        let message = format!(
            "timeout-minutes is {}, expected a number above 0",
            quoted(&template.source)
        );
        reader.error(template.place, message);
    }
    Some(template)
}

/// A template that, if it is fixed, is a number.
pub(super) fn checked_count(
    reader: &WorkflowReader<'_>,
    template: Option<ExprTemplate>,
) -> Option<ExprTemplate> {
    let template = template?;
    let in_text = reader.dialect.is_forge();
    let is_count = |value: &ExprValue| match value {
        ExprValue::Number(number) => number.is_finite(),
        ExprValue::Text(_) => in_text && value.number().is_finite(),
        _ => false,
    };
    if template.fixed().is_some_and(|value| !is_count(&value)) {
        let message = format!(
            "max-parallel is {}, expected a number",
            quoted(&template.source)
        );
        reader.error(template.place, message);
    } else if let Some(ExprValue::Number(number)) = template.fixed()
        && (number < 1.0 || number.fract() != 0.0)
    {
        let message = format!("max-parallel is {}", quoted(&template.source));
        let help = match number < 1.0 {
            true => "a number below 1 is no limit: all copies run at once",
            false => "it counts without its fraction",
        };
        reader.warn(template.place, message, help);
    }
    Some(template)
}
