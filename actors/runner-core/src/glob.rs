//! Patterns of branches, tags and paths, by GitHub's rules (page "Workflow syntax", "Filter pattern
//! cheat sheet").
//!
//! They are no shell globs: `?` and `+` repeat what stands before them, `**/` may be nothing.
//! Files (`hashFiles`) are named by patterns of the toolkit (`@actions/glob`), which are.

use std::fmt::Write as _;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

/// A pattern.
#[derive(Debug, Clone)]
pub struct GlobPattern {
    source: Arc<str>,
    /// It begins with `!`: what it matches is taken away.
    pub negative: bool,
    regex: Regex,
}

/// One read by the same rules is the same where it is written the same.
impl PartialEq for GlobPattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.source, self.regex.as_str()) == (&other.source, other.regex.as_str())
    }
}

/// Characters but `/`, any number.
const STAR: &str = "[^/]*";
/// Any characters.
const ANY: &str = "(?s:.*)";
/// Nothing, or anything that ends in `/`.
const DIRECTORIES: &str = "(?s:.*/)?";

/// A part of a pattern, as a regular expression.
enum Atom {
    /// Any number of characters: `?` and `+` behind it change nothing.
    Many(&'static str),
    /// One character, and how often it may come.
    One(String, &'static str),
}

impl Atom {
    fn of_char(character: char) -> Self {
        Self::One(regex::escape(character.encode_utf8(&mut [0; 4])), "")
    }
}

/// Longer patterns are refused.
const MAX_BYTES: usize = 1_000;
/// More than any of them takes, compiled.
const MAX_COMPILED: usize = 16 << 20;

impl GlobPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        Self::read(source, atoms)
    }

    /// Reads a pattern of files, as the toolkit does (`@actions/glob`): `?` is one character,
    /// `[!a]` another than `a`, everything else that a filter gives a meaning is itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_files(source: &str) -> Result<Self, String> {
        Self::read(source, |body| Ok(file_atoms(body)))
    }

    fn read(
        source: &str,
        atoms: impl FnOnce(&str) -> Result<Vec<Atom>, String>,
    ) -> Result<Self, String> {
        if source.len() > MAX_BYTES {
            return Err(format!("the pattern has more than {MAX_BYTES} bytes"));
        }
        let negative = source.starts_with('!');
        let body = source.strip_prefix('!').unwrap_or(source);
        if body.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let mut expression = "\\A".to_owned();
        for atom in atoms(body)? {
            match atom {
                Atom::Many(many) => expression += many,
                Atom::One(one, times) => expression.extend([one.as_str(), times]),
            }
        }
        let regex = RegexBuilder::new(&(expression + "\\z"))
            .size_limit(MAX_COMPILED)
            .build();
        Ok(Self {
            source: source.into(),
            negative,
            regex: regex.map_err(|error| format!("the pattern cannot be used: {error}"))?,
        })
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it matches all of `text`; the `!` is not looked at.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

fn atoms(body: &str) -> Result<Vec<Atom>, String> {
    let mut atoms = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let at_segment = atoms.is_empty()
            || rest.len() < body.len() && body[..body.len() - rest.len()].ends_with('/');
        let (atom, taken) = match first {
            '*' if rest.starts_with("**/") && at_segment => (Atom::Many(DIRECTORIES), 3),
            '*' if rest.starts_with("**") => (Atom::Many(ANY), 2),
            '*' => (Atom::Many(STAR), 1),
            // GitHub takes them where there is nothing to repeat.
            '?' if atoms.is_empty() => (Atom::One("[^/]".to_owned(), ""), 1),
            '?' | '+' if !atoms.is_empty() => {
                repeat(&mut atoms, first);
                rest = &rest[1..];
                continue;
            }
            '[' => set(rest)?,
            '\\' => {
                let escaped = rest.chars().nth(1).ok_or("the pattern ends in `\\`")?;
                (Atom::of_char(escaped), 1 + escaped.len_utf8())
            }
            _ => (Atom::of_char(first), first.len_utf8()),
        };
        atoms.push(atom);
        rest = &rest[taken..];
    }
    Ok(atoms)
}

fn file_atoms(body: &str) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let at_segment = rest.len() == body.len() || body[..body.len() - rest.len()].ends_with('/');
        let (atom, taken) = match first {
            '*' if rest.starts_with("**/") && at_segment => (Atom::Many(DIRECTORIES), 3),
            '*' if rest == "**" && at_segment => (Atom::Many(ANY), 2),
            '*' => (Atom::Many(STAR), 1),
            '?' => (Atom::One("[^/]".to_owned(), ""), 1),
            '[' => class(rest).unwrap_or((Atom::of_char('['), 1)),
            '\\' if let Some(escaped) = rest.chars().nth(1) => {
                (Atom::of_char(escaped), 1 + escaped.len_utf8())
            }
            _ => (Atom::of_char(first), first.len_utf8()),
        };
        atoms.push(atom);
        rest = &rest[taken..];
    }
    atoms
}

