//! Which of the definitions of a text a query means: the place to show of a file that was found
//! because it defines what is asked for.

use crate::analysis::{fold, identifier_parts, words};
use crate::definitions::{Definition, DefinitionKind, definitions};
use crate::names::squeezed;
use crate::query::ParsedQuery;

/// Finds what a query names among the definitions of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefinitionFinder {
    names: Vec<Name>,
    /// The kinds asked for; any where there are none.
    kinds: Vec<DefinitionKind>,
    /// Where kinds are asked for: words that may be part of the name.
    words: Vec<String>,
}

/// A name that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    surface: String,
    squeezed: String,
    /// What it lies in, squeezed.
    owner: Option<String>,
}

/// How well a definition goes with a query, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DefinitionMatch {
    /// It is written as it was typed.
    Same,
    /// But for case and signs.
    Alike,
    /// A word of the query is a part of its name.
    Part,
    /// It is of the kind asked for.
    Kind,
}

impl DefinitionFinder {
    /// What finds the definitions that a query names; none where it names nothing: a sentence.
    #[must_use]
    pub fn from_query(query: &ParsedQuery) -> Option<Self> {
        let kinds = query.required_kinds();
        let meant = query.names().iter().filter(|name| !name.is_owner);
        let mut names: Vec<Name> = meant
            .map(|name| Name {
                surface: name.surface.clone(),
                squeezed: name.name.clone(),
                owner: name.within.last().cloned(),
            })
            .collect();
        let words = query.words().iter();
        let words: Vec<_> = words.filter(|word| query.is_looked_for(word)).collect();
        let identifiers: Vec<_> = words.iter().filter(|word| word.is_identifier()).collect();
        if identifiers.len() * 2 >= words.len() || !kinds.is_empty() {
            names.extend(identifiers.into_iter().map(|word| Name {
                surface: word.surface.clone(),
                squeezed: squeezed(&word.surface),
                owner: None,
            }));
        }
        let words = words.into_iter().filter(|_| !kinds.is_empty());
        let words = words.map(|word| word.folded.clone()).collect();
        let finder = Self {
            names,
            kinds,
            words,
        };
        let is_empty = finder.names.is_empty() && finder.kinds.is_empty();
        (!is_empty).then_some(finder)
    }

    /// The definition that is meant most, of several such the first.
    #[must_use]
    pub fn best<'t>(&self, key: &str, text: &'t str) -> Option<Definition<'t>> {
        self.best_in(definitions(key, text), text)
    }

    /// Whether the names of definitions tell which is meant, without the text around them.
    #[must_use]
    pub fn is_by_name(&self) -> bool {
        self.names.iter().all(|name| name.owner.is_none())
    }

    /// The definition that is meant most of those of a text, in order, where their names tell it.
    #[must_use]
    pub fn best_of<'t>(
        &self,
        definitions: impl Iterator<Item = Definition<'t>>,
    ) -> Option<Definition<'t>> {
        self.best_in(definitions, "")
    }

    fn best_in<'t>(
        &self,
        definitions: impl Iterator<Item = Definition<'t>>,
        text: &str,
    ) -> Option<Definition<'t>> {
        let mut best: Option<((DefinitionMatch, bool), Definition<'t>)> = None;
        let mut container = String::new();
        for found in definitions {
            let likeness = self.similarity(&found, text, &container);
            if is_container(found.kind) {
                container = squeezed(found.name);
            }
            let Some(likeness) = likeness else { continue };
            if best.as_ref().is_none_or(|(before, _)| likeness < *before) {
                best = Some((likeness, found));
            }
            if likeness == (DefinitionMatch::Same, false) {
                break;
            }
        }
        best.map(|(_, found)| found)
    }

    /// The lines of all definitions that are called as the query says.
    #[must_use]
    pub fn lines(&self, key: &str, text: &str) -> Vec<usize> {
        let found = definitions(key, text);
        let named = found.filter(|one| {
            let likeness = self.similarity(one, text, "");
            likeness.is_some_and(|(likeness, _)| likeness <= DefinitionMatch::Alike)
        });
        named.map(|one| one.line).collect()
    }

    /// How well a definition goes with the query, and whether it does not lie in what is named
    /// before it; none where it does not go with it at all.
    fn similarity(
        &self,
        found: &Definition<'_>,
        text: &str,
        container: &str,
    ) -> Option<(DefinitionMatch, bool)> {
        if !self.kinds.is_empty() && !self.kinds.contains(&found.kind) {
            return None;
        }
        let of_name = |name: &Name| {
            let likeness = if name.surface == found.name {
                DefinitionMatch::Same
            } else if has_first_of(&name.squeezed, found.name)
                && squeezed(found.name) == name.squeezed
            {
                DefinitionMatch::Alike
            } else {
                return None;
            };
            let owner = name.owner.as_deref();
            let is_elsewhere = owner.is_some_and(|owner| {
                container != owner && !is_within(text, found.at, found.name, owner)
            });
            Some((likeness, is_elsewhere))
        };
        let named = self.names.iter().filter_map(of_name).min();
        let by_kind = || {
            if self.kinds.is_empty() {
                return None;
            }
            if self.words.is_empty() {
                return Some((DefinitionMatch::Kind, false));
            }
            self.has_part(found.name)
                .then_some((DefinitionMatch::Part, false))
        };
        named.or_else(by_kind)
    }

    /// Whether a word of the query is a part of a name, or all of it.
    fn has_part(&self, name: &str) -> bool {
        let mut seams = Vec::new();
        let is_wanted = |part: &str| {
            let mut folded = String::new();
            fold(part, &mut folded);
            self.words.contains(&folded)
        };
        words(name).any(|word| {
            identifier_parts(word.text, &mut seams);
            is_wanted(word.text) || seams.iter().any(|part| is_wanted(&word.text[part.clone()]))
        })
    }
}

