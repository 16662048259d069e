//! Names that the code defines, and the words that docs/GLOSSARY.md has retired from them.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::finding::Finding;
use super::markdown;
use super::rust_text::is_test_file;

/// The page of terms and retired words.
pub(super) const PAGE: &str = "docs/GLOSSARY.md";

/// The heading above the retired words.
const RETIRED: &str = "Retired words";

/// The heading above the names that public types of several files may have.
pub(super) const SEVERAL_TYPES: &str = "Names that several types have";

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedItemKind {
    /// A struct, enum, union, trait or type alias.
    Type,
    /// A constant or static.
    Constant,
    /// A function.
    Function,
    /// A module, field, variant or macro.
    Other,
}

/// A name that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameDefinition {
    /// The name.
    pub(super) name: String,
    /// What it stands for.
    pub(super) kind: NamedItemKind,
    /// The line.
    pub(super) line: usize,
    /// A type that other files can see.
    pub(super) is_public_type: bool,
}

/// The names that a file defines; names of tests are sentences and left out, and so are those that
/// a trait of somebody else prescribes.
pub(super) fn defined(file: &syn::File) -> Vec<NameDefinition> {
    let mut names = Names::default();
    names.visit_file(file);
    names.0
}

#[derive(Default)]
struct Names(Vec<NameDefinition>);

impl Names {
    fn add(&mut self, name: &syn::Ident, kind: NamedItemKind) {
        self.0.push(NameDefinition {
            line: name.span().start().line,
            name: name.to_string(),
            kind,
            is_public_type: false,
        });
    }

    fn add_type(&mut self, name: &syn::Ident, visibility: &syn::Visibility) {
        self.add(name, NamedItemKind::Type);
        if let Some(added) = self.0.last_mut() {
            added.is_public_type = !matches!(visibility, syn::Visibility::Inherited);
        }
    }

    fn function(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        let is_test = |attribute: &syn::Attribute| {
            attribute
                .path()
                .segments
                .last()
                .is_some_and(|last| last.ident == "test")
        };
        if !attributes.iter().any(is_test) {
            self.add(name, NamedItemKind::Function);
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item;
        match item {
            Item::Struct(item) => self.add_type(&item.ident, &item.vis),
            Item::Enum(item) => self.add_type(&item.ident, &item.vis),
            Item::Union(item) => self.add_type(&item.ident, &item.vis),
            Item::Trait(item) => self.add_type(&item.ident, &item.vis),
            Item::Type(item) => self.add_type(&item.ident, &item.vis),
            Item::Const(item) => self.add(&item.ident, NamedItemKind::Constant),
            Item::Static(item) => self.add(&item.ident, NamedItemKind::Constant),
            Item::Fn(item) => self.function(&item.attrs, &item.sig.ident),
            Item::Mod(item) => self.add(&item.ident, NamedItemKind::Other),
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.add(name, NamedItemKind::Other);
                }
            }
            // Nothing of ours is named by these.
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // What a trait prescribes is named where the trait is.
        if item.trait_.is_none() {
            for inner in &item.items {
                match inner {
                    syn::ImplItem::Fn(inner) => self.function(&inner.attrs, &inner.sig.ident),
                    syn::ImplItem::Const(inner) => self.add(&inner.ident, NamedItemKind::Constant),
                    _ => {}
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.attrs, &item.sig.ident);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add(&variant.ident, NamedItemKind::Other);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.add(name, NamedItemKind::Other);
        }
        visit::visit_field(self, field);
    }
}

/// Where a retired word must not stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// As a word of any name.
    Word,
    /// As a word of a constant's name.
    Constant,
    /// As the whole name of a constant.
    WholeConstant,
    /// As the whole name of a function, outside of files of tests.
    Function,
    /// As the whole name of a type.
    Type,
}

/// One row of the list.
#[derive(Debug)]
struct RetiredWord<'a> {
    /// As the page writes it.
    text: &'a str,
    /// Its words in lower case; most have one.
    words: Vec<String>,
    scope: Scope,
    instead: &'a str,
}

/// Checks all names against the page's list, and the types in the page's tables against the code.
pub(super) fn check<'a>(
    files: impl Iterator<Item = (&'a str, &'a [NameDefinition])>,
    page: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let retired = match retired(page) {
        Ok(retired) => retired,
        Err(finding) => return vec![finding],
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut types: BTreeSet<&str> = BTreeSet::new();
    for (path, definitions) in files {
        for definition in definitions {
            if definition.kind == NamedItemKind::Type {
                types.insert(&definition.name);
            }
            let words = words(&definition.name);
            let is_in = |word: &&RetiredWord<'_>| {
                (word.scope != Scope::Function || !is_test_file(path))
                    && word.is_in(definition, &words)
            };
            let Some(word) = retired.iter().find(is_in) else {
                continue;
            };
            *counts.entry(word.text).or_default() += 1;
            let text = format!(
                "`{}`: `{}` is retired: {}",
                definition.name, word.text, word.instead
            );
            findings.push(Finding::error(format!("{path}:{}", definition.line), text));
        }
    }
    if !counts.is_empty() {
        let total: usize = counts.values().sum();
        let list: Vec<String> = counts
            .iter()
            .map(|(word, count)| format!("{word} {count}"))
            .collect();
        let text = format!("{total} names hold a retired word: {}", list.join(", "));
        findings.push(Finding::warning(PAGE, text));
    }
    findings.extend(repeated_terms(page));
    for (line, name) in terms(page).filter(|(_, name)| !types.contains(name)) {
        let text = format!("no type is called `{name}`");
        findings.push(Finding::error(format!("{PAGE}:{line}"), text));
    }
    findings
}

