//! Mentions in comments: `@orch:[project/]agent`.
//!
//! A mention counts where a reader sees it as the author's own text: not in code, quotes, HTML or
//! image descriptions. The forges render Markdown by CommonMark's rules (fences in lists, lazy
//! quotes, code spans over several lines), so a CommonMark parser decides what is visible; the
//! mentions themselves are then searched in the source, so that character references cannot spell
//! one.

mod grammar;
mod visible;

use std::collections::HashSet;
use std::ops::Range;

use self::grammar::{PREFIX, ParsedMention};
use crate::text::truncate;
use crate::{AgentName, ProjectId};

/// Put behind the `@` of a neutralised mention: a word joiner (U+2060), invisible and no line
/// break.
const BREAK: char = '\u{2060}';

/// A request to one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The named project; without one, the project of the repository it was written in.
    pub project: Option<ProjectId>,
    /// The named agent; it may not exist.
    pub agent: AgentName,
    /// Where it stands in the comment, in bytes.
    pub range: Range<usize>,
    /// The rest of its line, trimmed: the task in a few words.
    pub rest_of_line: String,
}

/// What a scan of a comment found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MentionScan {
    /// In the order of the text, each agent once.
    pub found: Vec<Mention>,
    /// How many more agents were named than the limit allows; to be told to the author.
    pub over_limit: usize,
}

/// Limits of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLimits {
    /// Most agents asked by one comment.
    pub mentions: usize,
    /// Longest rest of a line, in bytes; it is cut between two characters.
    pub line_bytes: usize,
}

impl Default for ScanLimits {
    /// 10 agents, 1,000 bytes.
    fn default() -> Self {
        Self {
            mentions: 10,
            line_bytes: 1000,
        }
    }
}

/// Finds the mentions in a comment. Time grows linearly with its length.
pub fn scan(comment: &str, limits: ScanLimits) -> MentionScan {
    let mut result = MentionScan::default();
    // Most comments mention nobody, and need no Markdown parser to show it.
    if !comment.contains(PREFIX) {
        return result;
    }
    let mut seen = HashSet::new();
    for range in visible::ranges(comment) {
        for name in grammar::names(comment, range) {
            if !seen.insert(&comment[name.range.clone()]) {
                continue;
            }
            if result.found.len() < limits.mentions {
                result.found.push(mention(name, comment, limits.line_bytes));
            } else {
                result.over_limit += 1;
            }
        }
    }
    result
}

fn mention(name: ParsedMention, comment: &str, line_bytes: usize) -> Mention {
    Mention {
        rest_of_line: rest_of_line(comment, name.range.end, line_bytes),
        project: name.project,
        agent: name.agent,
        range: name.range,
    }
}

/// The rest of the line behind `at`, trimmed and cut to `max_bytes`.
fn rest_of_line(comment: &str, at: usize, max_bytes: usize) -> String {
    let rest = truncate(&comment[at..], max_bytes.saturating_add(1));
    let line = rest.lines().next().unwrap_or_default();
    truncate(line.trim(), max_bytes).to_owned()
}

/// Makes every mention in a text powerless without changing how it looks, for posting an agent's
/// output. Spellings in other letter cases are broken up too, in case a reader is less strict.
pub fn neutralise_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive('@') {
        let broken = out.ends_with('@') && starts_like_a_mention(part);
        if broken {
            out.push(BREAK);
        }
        out.push_str(part);
    }
    out
}

fn starts_like_a_mention(behind_at: &str) -> bool {
    let word = PREFIX.trim_start_matches('@');
    behind_at
        .get(..word.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(word))
}