/// Whether a name may begin like a squeezed one: most are told apart so.
fn has_first_of(squeezed: &str, name: &str) -> bool {
    let first = name.chars().find(|c| c.is_alphanumeric());
    match (first, squeezed.chars().next()) {
        (Some(a), Some(b)) => !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(&b),
        _ => false,
    }
}

const fn is_container(kind: DefinitionKind) -> bool {
    matches!(
        kind,
        DefinitionKind::Class
            | DefinitionKind::Struct
            | DefinitionKind::Interface
            | DefinitionKind::Enum
            | DefinitionKind::Module
    )
}

/// Whether the line at `at` names the owner before the name (`func (c *Command) Execute`), or
/// stands in an `impl` of it.
fn is_within(text: &str, at: usize, name: &str, owner: &str) -> bool {
    let line = text[at..].lines().next().unwrap_or_default();
    let before = line.split(name).next().unwrap_or_default();
    let names = |line: &str| words(line).any(|word| squeezed(word.text) == owner);
    let implementation = || {
        let start = text[..at].rfind("\nimpl")?;
        text[start + 1..].lines().next()
    };
    names(before) || implementation().is_some_and(names)
}

#[cfg(test)]
mod tests {
    use super::DefinitionFinder;
    use crate::query::{SearchRequest, parse};

    fn line(query: &str, key: &str, text: &str) -> Option<usize> {
        let query = parse(&SearchRequest::for_text(query)).expect("parses");
        let finder = DefinitionFinder::from_query(&query)?;
        finder.best(key, text).map(|found| found.line)
    }

    #[test]
    fn i16_the_definition_that_is_meant_is_found() {
        let text = "\
from x import Context, make_context
# make_context(Context)
class Base:
    def invoke(self): pass
class Context:
    def invoke(self): pass
    def make_context(self): pass
def progressbar(): pass
class ProgressBar: pass
";
        for (query, expected) in [
            ("make_context", Some(7)),
            ("makeContext", Some(7)),
            ("Context", Some(5)),
            ("Context.invoke", Some(6)),
            ("Base::invoke", Some(4)),
            ("invoke", Some(4)),
            ("ProgressBar", Some(9)),
            ("progressbar", Some(8)),
            ("kind:class Context", Some(5)),
            ("kind:function Context", Some(7)),
            ("kind:function", Some(4)),
            ("kind:class", Some(3)),
            ("how is a context made", None),
            ("absent_name", None),
        ] {
            assert_eq!(line(query, "a.py", text), expected, "{query}");
        }
        let go = "func (a *Args) Execute() {\nfunc (c *Command) Execute() {\n";
        assert_eq!(line("Command.Execute", "a.go", go), Some(2));
        let rust =
            "struct A;\nimpl A {\n    fn new() {}\n}\nstruct B;\nimpl B {\n    fn new() {}\n";
        assert_eq!(line("B::new", "a.rs", rust), Some(7));
        assert_eq!(line("A::new", "a.rs", rust), Some(3));
    }
}
