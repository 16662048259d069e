//! `${VAR}` in string values.
//!
//! Every string value of every file is expanded, keys are not. `$$` stands for one `$`; a `$` in
//! front of anything but `{` stands for itself. What a variable holds is put in as it is: it is
//! never parsed, so it can neither close a quote nor name a further variable.

use std::ops::Range;

use crate::environment::Environment;
use crate::source::{NamedText, SourceFinding, Span};
use crate::suggest::{quoted, suggestion};
use crate::tree::{ConfigEntry, ConfigNode, ConfigString, ConfigValue};
use crate::value_error::ValueError;

/// Expands all strings below `node`; variables that cannot be used are reported.
pub(crate) fn expand(
    node: &mut ConfigNode,
    source: &NamedText,
    environment: &Environment,
    findings: &mut Vec<SourceFinding>,
) {
    match &mut node.value {
        ConfigValue::String(text) => expand_text(text, node.span, source, environment, findings),
        ConfigValue::Array(items) => {
            items
                .iter_mut()
                .for_each(|item| expand(item, source, environment, findings));
        }
        ConfigValue::Table(entries) => {
            for ConfigEntry { node, .. } in entries {
                expand(node, source, environment, findings);
            }
        }
        _ => {}
    }
}

fn expand_text(
    text: &mut ConfigString,
    span: Span,
    source: &NamedText,
    environment: &Environment,
    findings: &mut Vec<SourceFinding>,
) {
    let mut errors = Vec::new();
    let expanded = expanded(&text.written, environment, &mut errors);
    text.value = errors.is_empty().then_some(expanded);
    for (range, error) in errors {
        let place = span_within(source, span, &text.written, range);
        let finding = SourceFinding::error(place, error.message);
        findings.push(SourceFinding {
            help: error.help,
            ..finding
        });
    }
}

/// Where a part of a decoded string stands in the text: exact when the string has no escapes,
/// else the whole string.
pub(crate) fn span_within(
    source: &NamedText,
    span: Span,
    written: &str,
    part: Range<usize>,
) -> Span {
    let literal = source.slice(span);
    let quote = literal.len().saturating_sub(written.len()) / 2;
    if literal.get(quote..quote + written.len()) == Some(written) {
        Span::new(
            span.start + quote + part.start,
            span.start + quote + part.end,
        )
    } else {
        span
    }
}

/// `written` with variables put in; errors come with their byte range.
fn expanded(
    written: &str,
    environment: &Environment,
    errors: &mut Vec<(Range<usize>, ValueError)>,
) -> String {
    let mut result = String::with_capacity(written.len());
    let mut at = 0;
    while let Some(dollar) = written[at..].find('$').map(|found| at + found) {
        result.push_str(&written[at..dollar]);
        let rest = &written[dollar + 1..];
        at = if rest.starts_with('$') {
            result.push('$');
            dollar + 2
        } else if let Some(inner) = rest.strip_prefix('{') {
            let (length, value) = variable(inner, environment);
            let end = dollar + 2 + length;
            match value {
                Ok(value) => result.push_str(value),
                Err(error) => errors.push((dollar..end, error)),
            }
            end
        } else {
            result.push('$');
            dollar + 1
        };
    }
    result.push_str(&written[at..]);
    result
}

/// The variable whose name begins `inner`, and how many bytes it takes with its closing brace.
fn variable<'e>(inner: &str, environment: &'e Environment) -> (usize, Result<&'e str, ValueError>) {
    let Some(close) = inner.find('}') else {
        let error = ValueError::new("`${` is not closed").help("write `$$` for a plain `$`");
        return (inner.len(), Err(error));
    };
    let name = &inner[..close];
    let value = if is_name(name) {
        lookup(name, environment)
    } else {
        Err(no_name(name))
    };
    (close + 1, value)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn no_name(name: &str) -> ValueError {
    ValueError::new(format!("{} is not the name of a variable", quoted(name)))
        .help("names have letters, digits and `_`; write `$$` for a plain `$`")
}

fn lookup<'e>(name: &str, environment: &'e Environment) -> Result<&'e str, ValueError> {
    match environment.get(name) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => {
            let error = ValueError::new(format!("environment variable `{name}` is not set"));
            let near = suggestion(name, environment.names());
            Err(match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("set it, or write `$$` for a plain `$`"),
            })
        }
        Err(not_unicode) => Err(ValueError::new(format!(
            "environment variable `{name}`: {not_unicode}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(written: &str) -> Result<String, Vec<String>> {
        let environment =
            Environment::from_iter([("A", "1"), ("NESTED", "${A}\"$$"), ("HOME_DIR", "/h")]);
        let mut errors = Vec::new();
        let result = expanded(written, &environment, &mut errors);
        let message =
            |(range, error): (Range<usize>, ValueError)| format!("{}: {error}", &written[range]);
        if errors.is_empty() {
            Ok(result)
        } else {
            Err(errors.into_iter().map(message).collect())
        }
    }

    #[test]
    fn variables_are_put_in_and_never_parsed_again() {
        for (written, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${A}", "1"),
            ("x${A}${A}y", "x11y"),
            ("$$", "$"),
            ("$${A}", "${A}"),
            ("$$$${A}", "$${A}"),
            ("$$${A}", "$1"),
            ("${NESTED}", "${A}\"$$"),
            ("^a$", "^a$"),
            ("$5 é$ ", "$5 é$ "),
        ] {
            assert_eq!(run(written), Ok(expected.to_owned()), "{written}");
        }
    }

    #[test]
    fn wrong_variables_are_all_reported() {
        let errors = run("${B} ${HOME_DIRS} ${a-b} ${} ${A:-x} ${A").unwrap_err();
        assert_eq!(
            errors,
            [
                "${B}: environment variable `B` is not set (set it, or write `$$` for a plain `$`)",
                "${HOME_DIRS}: environment variable `HOME_DIRS` is not set (did you mean `HOME_DIR`?)",
                "${a-b}: `a-b` is not the name of a variable (names have letters, digits and `_`; write `$$` for a plain `$`)",
                "${}: `` is not the name of a variable (names have letters, digits and `_`; write `$$` for a plain `$`)",
                "${A:-x}: `A:-x` is not the name of a variable (names have letters, digits and `_`; write `$$` for a plain `$`)",
                "${A: `${` is not closed (write `$$` for a plain `$`)",
            ]
        );
    }
}
