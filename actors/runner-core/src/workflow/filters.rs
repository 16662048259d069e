//! Filters of events: branches, tags and paths.

use super::fields::MappingFields;
use super::reader::WorkflowReader;
use crate::glob::{GlobFilter, GlobPattern};
use crate::source_location::SourceLocation;
use crate::yaml::YamlNode;

/// The filter of two keys, `x` and `x-ignore`, of which one may be given.
pub(super) fn filter(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
    only: &str,
    ignore: &str,
) -> GlobFilter {
    let patterns = |key: &str| fields.read(reader, key, |node| patterns(reader, node, key));
    let place = |key: &str| {
        let entry = fields.entry(key);
        entry.map(|entry| entry.key_place).unwrap_or_default()
    };
    match (patterns(only), patterns(ignore)) {
        (Some(_), Some(_)) => {
            let (message, help) = same_for_both(only, ignore);
            reader.error_help(place(ignore), message, help);
            GlobFilter::All
        }
        (Some(patterns), None) => {
            if let Some(entry) = fields.entry(only).filter(|entry| entry.value.is_empty()) {
                let message = format!("`{only}` names nothing, so nothing passes");
                reader.warn(
                    entry.key_place,
                    message,
                    "leave it out to let everything pass",
                );
            }
            if !patterns.is_empty() && patterns.iter().all(|pattern| pattern.negative) {
                reader.warn(
                    place(only),
                    format!("`{only}` only takes away, so nothing passes"),
                    format!("if something is to pass, use `{ignore}`"),
                );
            }
            GlobFilter::Only(patterns)
        }
        (None, Some(patterns)) => {
            warn_of_negatives(reader, place(ignore), &patterns, only, ignore);
            GlobFilter::Ignore(patterns)
        }
        (None, None) => GlobFilter::All,
    }
}

/// `!` in `x-ignore`: the sheet says of every filter that it negates the patterns before it, the
/// pages of `x-ignore` do not mention it, and GitHub takes it.
fn warn_of_negatives(
    reader: &WorkflowReader<'_>,
    place: SourceLocation,
    patterns: &[GlobPattern],
    only: &str,
    ignore: &str,
) {
    let Some(first) = patterns.iter().position(|pattern| pattern.negative) else {
        return;
    };
    let message = if patterns.iter().all(|pattern| pattern.negative) {
        format!("`{ignore}` has only `!` patterns, so nothing is ignored")
    } else if first == 0 {
        format!("a `!` pattern of `{ignore}` stands before what it would take away")
    } else {
        format!("a `!` pattern of `{ignore}` takes away from what is ignored: that starts runs")
    };
    let help = format!("GitHub takes it, but documents `!` for `{only}` only; say it there");
    reader.warn(place, message, help);
}

/// What is wrong with `x` beside `x-ignore`, and what to do.
pub(super) fn same_for_both(only: &str, ignore: &str) -> (String, String) {
    let message = format!("`{only}` and `{ignore}` exclude each other");
    (message, format!("use `{only}` with `!` patterns"))
}

/// One or more patterns.
pub(super) fn patterns(
    reader: &WorkflowReader<'_>,
    node: &YamlNode,
    what: &str,
) -> Option<Vec<GlobPattern>> {
    let read = |node: &YamlNode| {
        let text = reader.plain(node, what)?;
        match GlobPattern::parse(&text) {
            Ok(pattern) => {
                if let Some((message, help)) = never_matches(&text, what.starts_with("paths")) {
                    reader.warn(node.place, message, help);
                }
                Some(pattern)
            }
            Err(error) => {
                reader.error(node.place, error);
                None
            }
        }
    };
    Some(
        reader
            .one_or_more(node, what)?
            .into_iter()
            .filter_map(read)
            .collect(),
    )
}

/// Why a pattern matches nothing, or not what was meant, and what to do (page "Workflow syntax",
/// "Filter pattern cheat sheet"; names of branches and tags as `git check-ref-format` has them).
fn never_matches(pattern: &str, paths: bool) -> Option<(String, &'static str)> {
    let body = pattern.strip_prefix('!').unwrap_or(pattern);
    if let Some(mark) = body.chars().next().filter(|first| "+?".contains(*first)) {
        let message = format!("`{mark}` stands first, where it has nothing to repeat");
        let help = match mark {
            '?' => "it is one character here; GitHub does not say what it is there",
            _ => "it is itself here; GitHub does not say what it is there",
        };
        return Some((message, help));
    }
    let special = |c: char| matches!(c, '*' | '+' | '?');
    let after = body.char_indices().zip(body.chars().skip(1));
    let mut twice = after.filter(|((_, before), mark)| special(*before) && "+?".contains(*mark));
    if let Some(((at, _), mark)) = twice.find(|((at, _), _)| !body[..*at].ends_with('\\')) {
        let message = format!(
            "`{mark}` stands after `{}`, which it cannot repeat",
            &body[at..=at]
        );
        return Some((
            message,
            "patterns are no regular expressions; `+` and `?` repeat a character",
        ));
    }
    if paths {
        return never_a_path(body);
    }
    let wrong = |c: char| matches!(c, ' ' | '~' | '^' | ':') || c.is_control();
    if let Some(found) = outside_sets(body).find(|c| wrong(*c)) {
        let message = format!(
            "no name of a branch or tag holds `{}`",
            found.escape_debug()
        );
        return Some((
            message,
            "this pattern matches nothing; it is no regular expression",
        ));
    }
    let slash = body.starts_with('/') || body.ends_with('/');
    slash.then(|| {
        let message = "no name of a branch or tag begins or ends with `/`".to_owned();
        (message, "this pattern matches nothing")
    })
}

fn never_a_path(body: &str) -> Option<(String, &'static str)> {
    if body.trim() != body {
        let message = "the pattern begins or ends with a space".to_owned();
        return Some((message, "take it away, if no path has one there"));
    }
    if body.starts_with('/') || body.split('/').any(|part| matches!(part, "." | "..")) {
        let message = "no path begins with `/`, or holds `.` or `..` as a folder".to_owned();
        return Some((
            message,
            "paths are those of git, from the root of the repository",
        ));
    }
    None
}

/// The characters that do not stand in `[…]` and are not escaped.
fn outside_sets(body: &str) -> impl Iterator<Item = char> {
    let mut inside = false;
    let mut escaped = false;
    body.chars().filter(move |c| {
        let plain = !inside && !escaped;
        escaped = !escaped && *c == '\\';
        inside = *c == '[' || inside && *c != ']';
        plain
    })
}