impl RetiredWord<'_> {
    fn is_in(&self, definition: &NameDefinition, words: &[String]) -> bool {
        match self.scope {
            Scope::Type => {
                definition.kind == NamedItemKind::Type && self.is_all_of(&definition.name)
            }
            Scope::Function => {
                definition.kind == NamedItemKind::Function && definition.name == self.text
            }
            Scope::WholeConstant => {
                definition.kind == NamedItemKind::Constant && self.is_all_of(&definition.name)
            }
            Scope::Constant => definition.kind == NamedItemKind::Constant && self.is_among(words),
            Scope::Word => self.is_among(words),
        }
    }

    fn is_all_of(&self, name: &str) -> bool {
        name == self.text || name.strip_suffix(['s', 'S']) == Some(self.text)
    }

    fn is_among(&self, words: &[String]) -> bool {
        let same = |(word, retired): (&String, &String)| {
            word == retired || word.strip_suffix('s').is_some_and(|one| one == retired)
        };
        words
            .windows(self.words.len())
            .any(|window| window.iter().zip(&self.words).all(same))
    }
}

/// The words of `CamelCase`, `snake_case` and `SCREAMING_CASE`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.trim_start_matches("r#").split(['_', ' ', '-']) {
        let characters: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (at, c) in characters.iter().enumerate() {
            let lower_before = at > 0 && !characters[at - 1].is_uppercase();
            let lower_after = characters
                .get(at + 1)
                .is_some_and(|next| next.is_lowercase());
            if c.is_uppercase() && at > 0 && (lower_before || lower_after) {
                words.push(std::mem::take(&mut word));
            }
            word.extend(c.to_lowercase());
        }
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The rows below the heading of retired words.
fn retired(page: &str) -> Result<Vec<RetiredWord<'_>>, Finding> {
    let mut retired = Vec::new();
    for (number, cells) in rows(page, |heading| heading == RETIRED) {
        let broken = |text: &str| Err(Finding::error(format!("{PAGE}:{number}"), text));
        let [words_cell, scope, instead] = cells.as_slice() else {
            return broken("three cells: the word, where it must not stand, what to write instead");
        };
        let scope = match *scope {
            "any name" => Scope::Word,
            "constants" => Scope::Constant,
            "whole constants" => Scope::WholeConstant,
            "functions" => Scope::Function,
            "types" => Scope::Type,
            _ => {
                return broken(
                    "the second cell is one of: any name, (whole) constants, functions, types",
                );
            }
        };
        for text in words_cell.split('`').skip(1).step_by(2) {
            let words = words(text);
            retired.push(RetiredWord {
                text,
                words,
                scope,
                instead,
            });
        }
    }
    if retired.is_empty() {
        return Err(Finding::error(
            PAGE,
            format!("no words below `## {RETIRED}`"),
        ));
    }
    Ok(retired)
}

/// The types that the tables of terms name in their last cell, with their lines.
pub(super) fn terms(page: &str) -> impl Iterator<Item = (usize, &str)> {
    rows(page, is_of_terms)
        .into_iter()
        .flat_map(|(number, cells)| {
            let last = cells.last().copied().unwrap_or_default();
            last.split('`')
                .skip(1)
                .step_by(2)
                .map(move |name| (number, name))
                .collect::<Vec<_>>()
        })
}

/// Terms that the tables have more than once.
fn repeated_terms(page: &str) -> impl Iterator<Item = Finding> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let terms = rows(page, is_of_terms).into_iter();
    terms.filter_map(move |(number, cells)| {
        let term = cells.first().copied().unwrap_or_default();
        let first = lines.insert(term, number)?;
        let text = format!("`{term}` stands in line {first} already: one name means one thing");
        Some(Finding::error(format!("{PAGE}:{number}"), text))
    })
}

/// Whether the table below a heading has terms.
fn is_of_terms(heading: &str) -> bool {
    heading != RETIRED && heading != SEVERAL_TYPES
}

/// The cells of table rows below the second-level headings that are asked for, without heads.
pub(super) fn rows(page: &str, wanted: impl Fn(&str) -> bool) -> Vec<(usize, Vec<&str>)> {
    let (_, prose) = markdown::split(page);
    let mut rows = Vec::new();
    let mut inside = false;
    for (at, (number, line)) in prose.iter().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            inside = wanted(heading.trim());
        }
        let is_rule = |line: &str| line.starts_with("|-") || line.starts_with("| -");
        let is_head = prose.get(at + 1).is_some_and(|(_, next)| is_rule(next));
        let row = line
            .strip_prefix('|')
            .and_then(|line| line.trim_end().strip_suffix('|'));
        if let Some(row) = row.filter(|_| inside && !is_head && !is_rule(line)) {
            rows.push((*number, row.split('|').map(str::trim).collect()));
        }
    }
    rows
}

#[cfg(test)]
mod tests;
