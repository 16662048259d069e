//! Parser events to the tree. Everything is counted while it is read: nothing is built first and
//! refused later.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use config_core::{SourceText, quoted};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use super::error::YamlError;
use super::indent::IndentCorrections;
use super::keys::{PendingKey, new_key, twice};
use super::merge::{self, MergeKeys};
use super::{NodeData, YamlEntry, YamlNode, resolve};
use crate::expr::ExprValue;
use crate::limits::{MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_FINDINGS, MAX_NODES};
use crate::source_location::SourceLocation;

/// The one document of a text.
#[derive(Debug)]
pub(crate) struct YamlDocument {
    /// Its value, without the entries whose keys are there twice.
    pub(crate) root: Arc<YamlNode>,
    /// What is wrong with it, though the rest can be read.
    pub(crate) mistakes: Vec<YamlError>,
}

/// Reads the one document of a text.
pub(crate) fn load(source: &SourceText, merge: MergeKeys) -> Result<YamlDocument, YamlError> {
    let mut moved = IndentCorrections::default();
    loop {
        let text = moved.apply(source.text());
        let mut loader = Loader::new(source, &moved, merge);
        match loader.read(&text) {
            Ok(()) => return loader.finish(),
            Err(LoadFailure::Here(error)) => return Err(error),
            Err(LoadFailure::Syntax(error)) => {
                let wrong = loader.wrong_syntax(&error);
                if !moved.repair(source.text(), &error) {
                    return Err(wrong);
                }
            }
        }
    }
}

/// Why reading stopped.
enum LoadFailure {
    /// The parser says so.
    Syntax(saphyr_parser::ScanError),
    /// What it read is not taken here.
    Here(YamlError),
}

/// A list or mapping that is still open.
struct OpenCollection {
    start: Marker,
    /// The byte of `start`.
    from: usize,
    anchor: usize,
    weight: ExpandedSize,
    inside: CollectionKind,
}

enum CollectionKind {
    List(Vec<Arc<YamlNode>>),
    Map {
        entries: Vec<YamlEntry>,
        seen: HashMap<String, u32>,
        key: Option<PendingKey>,
    },
}

/// How much a value is with its aliases written out.
#[derive(Clone, Copy, Default)]
struct ExpandedSize {
    nodes: usize,
    bytes: usize,
}

struct Loader<'a> {
    source: &'a SourceText,
    moved: &'a IndentCorrections,
    merge: MergeKeys,
    lines: Vec<usize>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, (Arc<YamlNode>, ExpandedSize)>,
    root: Option<Arc<YamlNode>>,
    documents: usize,
    mistakes: Vec<YamlError>,
    /// Line, column and byte of the marker that was asked for last.
    last: Cell<(usize, usize, usize)>,
}

