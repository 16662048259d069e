//! Filters of events: branches, tags and paths.

use super::fields::Fields;
use super::reader::Reader;
use super::types::Filter;
use crate::glob::Pattern;
use crate::yaml::Node;

/// The filter of two keys, `x` and `x-ignore`, of which one may be given.
pub(super) fn filter(reader: &Reader<'_>, fields: Fields<'_>, only: &str, ignore: &str) -> Filter {
    let patterns = |key: &str| fields.read(reader, key, |node| patterns(reader, node, key));
    match (patterns(only), patterns(ignore)) {
        (Some(_), Some(_)) => {
            let place = fields
                .entry(ignore)
                .map(|entry| entry.key_place)
                .unwrap_or_default();
            let (message, help) = same_for_both(only, ignore);
            reader.error_help(place, message, help);
            Filter::All
        }
        (Some(patterns), None) => {
            if !patterns.is_empty() && patterns.iter().all(|pattern| pattern.negative) {
                let place = fields
                    .entry(only)
                    .map(|entry| entry.key_place)
                    .unwrap_or_default();
                reader.error_help(
                    place,
                    format!("`{only}` only takes away, so nothing is left"),
                    format!("use `{ignore}`"),
                );
            }
            Filter::Only(patterns)
        }
        (None, Some(patterns)) => {
            if patterns.iter().any(|pattern| pattern.negative) {
                let place = fields
                    .entry(ignore)
                    .map(|entry| entry.key_place)
                    .unwrap_or_default();
                reader.error_help(
                    place,
                    format!("`{ignore}` takes no `!` patterns"),
                    format!("use `{only}`"),
                );
            }
            Filter::Ignore(patterns)
        }
        (None, None) => Filter::All,
    }
}

/// What is wrong with `x` beside `x-ignore`, and what to do.
pub(super) fn same_for_both(only: &str, ignore: &str) -> (String, String) {
    let message = format!("`{only}` and `{ignore}` exclude each other");
    (message, format!("use `{only}` with `!` patterns"))
}

/// One or more patterns.
pub(super) fn patterns(reader: &Reader<'_>, node: &Node, what: &str) -> Option<Vec<Pattern>> {
    let read = |node: &Node| {
        let text = reader.plain(node, what)?;
        match Pattern::parse(&text) {
            Ok(pattern) => Some(pattern),
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
