//! How large a document may be, told before anything walks through it: what checks it next follows
//! every spread of a fragment, and fragments of fragments double with each.

use std::collections::HashMap;

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};

/// How deep and how large a document may be.
pub(crate) const MAX_DEPTH: usize = 24;
pub(crate) const MAX_FIELDS: usize = 2_000;
/// Brackets in brackets: the parser calls itself for each.
const MAX_BRACKETS: usize = 64;
/// Selections in selections, those of fragments with them.
const MAX_NESTED: usize = 100;
/// Fields below the schema's own, and its lists in one another: the schema is large, and leads
/// back to itself without a call.
const MAX_SCHEMA_FIELDS: usize = 300;
const MAX_SCHEMA_LISTS: usize = 3;
const SCHEMA_LISTS: [&str; 8] = [
    "types",
    "directives",
    "fields",
    "args",
    "inputFields",
    "interfaces",
    "possibleTypes",
    "enumValues",
];

/// The document, where it may be answered.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parsed(query: &str) -> Result<ExecutableDocument, String> {
    check_brackets(query)?;
    let document = parse_query(query).map_err(|error| error.to_string())?;
    let mut walk = Walk {
        document: &document,
        known: HashMap::new(),
    };
    let mut fields = 0_usize;
    for (_, operation) in document.operations.iter() {
        let all = &operation.node.selection_set.node;
        fields = fields.saturating_add(walk.check_size(all)?.fields);
    }
    // Those that nothing spreads are walked through as well.
    for fragment in document.fragments.values() {
        walk.check_size(&fragment.node.selection_set.node)?;
    }
    if fields > MAX_FIELDS {
        return Err(too_many());
    }
    Ok(document)
}

fn too_many() -> String {
    format!("a document has at most {MAX_FIELDS} fields, those of its fragments with them")
}

/// Brackets outside of strings and comments.
fn check_brackets(query: &str) -> Result<(), String> {
    let (bytes, mut at, mut open) = (query.as_bytes(), 0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'{' | b'[' | b'(' => {
                open += 1;
                if open > MAX_BRACKETS {
                    return Err(format!(
                        "a document has at most {MAX_BRACKETS} brackets in one another"
                    ));
                }
                1
            }
            b'}' | b']' | b')' => {
                open = open.saturating_sub(1);
                1
            }
            b'#' => {
                let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                end.unwrap_or(rest.len())
            }
            b'"' => string_length(rest).ok_or("a string of the document has no end")?,
            _ => 1,
        };
    }
    Ok(())
}

/// How long the string is that begins here; nothing where it does not end.
fn string_length(text: &[u8]) -> Option<usize> {
    let is_block = text.starts_with(b"\"\"\"");
    let mut at = if is_block { 3 } else { 1 };
    loop {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        at += match (is_block, rest[0]) {
            (true, b'\\') if rest.starts_with(b"\\\"\"\"") => 4,
            (true, b'"') if rest.starts_with(b"\"\"\"") => return Some(at + 3),
            (false, b'\\') => 2,
            (false, b'"') => return Some(at + 1),
            (false, b'\n' | b'\r') => return None,
            _ => 1,
        };
    }
}

/// What a selection has, its fragments with it.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    fields: usize,
    depth: usize,
    nested: usize,
    /// Lists of the schema in one another, which of them, and whether one is within itself.
    lists: usize,
    seen: u8,
    repeats: bool,
    /// Fields below the schema's own.
    of_schema: usize,
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    /// Fragments by name; nothing: one that is being walked through.
    known: HashMap<&'a str, Option<Size>>,
}

impl<'a> Walk<'a> {
    /// The size, where it is none too large.
    fn check_size(&mut self, all: &'a SelectionSet) -> Result<Size, String> {
        let size = self.size(all, 0)?;
        if size.fields > MAX_FIELDS {
            return Err(too_many());
        }
        if size.depth > MAX_DEPTH {
            return Err(format!("a document is at most {MAX_DEPTH} fields deep"));
        }
        let is_wide = size.repeats || size.lists > MAX_SCHEMA_LISTS;
        if size.of_schema > MAX_SCHEMA_FIELDS || (size.of_schema > 0 && is_wide) {
            return Err(format!(
                "the schema is told with at most {MAX_SCHEMA_FIELDS} fields, and {MAX_SCHEMA_LISTS} of its lists in one another, each once"
            ));
        }
        Ok(size)
    }

    fn size(&mut self, all: &'a SelectionSet, above: usize) -> Result<Size, String> {
        if above > MAX_NESTED {
            return Err(nested());
        }
        let mut size = Size::default();
        for selection in &all.items {
            let one = match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let name = field.name.node.as_str();
                    let mut inner = self.size(&field.selection_set.node, above + 1)?;
                    inner.fields = inner.fields.saturating_add(1);
                    inner.depth += 1;
                    if let Some(list) = SCHEMA_LISTS.iter().position(|list| *list == name) {
                        inner.lists += 1;
                        inner.repeats |= inner.seen & (1 << list) != 0;
                        inner.seen |= 1 << list;
                    }
                    if matches!(name, "__schema" | "__type") {
                        inner.of_schema = inner.fields;
                    }
                    inner
                }
                Selection::InlineFragment(inline) => {
                    self.size(&inline.node.selection_set.node, above + 1)?
                }
                Selection::FragmentSpread(spread) => {
                    self.fragment(spread.node.fragment_name.node.as_str(), above + 1)?
                }
            };
            size = Size {
                fields: size.fields.saturating_add(one.fields),
                depth: size.depth.max(one.depth),
                nested: size.nested.max(one.nested + 1),
                lists: size.lists.max(one.lists),
                seen: size.seen | one.seen,
                repeats: size.repeats || one.repeats,
                of_schema: size.of_schema.saturating_add(one.of_schema),
            };
            if above.saturating_add(size.nested) > MAX_NESTED {
                return Err(nested());
            }
        }
        Ok(size)
    }

    fn fragment(&mut self, name: &str, above: usize) -> Result<Size, String> {
        match self.known.get(name) {
            Some(Some(size)) if above + size.nested > MAX_NESTED => return Err(nested()),
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Err(format!("the fragment \"{name}\" is within itself")),
            None => {}
        }
        // One that is not there is told by what checks the document.
        let Some((name, fragment)) = self.document.fragments.get_key_value(name) else {
            return Ok(Size {
                fields: 1,
                ..Size::default()
            });
        };
        self.known.insert(name.as_str(), None);
        let size = self.size(&fragment.node.selection_set.node, above)?;
        self.known.insert(name.as_str(), Some(size));
        Ok(size)
    }
}

fn nested() -> String {
    format!("a document has at most {MAX_NESTED} selections in one another")
}
