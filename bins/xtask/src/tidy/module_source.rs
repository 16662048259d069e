//! One module's text as the graph needs it: what it declares, imports, re-exports and names.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// A path as written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// Its segments, `crate`, `self` and `super` among them.
    pub(super) segments: Vec<String>,
    /// The line in the file.
    pub(super) line: usize,
}

/// One name that a `use` brings into a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// The name inside the module; `*` for a glob.
    pub(super) name: String,
    /// Where it comes from; without the `*` of a glob.
    pub(super) path: Path,
    /// Whether others may import it from here.
    pub(super) reexport: bool,
}

/// What one module says.
#[derive(Debug, Clone, Default)]
pub(super) struct ModuleSource {
    /// Modules in files of their own: `mod name;`.
    pub(super) files: Vec<String>,
    /// Modules in braces.
    pub(super) inline: Vec<(String, ModuleSource)>,
    /// Names of all other items.
    pub(super) items: BTreeSet<String>,
    /// What is imported, by items and inside functions.
    pub(super) imports: Vec<Import>,
    /// Every other path, single names included.
    pub(super) paths: Vec<Path>,
}

impl ModuleSource {
    /// Reads the items of one module; tests are left out.
    pub(super) fn read(items: &[Item]) -> Self {
        let mut source = Self::default();
        items.iter().for_each(|item| source.visit_item(item));
        source
    }

    fn import(&mut self, item: &ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let reexport = !matches!(item.vis, Visibility::Inherited);
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        let import = |(name, path)| Import {
            name,
            path,
            reexport,
        };
        self.imports.extend(found.into_iter().map(import));
    }

    /// Paths in tokens that no parser reads: arguments of macros and attributes.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Option<Path> = None;
        let mut colons = 0;
        // A method, a field, a macro's variable: no path.
        let mut after_mark = false;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    let line = name.span().start().line;
                    let joined = colons == 2;
                    let name = name.to_string();
                    match path.as_mut().filter(|_| joined) {
                        Some(open) => open.segments.push(name),
                        None => {
                            self.paths.extend(path.take());
                            let starts = !joined && (!after_mark || name == "crate");
                            path = starts.then(|| Path {
                                segments: vec![name],
                                line,
                            });
                        }
                    }
                    (colons, after_mark) = (0, false);
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    after_mark = false;
                }
                TokenTree::Punct(mark) => {
                    self.paths.extend(path.take());
                    (colons, after_mark) = (0, ".$'".contains(mark.as_char()));
                }
                TokenTree::Literal(_) => {
                    self.paths.extend(path.take());
                    (colons, after_mark) = (0, false);
                }
                TokenTree::Group(group) => {
                    self.paths.extend(path.take());
                    (colons, after_mark) = (0, false);
                    self.tokens(group.stream());
                }
            }
        }
        self.paths.extend(path);
    }

    /// Paths in an attribute's strings: `#[serde(with = "crate::time")]`.
    fn attribute_strings(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.attribute_strings(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let path = syn::parse_str::<syn::Path>(text.trim_matches('"'));
                    self.paths.extend(path.ok().map(|path| Path {
                        segments: segments(&path),
                        line: literal.span().start().line,
                    }));
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for ModuleSource {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = described(item);
        if attributes.iter().any(is_for_tests) {
            return;
        }
        match item {
            Item::Use(item) => self.import(item),
            Item::Mod(module) => {
                let name = module.ident.to_string();
                match &module.content {
                    Some((_, items)) => self.inline.push((name, Self::read(items))),
                    None => self.files.push(name),
                }
            }
            other => {
                self.items.extend(name);
                visit::visit_item(self, other);
            }
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Fn(item) => item.attrs.as_slice(),
            syn::ImplItem::Const(item) => item.attrs.as_slice(),
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let line = path.segments.first().map(|first| first.ident.span());
            self.paths.push(Path {
                segments: segments(path),
                line: line.map_or(0, |span| span.start().line),
            });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.attribute_strings(list.tokens.clone());
        }
    }

    // `pub(in crate::a)` names who may see an item; it needs nothing of it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn segments(path: &syn::Path) -> Vec<String> {
    let names = path.segments.iter().map(|segment| &segment.ident);
    names.map(ToString::to_string).collect()
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return attribute.path().is_ident("test");
    };
    let tokens = list.tokens.to_string();
    list.path.is_ident("cfg") && (tokens == "test" || tokens.starts_with("all (test"))
}

/// An item's attributes and the name it declares.
fn described(item: &Item) -> (&[Attribute], Option<String>) {
    let name = |ident: &syn::Ident| Some(ident.to_string());
    match item {
        Item::Const(item) => (&item.attrs, name(&item.ident)),
        Item::Enum(item) => (&item.attrs, name(&item.ident)),
        Item::Fn(item) => (&item.attrs, name(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref().and_then(name)),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, name(&item.ident)),
        Item::Struct(item) => (&item.attrs, name(&item.ident)),
        Item::Trait(item) => (&item.attrs, name(&item.ident)),
        Item::Type(item) => (&item.attrs, name(&item.ident)),
        Item::Union(item) => (&item.attrs, name(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Every name of a `use` tree with its path.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, found: &mut Vec<(String, Path)>) {
    let path = |prefix: &[String], last: Option<&syn::Ident>, line| Path {
        segments: prefix
            .iter()
            .cloned()
            .chain(last.map(ToString::to_string))
            .collect(),
        line,
    };
    match tree {
        UseTree::Path(tree) => {
            prefix.push(tree.ident.to_string());
            flatten(&tree.tree, prefix, found);
            prefix.pop();
        }
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| flatten(tree, prefix, found)),
        UseTree::Glob(glob) => {
            let line = glob.star_token.span.start().line;
            found.push(("*".to_owned(), path(prefix, None, line)));
        }
        UseTree::Name(leaf) => {
            let line = leaf.ident.span().start().line;
            // `use a::b::{self}` brings `b`.
            let itself = leaf.ident == "self" && !prefix.is_empty();
            let name = if itself {
                prefix.last().cloned()
            } else {
                Some(leaf.ident.to_string())
            };
            let last = (!itself).then_some(&leaf.ident);
            found.push((name.unwrap_or_default(), path(prefix, last, line)));
        }
        UseTree::Rename(leaf) => {
            let line = leaf.ident.span().start().line;
            let last = (leaf.ident != "self").then_some(&leaf.ident);
            found.push((leaf.rename.to_string(), path(prefix, last, line)));
        }
    }
}
