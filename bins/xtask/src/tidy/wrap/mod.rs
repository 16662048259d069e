//! Documents and comments are at most 100 columns wide; `cargo xtask tidy --wrap` makes them so.

mod comments;
mod fill;
mod markdown;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

use self::markdown::Wrapped;
use super::finding::Finding;
use super::tree::Tree;
use crate::project::Project;
use crate::terminal;

/// The widest line.
const WIDTH: usize = 100;

/// Pages that are written by `cargo xtask docs`: their generators say how wide they are.
const GENERATED: [&str; 2] = ["docs/CLI.md", "docs/CONFIG.md"];

/// Where Markdown is data, not documentation.
const DATA: [&str; 2] = ["config-samples/", "integration-tests/fuzz/seeds/"];

/// Checks one file: one finding for all its wide paragraphs.
pub(super) fn check(path: &str, text: &str) -> Option<Finding> {
    let wide = wrapped(path, text)?.wide;
    let first = wide.first()?;
    let count = wide.len();
    let text =
        format!("{count} paragraphs wider than {WIDTH} columns: run `cargo xtask tidy --wrap`");
    Some(Finding::error(format!("{path}:{}", first + 1), text))
}

/// Wraps every file of the checkout that has a wide paragraph.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(project: &Project, tree: &Tree) -> Result<()> {
    let mut files = 0;
    for (path, text) in tree.texts() {
        let Some(wrapped) = wrapped(path, text).filter(|wrapped| !wrapped.wide.is_empty()) else {
            continue;
        };
        let mut lines = wrapped.lines.join("\n");
        if text.ends_with('\n') {
            lines.push('\n');
        }
        std::fs::write(project.root.join(path), lines)
            .with_context(|| format!("{path} cannot be written"))?;
        terminal::line(&format!("{path}: {} paragraphs", wrapped.wide.len()));
        files += 1;
    }
    terminal::line(&format!("{files} files wrapped at {WIDTH} columns"));
    Ok(())
}

/// The file wrapped; `None` for those that are not to be.
fn wrapped(path: &str, text: &str) -> Option<Wrapped> {
    let exempt = GENERATED.contains(&path) || DATA.iter().any(|folder| path.starts_with(folder));
    if exempt {
        return None;
    }
    if path.ends_with(".rs") {
        return Some(comments::wrap(text, WIDTH));
    }
    let lines: Vec<&str> = text.lines().collect();
    path.ends_with(".md").then(|| markdown::wrap(&lines, WIDTH))
}
