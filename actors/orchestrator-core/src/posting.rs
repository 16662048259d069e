//! What an agent's output may do on a forge: nothing, unless its configuration allows it by kind.
//!
//! A mention notifies people, a slash command merges, a closing keyword closes, a remote image
//! tells who reads, and HTML hides. Each is broken by an invisible word joiner (U+2060) at the
//! place that a forge or a bot looks for, in code too: what counts as code differs between forges.
//! The text reads as before. Control, bidirectional and other invisible characters are taken out.

use config_core::is_hidden;

pub use crate::config::PostKind;

/// Breaks what a forge or a bot would act on; invisible, and no line break.
const JOINER: char = '\u{2060}';

/// Words that close or open an issue where a reference follows.
const CLOSING: [&str; 17] = [
    "close",
    "closes",
    "closed",
    "closing",
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "resolve",
    "resolves",
    "resolved",
    "resolving",
    "reopen",
    "reopens",
    "reopened",
    "implements",
    "implemented",
];

/// How far behind a closing keyword a reference is looked for, in characters.
const REACH: usize = 120;

/// `text` with everything broken that is not among `allowed`. Doing it twice changes nothing.
pub fn inert(text: &str, allowed: &[PostKind]) -> String {
    let text = clean(text);
    let forbids = |kind| !allowed.contains(&kind);
    let mut out = String::with_capacity(text.len() + 64);
    for (at, c) in text.iter().copied().enumerate() {
        let place = TextPosition { text: &text, at };
        out.push(c);
        let breaks = match c {
            '@' => forbids(PostKind::Mentions) && place.is_mention(),
            '/' => forbids(PostKind::Commands) && place.is_command(),
            '!' => {
                (forbids(PostKind::Images) && place.next() == Some('['))
                    || (forbids(PostKind::Commands)
                        && place.begins_line()
                        && place.next().is_some_and(|next| next.is_alphabetic()))
            }
            '<' => place.is_tag(forbids(PostKind::Html)),
            // An entity becomes the character it names: `&#64;` is an `@`.
            '&' => place
                .next()
                .is_some_and(|next| next == '#' || next.is_ascii_alphabetic()),
            _ if c.is_ascii_alphabetic() && place.begins_word() => {
                (forbids(PostKind::ClosingKeywords) && place.closes())
                    || (forbids(PostKind::Commands)
                        && place.begins_line()
                        && place.word().eq_ignore_ascii_case("bors"))
            }
            _ => false,
        };
        if breaks {
            out.push(JOINER);
        }
    }
    out
}

/// Without terminal sequences, control, bidirectional and invisible characters. Line ends and tabs
/// stay, and what selects how the picture in front of it looks.
fn clean(text: &str) -> Vec<char> {
    let mut clean = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.peek() == Some(&'[') {
            rest.next();
            // Parameters, then one final letter (ECMA-48).
            while rest.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
            rest.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
        } else if !is_hidden(c) || matches!(c, '\n' | '\t' | '\u{fe0e}' | '\u{fe0f}') {
            clean.push(c);
        }
    }
    clean
}

/// A character and what is around it.
#[derive(Clone, Copy)]
struct TextPosition<'t> {
    text: &'t [char],
    at: usize,
}

impl TextPosition<'_> {
    fn next(self) -> Option<char> {
        self.text.get(self.at + 1).copied()
    }

    fn previous(self) -> Option<char> {
        self.at.checked_sub(1).map(|at| self.text[at])
    }

    /// Whether only markup of a line's beginning (quotes, lists, headings) stands before it.
    fn begins_line(self) -> bool {
        let markup = |c: &&char| {
            c.is_whitespace() || c.is_ascii_digit() || "*_-+>#.)([|`~\"'\\".contains(**c)
        };
        let mut before = self.text[..self.at].iter().rev();
        before
            .by_ref()
            .take_while(|c| **c != '\n')
            .all(|c| markup(&c))
    }

    fn begins_word(self) -> bool {
        self.previous().is_none_or(|c| !c.is_ascii_alphanumeric())
    }

    /// The ASCII letters from here on.
    fn word(self) -> String {
        let letters = self.text[self.at..].iter();
        letters
            .take_while(|c| c.is_ascii_alphabetic())
            .take(16)
            .collect()
    }

    /// An `@` that is not inside a mail address.
    fn is_mention(self) -> bool {
        self.begins_word() && self.next().is_some_and(|next| !next.is_whitespace())
    }

    /// A `/word`: at the beginning of a line always, elsewhere when it is no path.
    fn is_command(self) -> bool {
        if !self.next().is_some_and(char::is_alphabetic) {
            return false;
        }
        if self.begins_line() {
            return true;
        }
        let inside = |c: char| c.is_alphanumeric() || "/._-:~<".contains(c);
        if self.previous().is_some_and(inside) {
            return false;
        }
        let mut rest = self.text[self.at + 1..].iter();
        let end = rest.find(|c| !(c.is_alphanumeric() || **c == '-' || **c == '_'));
        end.is_none_or(|end| *end != '/')
    }

    /// A `<` that opens a tag or, always, a comment.
    fn is_tag(self, forbidden: bool) -> bool {
        self.next().is_some_and(|next| {
            next == '!' || (forbidden && (next.is_ascii_alphabetic() || next == '/' || next == '?'))
        })
    }

    /// A closing keyword with a reference behind it.
    fn closes(self) -> bool {
        let word = self.word();
        let ends = self.text.get(self.at + word.len());
        let known = CLOSING.iter().any(|known| word.eq_ignore_ascii_case(known));
        if !known || ends.is_some_and(|end| end.is_ascii_alphanumeric()) {
            return false;
        }
        let behind = &self.text[self.at + word.len()..];
        let behind: String = behind.iter().take(REACH).collect();
        has_reference(&behind.to_ascii_lowercase())
    }
}

/// `#3`, `!3`, `gh-3`, `owner/repo#3`, `…/issues/3`, `…/pull/3`, `…/pulls/3`.
fn has_reference(text: &str) -> bool {
    let followed = |sign: &str| {
        text.match_indices(sign).any(|(at, sign)| {
            let next = text[at + sign.len()..].chars().next();
            next.is_some_and(|next| next.is_ascii_digit())
        })
    };
    [
        "#",
        "!",
        "gh-",
        "/issues/",
        "/pull/",
        "/pulls/",
        "/merge_requests/",
    ]
    .into_iter()
    .any(followed)
}
