//! Checks of single values that jobs, steps and strategies share.

use config_core::quoted;

use super::reader::Reader;
use crate::expr::{Template, Value};
use crate::source_location::SourceLocation;

/// Ids begin with a letter or `_` and hold letters, digits, `-` and `_`.
pub(super) fn check_id(reader: &Reader<'_>, what: &str, id: &str, place: SourceLocation) {
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

/// A template that, if it is fixed, is true or false.
pub(super) fn checked_bool(
    reader: &Reader<'_>,
    template: Option<Template>,
    what: &str,
) -> Option<Template> {
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
    reader: &Reader<'_>,
    template: Option<Template>,
) -> Option<Template> {
    let is_zero = |template: &Template| {
        let value = template.fixed();
        value.is_some_and(|value| matches!(value, Value::Number(_)) && value.number() == 0.0)
    };
    match template {
        Some(template) if is_zero(&template) => Some(template),
        template => checked_minutes(reader, template),
    }
}

/// A template that, if it is fixed, is a number above 0; in quotes it is a text, which GitHub does
/// not take.
pub(super) fn checked_minutes(reader: &Reader<'_>, template: Option<Template>) -> Option<Template> {
    let template = template?;
    if template.fixed().is_some_and(|value| {
        let number = value.number();
        !matches!(value, Value::Number(_)) || number.is_nan() || number <= 0.0
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
pub(super) fn checked_count(reader: &Reader<'_>, template: Option<Template>) -> Option<Template> {
    let template = template?;
    let is_count = |value: &Value| matches!(value, Value::Number(number) if number.is_finite());
    if template.fixed().is_some_and(|value| !is_count(&value)) {
        let message = format!(
            "max-parallel is {}, expected a number",
            quoted(&template.source)
        );
        reader.error(template.place, message);
    }
    Some(template)
}
