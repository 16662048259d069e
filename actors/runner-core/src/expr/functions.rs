//! The functions of expressions.

use super::{EvalError, ExprScope, ExprValue};
use crate::limits::MAX_VALUE_BYTES;
use jsonc_parser::ParseOptions;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Whether a text or a list holds a value.
    Contains,
    /// Whether a text begins with another.
    StartsWith,
    /// Whether a text ends in another.
    EndsWith,
    /// A text with `{0}`, `{1}`, … filled in.
    Format,
    /// The elements of a list with a separator between them.
    Join,
    /// A value as JSON.
    ToJson,
    /// A value from JSON.
    FromJson,
    /// A hash over the files of the workspace that patterns match.
    HashFiles,
    /// The value after the first condition that holds.
    Case,
    /// Whether nothing before failed.
    Success,
    /// Whether something before failed.
    Failure,
    /// Always true, also after a cancellation.
    Always,
    /// Whether the run was cancelled.
    Cancelled,
}

impl Function {
    /// Their names.
    pub const NAMES: [&'static str; 13] = [
        "contains",
        "startsWith",
        "endsWith",
        "format",
        "join",
        "toJSON",
        "fromJSON",
        "hashFiles",
        "case",
        "success",
        "failure",
        "always",
        "cancelled",
    ];

    /// The function of that name; case does not matter.
    pub fn named(name: &str) -> Option<Self> {
        const ALL: [Function; 13] = [
            Function::Contains,
            Function::StartsWith,
            Function::EndsWith,
            Function::Format,
            Function::Join,
            Function::ToJson,
            Function::FromJson,
            Function::HashFiles,
            Function::Case,
            Function::Success,
            Function::Failure,
            Function::Always,
            Function::Cancelled,
        ];
        let index = Self::NAMES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))?;
        Some(ALL[index])
    }

    /// Whether it asks how the job or run went so far.
    pub fn is_status(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failure | Self::Always | Self::Cancelled
        )
    }

    /// Whether it can be called with so many arguments.
    pub(super) fn check_count(self, count: usize) -> Result<(), String> {
        let (least, most) = match self {
            Self::Contains | Self::StartsWith | Self::EndsWith => (2, 2),
            Self::Format | Self::HashFiles => (1, 255),
            Self::Join => (1, 2),
            Self::ToJson | Self::FromJson => (1, 1),
            Self::Case => (3, 255),
            // Names of needed jobs, in the `if` of a job.
            Self::Success | Self::Failure => (0, 255),
            Self::Always | Self::Cancelled => (0, 0),
        };
        let name = Self::NAMES[self as usize];
        if count < least || count > most {
            let wanted = match (least, most) {
                (0, 0) => "none".to_owned(),
                (least, most) if least == most => least.to_string(),
                (least, 255) => format!("at least {least}"),
                (least, most) => format!("{least} to {most}"),
            };
            return Err(format!("{name} has {count} arguments, but takes {wanted}"));
        }
        if self == Self::Case && count.is_multiple_of(2) {
            return Err("case takes pairs of condition and value, then a default".to_owned());
        }
        Ok(())
    }

    /// Whether `format` can fill in a pattern with so many values.
    pub(crate) fn check_format(pattern: &str, values: usize) -> Result<(), EvalError> {
        let values = vec![ExprValue::Null; values];
        format(pattern, &values).map(drop)
    }

    /// What `fromJSON` makes of a text.
    pub(crate) fn read_json(text: &str) -> Result<ExprValue, EvalError> {
        from_json(text)
    }

    /// Calls it.
    pub(super) fn call(
        self,
        arguments: &[ExprValue],
        scope: &ExprScope<'_>,
    ) -> Result<ExprValue, EvalError> {
        let text = |index: usize| {
            arguments
                .get(index)
                .map(ExprValue::as_text)
                .unwrap_or_default()
        };
        let status = scope.contexts.status();
        let value = match self {
            Self::Contains => contains(&arguments[0], &arguments[1]).into(),
            Self::StartsWith => affix(arguments, |text, part| text.starts_with(part)).into(),
            Self::EndsWith => affix(arguments, |text, part| text.ends_with(part)).into(),
            Self::Format => format(&text(0), &arguments[1..])?.into(),
            Self::Join => {
                let separator = if arguments.len() > 1 {
                    text(1)
                } else {
                    ",".into()
                };
                join(&arguments[0], &separator)?.into()
            }
            Self::ToJson => bounded(arguments[0].to_json())?.into(),
            Self::FromJson => from_json(&text(0))?,
            Self::HashFiles => {
                let patterns: Vec<String> = arguments
                    .iter()
                    .map(|value| value.as_text().to_string())
                    .collect();
                let hash = scope.hash_files.ok_or(EvalError::NoFiles)?;
                hash(&patterns).map_err(EvalError::Files)?.into()
            }
            Self::Case => case(arguments),
            Self::Success if arguments.is_empty() => status.success.into(),
            Self::Failure if arguments.is_empty() => status.failure.into(),
            Self::Success => results(arguments, scope).all(|it| it == "success").into(),
            Self::Failure => results(arguments, scope).any(|it| it == "failure").into(),
            Self::Always => true.into(),
            Self::Cancelled => status.cancelled.into(),
        };
        Ok(value)
    }
}