/// `[abc]`, `[!a-z]`; nothing where it is no class.
fn class(rest: &str) -> Option<(Atom, usize)> {
    let negated = rest.strip_prefix("[!").or_else(|| rest.strip_prefix("[^"));
    let Some(inner) = negated else {
        return set(rest).ok();
    };
    let end = inner.find(']')?;
    let ranges = ranges(&inner[..end]).ok()?;
    Some((Atom::One(format!("[^/{ranges}]"), ""), end + 3))
}

/// `?` or `+` after an atom. After a star it changes nothing.
fn repeat(atoms: &mut [Atom], mark: char) {
    if let Some(Atom::One(_, times)) = atoms.last_mut() {
        *times = if mark == '?' { "?" } else { "+" };
    }
}

/// `[abc]`, `[a-z0-9]`.
fn set(rest: &str) -> Result<(Atom, usize), String> {
    let end = rest.find(']').ok_or("`[` has no closing `]`")?;
    let ranges = ranges(&rest[1..end])?;
    Ok((Atom::One(format!("[{ranges}]"), ""), end + 1))
}

/// What stands between brackets, for those of a regular expression.
fn ranges(inner: &str) -> Result<String, String> {
    let inner: Vec<char> = inner.chars().collect();
    if inner.is_empty() {
        return Err("`[]` matches nothing".to_owned());
    }
    let mut ranges = String::new();
    let mut rest = inner.as_slice();
    while let [from, after @ ..] = rest {
        let (to, after) = match after {
            ['-', to, after @ ..] => (to, after),
            _ => (from, after),
        };
        if from > to {
            return Err(format!("the range `{from}-{to}` is empty"));
        }
        // By number: no character has a meaning then.
        let (first, last) = (u32::from(*from), u32::from(*to));
        let _ = write!(ranges, "\\x{{{first:X}}}-\\x{{{last:X}}}");
        rest = after;
    }
    Ok(ranges)
}

impl Serialize for GlobPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

/// A filter of names or paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GlobFilter {
    /// None was given.
    #[default]
    All,
    /// Only what matches; `!` takes away again.
    Only(Vec<GlobPattern>),
    /// All but what matches; `!` takes away from what is ignored.
    Ignore(Vec<GlobPattern>),
}

impl GlobFilter {
    /// Whether there is one.
    pub fn is_given(&self) -> bool {
        !matches!(self, Self::All)
    }

    /// Whether a branch or tag passes.
    pub fn passes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => selected(patterns, name),
            Self::Ignore(patterns) => !selected(patterns, name),
        }
    }

    /// Whether one of the changed paths passes.
    pub fn passes_any<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> bool {
        !self.is_given() || paths.into_iter().any(|path| self.passes(path))
    }
}

/// The last pattern that matches decides: a negative one takes away.
fn selected(patterns: &[GlobPattern], name: &str) -> bool {
    let last = patterns.iter().rev().find(|pattern| pattern.matches(name));
    last.is_some_and(|pattern| !pattern.negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_patterns_of_files_are_those_of_the_toolkit() {
        for (pattern, file, expected) in [
            ("requirements?.txt", "requirements1.txt", true),
            ("requirements?.txt", "requirements.txt", false),
            ("a?b", "a/b", false),
            ("c++/**", "c++/x/y", true),
            ("c++/**", "c/x", false),
            ("app/[id/x", "app/[id/x", true),
            ("[a-c].txt", "b.txt", true),
            ("[!a-c].txt", "b.txt", false),
            ("[^a-c].txt", "d.txt", true),
            ("**/*.lock", "a/b/c.lock", true),
            ("**/*.lock", "c.lock", true),
            ("a**b", "a/b", false),
            ("a**b", "axxb", true),
            (r"a\*b", "a*b", true),
            (r"a\*b", "axb", false),
        ] {
            let found = GlobPattern::of_files(pattern).unwrap().matches(file);
            assert_eq!(found, expected, "{pattern} {file}");
        }
    }

    /// What GitHub does with them it does not say; it takes the file.
    #[test]
    fn i17_a_mark_with_nothing_to_repeat_is_a_character() {
        for (pattern, name, expected) in [
            ("?.*.x", "2.18.x", true),
            ("?.*.x", "12.18.x", false),
            ("?.*.x", ".18.x", false),
            ("+x", "+x", true),
            ("+x", "x", false),
            ("a?b", "b", true),
            ("a?b", "ab", true),
        ] {
            let found = GlobPattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, expected, "{pattern} {name}");
        }
    }
}
