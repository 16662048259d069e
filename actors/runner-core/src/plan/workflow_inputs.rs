//! The value of an input of a workflow, of the kind it declares.

use crate::expr::ExprValue;
use crate::workflow::InputKind;

/// The value of an input, of the kind it declares.
pub(crate) fn typed(
    value: Option<ExprValue>,
    kind: &InputKind,
    name: &str,
) -> Result<ExprValue, String> {
    let wrong = |value: &ExprValue, wanted: &str| {
        Err(format!(
            "the input {} is {}, expected {wanted}",
            config_core::quoted(name),
            config_core::quoted(&value.as_text())
        ))
    };
    Ok(match (kind, value) {
        (InputKind::Boolean, None) => false.into(),
        (InputKind::Number, None) => 0.0.into(),
        (_, None) => "".into(),
        (InputKind::Boolean, Some(ExprValue::Bool(value))) => value.into(),
        (InputKind::Boolean, Some(value)) => match &*value.as_text() {
            "true" => true.into(),
            "false" | "" => false.into(),
            _ => return wrong(&value, "true or false"),
        },
        (InputKind::Number, Some(value)) if !value.number().is_nan() => value.number().into(),
        (InputKind::Number, Some(value)) => return wrong(&value, "a number"),
        (InputKind::Choice(options), Some(value))
            if !options.iter().any(|option| **option == *value.as_text()) =>
        {
            return wrong(&value, &options.join(", "));
        }
        (_, Some(value)) => ExprValue::Text(value.as_text()),
    })
}
