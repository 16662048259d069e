//! Patterns of branches, tags and paths, by GitHub's rules (page "Workflow syntax", "Filter pattern
//! cheat sheet").
//!
//! They are no shell globs: `?` and `+` repeat what stands before them, `**/` may be nothing.
//! Files (`hashFiles`) are named by patterns of the toolkit (`@actions/glob`), which are.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    source: Arc<str>,
    /// It begins with `!`: what it matches is taken away.
    pub negative: bool,
    atoms: Vec<Atom>,
}

#[derive(Debug, Clone, PartialEq)]
enum Atom {
    /// Characters but `/`, any number.
    Star,
    /// Any characters.
    Any,
    /// Nothing, or anything that ends in `/`.
    Directories,
    /// One of these, so often.
    One(CharSet, Repetition),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Once,
    AtMostOnce,
    AtLeastOnce,
}

#[derive(Debug, Clone, PartialEq)]
enum CharSet {
    Char(char),
    Ranges(Vec<(char, char)>),
    /// Any but these, and no `/`.
    Except(Vec<(char, char)>),
}

impl CharSet {
    fn has(&self, character: char) -> bool {
        match self {
            Self::Char(own) => *own == character,
            Self::Ranges(ranges) => is_in(ranges, character),
            Self::Except(ranges) => character != '/' && !is_in(ranges, character),
        }
    }
}

fn is_in(ranges: &[(char, char)], character: char) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|(from, to)| (*from..=*to).contains(&character))
}

/// Longer patterns are refused.
const MAX_BYTES: usize = 1_000;

impl Pattern {
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
        let atoms = atoms(body)?;
        Ok(Self {
            source: source.into(),
            negative,
            atoms,
        })
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it matches all of `text`; the `!` is not looked at.
    pub fn matches(&self, text: &str) -> bool {
        let end = self.atoms.len();
        // `true` at [i]: everything up to here was matched by the atoms before i.
        let mut reached = vec![false; end + 1];
        reached[0] = true;
        let mut inside = vec![false; end + 1];
        self.skip_empty(&mut reached);
        for character in text.chars() {
            let mut next = vec![false; end + 1];
            let mut next_inside = vec![false; end + 1];
            for (index, atom) in self.atoms.iter().enumerate() {
                if !reached[index] && !inside[index] {
                    continue;
                }
                match atom {
                    Atom::Star if character != '/' => next[index] = true,
                    Atom::Any => next[index] = true,
                    Atom::Directories => {
                        next_inside[index] = true;
                        next[index + 1] |= character == '/';
                    }
                    Atom::One(set, times) if set.has(character) => {
                        next[index + 1] = true;
                        // Again: it has been matched once, so it may also end here.
                        next_inside[index] |= *times == Repetition::AtLeastOnce;
                    }
                    Atom::Star | Atom::One(..) => {}
                }
            }
            (reached, inside) = (next, next_inside);
            self.skip_empty(&mut reached);
        }
        reached[end]
    }

    /// Marks what is reached without a character.
    fn skip_empty(&self, reached: &mut [bool]) {
        for (index, atom) in self.atoms.iter().enumerate() {
            let optional = !matches!(
                atom,
                Atom::One(_, Repetition::Once | Repetition::AtLeastOnce)
            );
            if reached[index] && optional {
                reached[index + 1] = true;
            }
        }
    }
}

fn atoms(body: &str) -> Result<Vec<Atom>, String> {
    let mut atoms = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let at_segment = atoms.is_empty()
            || rest.len() < body.len() && body[..body.len() - rest.len()].ends_with('/');
        let (atom, taken) = match first {
            '*' if rest.starts_with("**/") && at_segment => (Atom::Directories, 3),
            '*' if rest.starts_with("**") => (Atom::Any, 2),
            '*' => (Atom::Star, 1),
            '?' | '+' => {
                repeat(&mut atoms, first)?;
                rest = &rest[1..];
                continue;
            }
            '[' => set(rest)?,
            '\\' => {
                let escaped = rest.chars().nth(1).ok_or("the pattern ends in `\\`")?;
                (
                    Atom::One(CharSet::Char(escaped), Repetition::Once),
                    1 + escaped.len_utf8(),
                )
            }
            _ => (
                Atom::One(CharSet::Char(first), Repetition::Once),
                first.len_utf8(),
            ),
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
        let one = |set| Atom::One(set, Repetition::Once);
        let (atom, taken) = match first {
            '*' if rest.starts_with("**/") && at_segment => (Atom::Directories, 3),
            '*' if rest == "**" && at_segment => (Atom::Any, 2),
            '*' => (Atom::Star, 1),
            '?' => (one(CharSet::Except(Vec::new())), 1),
            '[' => class(rest).unwrap_or((one(CharSet::Char('[')), 1)),
            '\\' if let Some(escaped) = rest.chars().nth(1) => {
                (one(CharSet::Char(escaped)), 1 + escaped.len_utf8())
            }
            _ => (one(CharSet::Char(first)), first.len_utf8()),
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
    let (atom, _) = set(&format!("[{}", &inner[..=end])).ok()?;
    match atom {
        Atom::One(CharSet::Ranges(ranges), times) => {
            Some((Atom::One(CharSet::Except(ranges), times), end + 3))
        }
        _ => None,
    }
}

/// `?` or `+` after an atom. After a star it changes nothing.
fn repeat(atoms: &mut [Atom], mark: char) -> Result<(), String> {
    match atoms.last_mut() {
        None => Err(format!(
            "`{mark}` repeats what stands before it, but nothing does"
        )),
        Some(Atom::One(_, times)) => {
            *times = if mark == '?' {
                Repetition::AtMostOnce
            } else {
                Repetition::AtLeastOnce
            };
            Ok(())
        }
        Some(_) => Ok(()),
    }
}

/// `[abc]`, `[a-z0-9]`.
fn set(rest: &str) -> Result<(Atom, usize), String> {
    let end = rest.find(']').ok_or("`[` has no closing `]`")?;
    let inner: Vec<char> = rest[1..end].chars().collect();
    if inner.is_empty() {
        return Err("`[]` matches nothing".to_owned());
    }
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < inner.len() {
        let from = inner[at];
        if inner.get(at + 1) == Some(&'-') && at + 2 < inner.len() {
            let to = inner[at + 2];
            if from > to {
                return Err(format!("the range `{from}-{to}` is empty"));
            }
            ranges.push((from, to));
            at += 3;
        } else {
            ranges.push((from, from));
            at += 1;
        }
    }
    Ok((
        Atom::One(CharSet::Ranges(ranges), Repetition::Once),
        end + 1,
    ))
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

/// A filter of names or paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// None was given.
    #[default]
    All,
    /// Only what matches; `!` takes away again.
    Only(Vec<Pattern>),
    /// All but what matches; `!` takes away from what is ignored.
    Ignore(Vec<Pattern>),
}

impl Filter {
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
fn selected(patterns: &[Pattern], name: &str) -> bool {
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
            let found = Pattern::of_files(pattern).unwrap().matches(file);
            assert_eq!(found, expected, "{pattern} {file}");
        }
    }
}