impl<'a> Loader<'a> {
    fn new(source: &'a SourceText, moved: &'a IndentCorrections, merge: MergeKeys) -> Self {
        let text = source.text();
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            source,
            moved,
            merge,
            lines: std::iter::once(0).chain(starts).collect(),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            documents: 0,
            mistakes: Vec::new(),
            last: Cell::new((0, 0, 0)),
        }
    }

    fn read(&mut self, text: &str) -> Result<(), LoadFailure> {
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(LoadFailure::Syntax)?;
            self.take(event, span).map_err(LoadFailure::Here)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<YamlDocument, YamlError> {
        let mistakes = self.mistakes;
        match self.root {
            Some(root) => Ok(YamlDocument { root, mistakes }),
            None => Err(YamlError::new(
                SourceLocation::default(),
                "the file holds no value",
            )),
        }
    }

    /// The byte a marker stands at. Markers come in the order of the text, so that a long line is
    /// walked once: from where the last one stood.
    fn offset(&self, marker: Marker) -> usize {
        let text = self.source.text();
        let line = marker.line().saturating_sub(1);
        let Some(start) = self.lines.get(line) else {
            return text.len();
        };
        let (last_line, last_col, last_byte) = self.last.get();
        let column = self.moved.column(marker);
        let (col, byte) = if last_line == line && last_col <= column {
            (last_col, last_byte)
        } else {
            (0, *start)
        };
        let mut rest = text[byte..].char_indices();
        let found = rest.nth(column - col);
        let offset = found.map_or(text.len(), |(at, _)| byte + at);
        self.last.set((line, column, offset));
        offset
    }

    fn place(&self, start: Marker, end: Marker) -> SourceLocation {
        let from = self.offset(start);
        self.place_from(start, from, end)
    }

    fn place_from(&self, start: Marker, from: usize, end: Marker) -> SourceLocation {
        let to = self.offset(end);
        let counted = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        SourceLocation {
            line: counted(start.line().max(1)),
            col: counted(self.moved.column(start) + 1),
            start: counted(from),
            end: counted(to.max(from)),
        }
    }

    fn span(&self, span: Span) -> SourceLocation {
        self.place(span.start, span.end)
    }

    fn wrong_syntax(&self, error: &saphyr_parser::ScanError) -> YamlError {
        let mut place = self.place(*error.marker(), *error.marker());
        place.end = place.start + 1;
        if error.info().contains("recursion") {
            return too_deep(place);
        }
        let wrong = YamlError::new(place, format!("not valid YAML: {}", error.info()));
        let line = self.source.text()[place.bytes().start.min(self.source.text().len())..]
            .lines()
            .next();
        match line {
            Some(line) if line.trim_start().starts_with('\t') => {
                wrong.help("indent with spaces; YAML takes no tabs")
            }
            _ => wrong,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let error = YamlError::new(self.span(span), "a second document begins here");
                    return Err(error.help("a workflow file holds one; take the `---` away"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let place = self.span(span);
                let plain = style == ScalarStyle::Plain;
                let value = self.scalar(&text, plain, tag.as_deref(), place)?;
                let text = text.into_owned();
                let weight = ExpandedSize {
                    nodes: 1,
                    bytes: text.len(),
                };
                let node = YamlNode {
                    place,
                    data: NodeData::Scalar { text, value },
                };
                self.add(Arc::new(node), place, weight, anchor)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), span)?;
                self.start_collection(span, anchor, CollectionKind::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), span)?;
                let inside = CollectionKind::Map {
                    entries: Vec::new(),
                    seen: HashMap::new(),
                    key: None,
                };
                self.start_collection(span, anchor, inside)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (node, weight) = known.ok_or_else(|| {
                    YamlError::new(self.span(span), "the alias refers to itself or to nothing")
                })?;
                let place = self.span(span);
                self.add(node, place, weight, 0)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn scalar(
        &self,
        text: &str,
        plain: bool,
        tag: Option<&Tag>,
        place: SourceLocation,
    ) -> Result<ExprValue, YamlError> {
        let Some(tag) = tag else {
            return Ok(if plain {
                resolve(text)
            } else {
                ExprValue::text(text)
            });
        };
        let core = tag.is_yaml_core_schema() || tag.handle == "!!";
        match tag.suffix.as_str() {
            "str" if core => Ok(ExprValue::text(text)),
            "int" | "float" | "bool" | "null" if core => Ok(resolve(text)),
            // A lone `!`: whatever it looks like, it is a text.
            "" if tag.handle == "!" => Ok(ExprValue::text(text)),
            "!" if tag.handle.is_empty() => Ok(ExprValue::text(text)),
            _ => Err(unknown_tag(tag, place)),
        }
    }

    fn check_tag(&self, tag: Option<&Tag>, span: Span) -> Result<(), YamlError> {
        match tag {
            Some(tag) if !matches!(tag.suffix.as_str(), "map" | "seq") => {
                Err(unknown_tag(tag, self.span(span)))
            }
            _ => Ok(()),
        }
    }

    fn start_collection(
        &mut self,
        span: Span,
        anchor: usize,
        inside: CollectionKind,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(self.span(span)));
        }
        let weight = ExpandedSize { nodes: 1, bytes: 0 };
        self.open.push(OpenCollection {
            start: span.start,
            from: self.offset(span.start),
            anchor,
            weight,
            inside,
        });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let place = self.place_from(open.start, open.from, span.end);
        let data = match open.inside {
            CollectionKind::List(values) => NodeData::List(values),
            CollectionKind::Map { entries, .. } => NodeData::Map(merge::merged(entries)?),
        };
        self.add(
            Arc::new(YamlNode { place, data }),
            place,
            open.weight,
            open.anchor,
        )
    }

    /// Puts a finished value where it belongs.
    fn add(
        &mut self,
        node: Arc<YamlNode>,
        place: SourceLocation,
        weight: ExpandedSize,
        anchor: usize,
    ) -> Result<(), YamlError> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(parent) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        parent.weight.nodes += weight.nodes;
        parent.weight.bytes += weight.bytes;
        if parent.weight.nodes > MAX_NODES || parent.weight.bytes > MAX_EXPANDED_BYTES {
            let message = format!(
                "the file is too large with its aliases written out: \
                 {MAX_NODES} values and {MAX_EXPANDED_BYTES} bytes at most"
            );
            return Err(YamlError::new(place, message));
        }
        match &mut parent.inside {
            CollectionKind::List(values) => values.push(node),
            CollectionKind::Map { entries, seen, key } => match key.take() {
                None => *key = Some(new_key(&node, seen, self.merge)?),
                Some(key) => match key.before {
                    Some(line) if self.mistakes.len() < MAX_FINDINGS => {
                        self.mistakes.push(twice(&key, line));
                    }
                    Some(_) => {}
                    None => entries.push(YamlEntry {
                        key: key.text,
                        key_place: key.place,
                        value: node,
                    }),
                },
            },
        }
        Ok(())
    }
}

fn unknown_tag(tag: &Tag, place: SourceLocation) -> YamlError {
    let shown = quoted(&format!("{}{}", tag.handle, tag.suffix));
    YamlError::new(place, format!("unknown tag {shown}")).help("workflows use no tags of their own")
}

fn too_deep(place: SourceLocation) -> YamlError {
    YamlError::new(
        place,
        format!("values are nested more than {MAX_DEPTH} deep"),
    )
}
