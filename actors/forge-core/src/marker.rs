//! The hidden mark in everything the platform posts: which run wrote it, and how long the chain of
//! mentions behind it is.
//!
//! An agent could print a mark of its own, to look like the beginning of a chain. So marks in its
//! text are made unreadable before the real one is attached, and of several the deepest counts.

use std::fmt;

use crate::RunId;
use crate::mention::neutralise_mentions;

/// How a mark begins.
const OPEN: &str = "<!-- orch:run=";
/// What stands between run and depth.
const DEPTH: &str = " depth=";
/// How a mark ends.
const CLOSE: &str = " -->";
/// What makes a printed mark unreadable, put behind its `<!--`: a word joiner (U+2060), invisible.
const BREAK: char = '\u{2060}';

/// The run behind a post, and the length of the chain of mentions that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The run that wrote the post.
    pub run: RunId,
    /// 1 for a run that a person asked for, one more for each run asked for by a run's post.
    pub depth: u16,
}

impl Marker {
    /// The text to post for an agent's output: mentions and marks in it neutralised, this mark
    /// behind it.
    pub fn attach(&self, output: &str) -> String {
        let text = neutralise_markers(&neutralise_mentions(output));
        format!("{}\n\n{self}", text.trim_end())
    }

    /// The deepest mark in a comment, if there is any. A depth beyond 65535 counts as that.
    pub fn find(comment: &str) -> Option<Self> {
        let candidates = comment.match_indices(OPEN);
        candidates
            .filter_map(|(at, _)| Self::read(&comment[at..]))
            .max_by_key(|mark| mark.depth)
    }

    /// Reads a mark at the beginning of `text`.
    fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix(OPEN)?;
        let run = &text[..text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))?];
        let text = text[run.len()..].strip_prefix(DEPTH)?;
        let digits = &text[..text.find(|c: char| !c.is_ascii_digit())?];
        let complete = !digits.is_empty() && text[digits.len()..].starts_with(CLOSE);
        let depth = complete.then(|| digits.parse().unwrap_or(u16::MAX))?;
        Some(Self {
            run: run.parse().ok()?,
            depth,
        })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPEN}{}{DEPTH}{}{CLOSE}", self.run, self.depth)
    }
}

/// Makes every mark in a text unreadable.
fn neutralise_markers(text: &str) -> String {
    text.replace(OPEN, &format!("<!--{BREAK}{}", &OPEN["<!--".len()..]))
}
