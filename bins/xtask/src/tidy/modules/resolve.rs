//! From names to the modules that define them: imports and re-exports are followed.

use std::collections::BTreeMap;

use crate::tidy::module_source::{ModuleSource, Path};

/// Deeper chains of re-exports are given up: they may be endless.
const MAX_DEPTH: usize = 12;

/// One module of a crate.
#[derive(Debug)]
pub(super) struct Module {
    /// Its path in the crate, without `crate`.
    pub(super) name: Vec<String>,
    /// Its file.
    pub(super) file: String,
    /// The module whose file it stands in: itself, unless it stands in braces.
    pub(super) node: usize,
    /// The module around it.
    pub(super) parent: Option<usize>,
    /// The modules inside.
    pub(super) children: BTreeMap<String, usize>,
    /// What it says.
    pub(super) source: ModuleSource,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathTarget {
    /// A module.
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

/// All modules of one crate, the root first.
#[derive(Debug, Default)]
pub(super) struct Modules(pub(super) Vec<Module>);

impl Modules {
    /// What a path in `from` leads to; `None` for another crate's.
    pub(super) fn resolve(&self, from: usize, path: &Path) -> Option<PathTarget> {
        self.walk(from, &path.segments, 0)
    }

    fn walk(&self, from: usize, path: &[String], depth: usize) -> Option<PathTarget> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, depth),
            "self" => self.descend(from, rest, depth),
            "super" => {
                let mut at = self.0[from].parent?;
                let mut rest = rest;
                while let Some(inner) = rest.strip_prefix(&["super".to_owned()]) {
                    (at, rest) = (self.0[at].parent?, inner);
                }
                self.descend(at, rest, depth)
            }
            name if self.0[from].children.contains_key(name) => self.descend(from, path, depth),
            _ => self.member(from, path, depth),
        }
    }

    /// Follows a path whose first segments are modules inside `at`.
    fn descend(&self, mut at: usize, mut path: &[String], depth: usize) -> Option<PathTarget> {
        while let Some((first, rest)) = path.split_first() {
            match self.0[at].children.get(first) {
                // `mod run;` beside `pub use run::run;`: the function is what can be used.
                Some(child) if rest.is_empty() => {
                    let item = self.member(at, path, depth + 1);
                    return item.or(Some(PathTarget::Module(*child)));
                }
                Some(child) => (at, path) = (*child, rest),
                // A name made by a macro is looked for where it is asked for.
                None => return self.member(at, path, depth).or(Some(PathTarget::Item(at))),
            }
        }
        Some(PathTarget::Module(at))
    }

    /// What the first name of `path` means in `at`, modules inside it apart.
    fn member(&self, at: usize, path: &[String], depth: usize) -> Option<PathTarget> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let source = &self.0[at].source;
        if source.items.contains(first) {
            return Some(PathTarget::Item(at));
        }
        let named = source.imports.iter().find(|import| import.name == *first);
        if let Some(import) = named {
            let path: Vec<String> = import.path.segments.iter().chain(rest).cloned().collect();
            // `use x::x` inside of `x`'s parent must not find itself.
            return (import.path.segments.as_slice() != [first.clone()])
                .then(|| self.walk(at, &path, depth + 1))?;
        }
        let globs = source.imports.iter().filter(|import| import.name == "*");
        globs
            .filter_map(|import| self.walk(at, &import.path.segments, depth + 1))
            .find_map(|target| match target {
                PathTarget::Module(module) => self.inside(module, path, depth + 1),
                PathTarget::Item(_) => None,
            })
    }

    /// What a glob import of `module` gives for `path`.
    fn inside(&self, module: usize, path: &[String], depth: usize) -> Option<PathTarget> {
        match path
            .first()
            .and_then(|first| self.0[module].children.get(first))
        {
            Some(_) => self.descend(module, path, depth),
            None => self.member(module, path, depth),
        }
    }
}
