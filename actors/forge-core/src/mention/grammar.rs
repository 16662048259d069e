//! `@orch:[project/]agent` in a stretch of visible text.

use std::ops::Range;

use crate::id::{AGENT_NAME_MAX, PROJECT_ID_MAX, is_agent_byte, is_project_byte};
use crate::{AgentName, ProjectId};

/// How a mention begins.
pub(super) const PREFIX: &str = "@orch:";

/// A mention's names and its place.
pub(super) struct ParsedMention {
    pub(super) project: Option<ProjectId>,
    pub(super) agent: AgentName,
    pub(super) range: Range<usize>,
}

/// The mentions in `visible`, a stretch of `comment` without mark-up.
pub(super) fn names(comment: &str, visible: Range<usize>) -> impl Iterator<Item = ParsedMention> {
    let text = &comment[visible.clone()];
    text.match_indices(PREFIX).filter_map(move |(at, _)| {
        let start = visible.start + at;
        let begins = may_precede(comment, visible.start, start);
        begins.then(|| named(comment, start, visible.end)).flatten()
    })
}

/// Reads the names of a mention whose `@` is at `start`.
fn named(comment: &str, start: usize, end: usize) -> Option<ParsedMention> {
    let text = &comment[start + PREFIX.len()..end];
    let first = leading(text, is_project_byte, PROJECT_ID_MAX.max(AGENT_NAME_MAX))?;
    let (project, name) = match text[first.len()..].strip_prefix('/') {
        None => (
            None,
            &first[..first.bytes().take_while(|b| is_agent_byte(*b)).count()],
        ),
        Some(rest) => (
            Some(first.parse().ok()?),
            leading(rest, is_agent_byte, AGENT_NAME_MAX)?,
        ),
    };
    let name_at = name.as_ptr() as usize - comment.as_ptr() as usize;
    let range = start..name_at + name.len();
    let agent = name.parse().ok()?;
    may_follow(comment, range.end, end).then_some(ParsedMention {
        project,
        agent,
        range,
    })
}

/// The longest prefix of `text` whose bytes are `allowed`; nothing if that is longer than `max`.
fn leading(text: &str, allowed: fn(u8) -> bool, max: usize) -> Option<&str> {
    let length = text
        .bytes()
        .take(max + 1)
        .take_while(|byte| allowed(*byte))
        .count();
    (length <= max).then(|| &text[..length])
}

/// Whether a mention may begin at `at`: not behind a word, an e-mail's local part, a URL, a
/// character reference or a backslash. Mark-up in front of the stretch (`visible_from`) is none of
/// these.
fn may_precede(comment: &str, visible_from: usize, at: usize) -> bool {
    let Some(before) = comment[..at].chars().next_back() else {
        return true;
    };
    if is_word(before) || before == '\\' {
        return false;
    }
    at == visible_from || !"_.+-%@/=&#:;".contains(before)
}

/// Whether a mention may end at `at`: not in front of more of a word, path, address or host name.
/// Mark-up behind the stretch (`visible_to`) is none of these.
fn may_follow(comment: &str, at: usize, visible_to: usize) -> bool {
    let mut chars = comment[at..].chars();
    match chars.next() {
        None => true,
        Some(next) if at == visible_to => !is_word(next) && next != '\\',
        Some('.' | ':') => !chars.next().is_some_and(is_word),
        Some(next) => !is_word(next) && !"_-/@\\&".contains(next),
    }
}

/// Letters and digits of any script, and what attaches to them unseen or as an accent: a name must
/// not look like another by what stands beside it. Another question than what is hidden: accents
/// attach, and are seen.
fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c,
            '\u{00ad}' | '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}' | '\u{feff}')
}