/// How the needed jobs of these names ended.
fn results<'a>(
    names: &'a [ExprValue],
    scope: &'a ExprScope<'_>,
) -> impl Iterator<Item = String> + 'a {
    let needs = scope.contexts.get(super::ContextName::Needs);
    names.iter().map(|name| {
        let needed = needs.get(&name.as_text());
        let result = needed.and_then(|needed| needed.get("result"));
        result.map_or_else(String::new, |result| result.as_text().to_string())
    })
}

fn contains(searched: &ExprValue, item: &ExprValue) -> bool {
    match searched {
        ExprValue::List(values) => values.iter().any(|value| value.loosely_equals(item)),
        primitive if primitive.is_primitive() && item.is_primitive() => {
            upper(&primitive.as_text()).contains(&upper(&item.as_text()))
        }
        _ => false,
    }
}

fn affix(arguments: &[ExprValue], holds: impl Fn(&str, &str) -> bool) -> bool {
    let [searched, part] = arguments else {
        return false;
    };
    let primitive = searched.is_primitive() && part.is_primitive();
    primitive && holds(&upper(&searched.as_text()), &upper(&part.as_text()))
}

fn upper(text: &str) -> String {
    text.to_uppercase()
}

/// Fills in `{0}`; `{{` and `}}` are braces.
fn format(pattern: &str, values: &[ExprValue]) -> Result<String, EvalError> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let wrong = || EvalError::Format(config_core::quoted(pattern));
        let end = rest.find('}').filter(|_| brace == "{").ok_or_else(wrong)?;
        let index: usize = rest[..end].parse().map_err(|_| wrong())?;
        let value = values.get(index).ok_or(EvalError::FormatArgument {
            index,
            given: values.len(),
        })?;
        out.push_str(&value.as_text());
        rest = &rest[end + 1..];
        out = bounded(out)?;
    }
    out.push_str(rest);
    bounded(out)
}

fn join(list: &ExprValue, separator: &str) -> Result<String, EvalError> {
    let values = match list {
        ExprValue::List(values) => values,
        primitive if primitive.is_primitive() => return Ok(primitive.as_text().to_string()),
        _ => return Ok(String::new()),
    };
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        if value.is_primitive() {
            out.push_str(&value.as_text());
        }
        out = bounded(out)?;
    }
    Ok(out)
}

fn from_json(text: &str) -> Result<ExprValue, EvalError> {
    if text.trim().is_empty() {
        return Err(EvalError::Json("it is empty".to_owned()));
    }
    let strict = serde_json::from_str(text);
    strict.or_else(|error: serde_json::Error| {
        let lenient = jsonc_parser::parse_to_serde_value(text, &LENIENT);
        lenient.map_err(|_| EvalError::Json(error.to_string()))
    })
}

/// What GitHub's reader (Newtonsoft's `JsonTextReader`) takes beside JSON: quotes of either kind,
/// comments, commas at the end, keys without quotes. `"['8.2', '8.3']"` is a usual default of
/// inputs.
const LENIENT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: true,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: true,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: true,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn case(arguments: &[ExprValue]) -> ExprValue {
    let pairs = arguments.chunks_exact(2);
    let default = pairs.remainder().first().cloned().unwrap_or_default();
    let mut pairs = pairs;
    pairs
        .find(|pair| pair[0].truthy())
        .map_or(default, |pair| pair[1].clone())
}

/// Refuses a text that is too large.
pub(super) fn bounded(text: String) -> Result<String, EvalError> {
    if text.len() > MAX_VALUE_BYTES {
        return Err(EvalError::TooLarge);
    }
    Ok(text)
}
