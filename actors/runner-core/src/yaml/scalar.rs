//! What a plain scalar stands for: the core schema of YAML 1.2, in which `on` and `yes` are texts.

use crate::expr::ExprValue;

/// The value of a plain scalar.
pub(crate) fn resolve(text: &str) -> ExprValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ExprValue::Null,
        "true" | "True" | "TRUE" => ExprValue::Bool(true),
        "false" | "False" | "FALSE" => ExprValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => ExprValue::Number(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => ExprValue::Number(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => ExprValue::Number(f64::NEG_INFINITY),
        _ => number(text).map_or_else(|| ExprValue::text(text), ExprValue::Number),
    }
}

/// The number a scalar spells: `-?digits`, `0o…`, `0x…`, or a decimal fraction with exponent.
fn number(text: &str) -> Option<f64> {
    let integer = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    let digits_only = |digits: &str| !digits.is_empty() && !digits.starts_with(['+', '-']);
    // An integer too large to be exact is still the number a reader of JSON would make of it.
    #[allow(clippy::cast_precision_loss)]
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| digits_only(digits)) {
        return integer(digits, 16).map(|number| number as f64);
    }
    #[allow(clippy::cast_precision_loss)]
    if let Some(digits) = text.strip_prefix("0o").filter(|digits| digits_only(digits)) {
        return integer(digits, 8).map(|number| number as f64);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit())
        || (unsigned.starts_with('.') && unsigned[1..].starts_with(|c: char| c.is_ascii_digit()));
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !begins || !unsigned.chars().all(allowed) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_schema_decides() {
        for (text, json) in [
            ("on", "\"on\""),
            ("yes", "\"yes\""),
            ("", "null"),
            ("~", "null"),
            ("True", "true"),
            ("3.10", "3.1"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("017", "17"),
            ("1e3", "1000"),
            ("-.5", "-0.5"),
            ("1.2.3", "\"1.2.3\""),
            ("12:30", "\"12:30\""),
            ("1_000", "\"1_000\""),
            ("-", "\"-\""),
            ("0x", "\"0x\""),
            ("2026-11-21", "\"2026-11-21\""),
        ] {
            assert_eq!(resolve(text).to_json(), json, "{text}");
        }
    }
}
