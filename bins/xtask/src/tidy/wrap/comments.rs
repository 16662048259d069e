//! Comments of Rust files: each run of `//`, `///` or `//!` lines is Markdown behind its marker.

use super::fill::columns;
use super::markdown::{self, Wrapped};
use crate::tidy::rust_text::line_comments;

/// Wraps the comments that stand on lines of their own; code and the rest stay.
pub(super) fn wrap(source: &str, width: usize) -> Wrapped {
    let lines: Vec<&str> = source.lines().collect();
    let mut wrapped = Wrapped {
        lines: Vec::new(),
        wide: Vec::new(),
    };
    // Most files have none, and need not be read closer.
    if !lines
        .iter()
        .any(|line| prefix(line).is_some() && columns(line) > width)
    {
        wrapped
            .lines
            .extend(lines.iter().map(|line| (*line).to_owned()));
        return wrapped;
    }
    let comments = line_comments(source);
    let mut at = 0;
    while at < lines.len() {
        let Some(prefix) = comments.contains(&at).then(|| prefix(lines[at])).flatten() else {
            wrapped.lines.push(lines[at].to_owned());
            at += 1;
            continue;
        };
        let same =
            |index: &usize| comments.contains(index) && self::prefix(lines[*index]) == Some(prefix);
        let end = (at..lines.len())
            .find(|index| !same(index))
            .unwrap_or(lines.len());
        let inner: Vec<&str> = lines[at..end]
            .iter()
            .map(|line| text(&line[prefix.len()..]))
            .collect();
        // Text that begins without the one space is no prose: a ruler, or code that is off.
        if lines[at..end]
            .iter()
            .any(|line| is_unusual(&line[prefix.len()..]))
        {
            wrapped
                .lines
                .extend(lines[at..end].iter().map(|line| (*line).to_owned()));
        } else {
            let room = width.saturating_sub(prefix.chars().count() + 1);
            let done = markdown::wrap(&inner, room);
            wrapped
                .wide
                .extend(done.wide.into_iter().map(|line| at + line));
            let line = |text: String| {
                if text.is_empty() {
                    prefix.to_owned()
                } else {
                    format!("{prefix} {text}")
                }
            };
            wrapped.lines.extend(done.lines.into_iter().map(line));
        }
        at = end;
    }
    wrapped
}

/// The indentation and the marker of a comment line.
fn prefix(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let marker = ["///", "//!", "//"]
        .into_iter()
        .find(|marker| text.starts_with(marker))?;
    Some(&line[..line.len() - text.len() + marker.len()])
}

fn text(after_marker: &str) -> &str {
    after_marker
        .strip_prefix(' ')
        .unwrap_or(after_marker)
        .trim_end()
}

fn is_unusual(after_marker: &str) -> bool {
    !after_marker.is_empty() && !after_marker.starts_with(' ')
}
