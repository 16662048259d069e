//! What a file of source code defines: names with their kinds and lines, told line by line from the
//! words that announce a definition in its language. No parser: see ADR 16 for what that costs.

mod group;
mod kind;
mod language;
mod line;
mod other_languages;
mod signature;
mod words;

use group::DeclarationGroup;
pub use kind::DefinitionKind;
pub use language::Language;

/// Longest line that is looked at, in bytes: longer ones were written by programs.
const MAX_LINE: usize = 600;

/// Longest name, in bytes.
const MAX_NAME: usize = 80;

/// Most definitions of one file.
pub const MAX_DEFINITIONS: usize = 5_000;

/// The mark with which some editors begin files.
const MARK: char = '\u{feff}';

/// Something that a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition<'t> {
    /// What it is.
    pub kind: DefinitionKind,
    /// Its name, as written.
    pub name: &'t str,
    /// Its line, from 1.
    pub line: usize,
    /// Where that line begins in the text, in bytes.
    pub at: usize,
}

/// What a file with this path and text defines, in the order of the text; nothing where its
/// language is not known.
pub fn definitions<'t>(key: &str, text: &'t str) -> impl Iterator<Item = Definition<'t>> {
    let language = Language::from_key(key);
    let lines = language.map(|language| Lines {
        language,
        text,
        // A mark of the encoding belongs to no line.
        at: if text.starts_with(MARK) {
            MARK.len_utf8()
        } else {
            0
        },
        number: 0,
        above: "",
        group: DeclarationGroup::default(),
    });
    lines.into_iter().flatten().take(MAX_DEFINITIONS)
}

/// The definitions of a text, line by line.
struct Lines<'t> {
    language: Language,
    text: &'t str,
    /// Where the next line begins.
    at: usize,
    /// The number of the last line.
    number: usize,
    /// The line before.
    above: &'t str,
    /// The group of definitions that is open.
    group: DeclarationGroup,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Definition<'t>;

    fn next(&mut self) -> Option<Definition<'t>> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = &rest[..length];
            let behind = rest.get(length + 1..).unwrap_or_default();
            let at = self.at;
            self.at += length + 1;
            self.number += 1;
            let above = std::mem::replace(&mut self.above, line);
            if line.len() > MAX_LINE {
                continue;
            }
            let found = match self.language {
                Language::Go => self.group.definition(line),
                _ => None,
            };
            let found = found.or_else(|| line::definition(self.language, line, above, behind));
            if let Some((kind, name)) = found
                && name.len() <= MAX_NAME
            {
                return Some(Definition {
                    kind,
                    name,
                    line: self.number,
                    at,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
