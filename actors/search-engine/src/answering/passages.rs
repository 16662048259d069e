//! Passages of the results, for programs that read on: read from the files, with their lines.

use std::fs::File;

use search_core::answer::PassageView;
use search_core::definition_finder::DefinitionFinder;
use search_core::passages::{ChosenPassage, PassageDocument, choose_beside_rest};
use search_core::query::ParsedQuery;

use super::nearest::NearestPassage;
use super::source::{MAX_BODY_BYTES, SearchableSource};
use super::texts::phrases;
use crate::excerpt::{Excerpter, is_deep};
use crate::extract::{TextFormat, decode};
use crate::index::{Hits, SearchHit};

/// Results whose texts are read.
const MAX_DOCUMENTS: usize = 50;

/// Bytes of a document that are looked at.
const MAX_TEXT: usize = 1 << 20;

/// Characters of the place that a piece of a long text is taken around.
const PLACE_CHARS: usize = 240;

/// Longest line whose beginning is looked for before a piece of a long text.
const MAX_LINE: usize = 64 << 10;

/// Texts are read until so many bytes were.
const MAX_TEXTS: usize = 16 << 20;

/// The passages of `found` within `budget` tokens, none where no tokens are asked for; and whether
/// the clock decided what they are.
pub(super) fn passages(
    query: &ParsedQuery,
    open: &[&SearchableSource],
    found: &Hits,
    budget: usize,
) -> (Option<Vec<PassageView>>, bool) {
    if budget == 0 {
        return (None, false);
    }
    let hits = &found.hits;
    let excerpter = Excerpter::new(query, PLACE_CHARS).weighing(&found.rarities);
    let mut excerpter = excerpter.showing(phrases(query));
    let finder = DefinitionFinder::from_query(query);
    let (mut documents, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
    for hit in hits.iter().take(MAX_DOCUMENTS) {
        let source = open[hit.source];
        let mut text = DocumentText::load(source, hit);
        bytes += text.text.len();
        text.shorten(&mut excerpter);
        let key = &hit.record.key;
        let shown = std::mem::take(&mut text.text);
        let asked = query
            .wanted_line(key)
            .filter(|_| text.has_lines)
            .and_then(|line| line.checked_sub(text.lines_before));
        let is_free = !text.is_part && asked.is_none();
        let nearest = NearestPassage::find(source, hit).filter(|_| is_free);
        documents.push(PassageDocument {
            place: format_place(source, hit),
            score: hit.score,
            hits: excerpter.all_hits(&shown),
            defining: finder
                .as_ref()
                .map_or_else(Vec::new, |finder| finder.lines(key, &shown)),
            meant: finder
                .as_ref()
                .filter(|_| hit.defines)
                .and_then(|finder| finder.best(key, &shown))
                .map(|found| found.line),
            asked,
            nearest: nearest.and_then(|passage| passage.start_in(&shown)),
            is_part: text.is_part,
            text: shown,
        });
        texts.push(text);
        if bytes > MAX_TEXTS {
            break;
        }
    }
    let chosen = choose_beside_rest(&documents, budget);
    let view = |one: ChosenPassage| {
        let hit = &hits[one.document];
        let source = open[hit.source];
        let place = source.location(&hit.record.key);
        let text = &texts[one.document];
        let line = |line: usize| text.has_lines.then_some(line + text.lines_before);
        PassageView {
            id: source.document_id(&hit.record.key),
            title: source.title(&hit.record),
            url: place.url,
            path: place.path,
            line: line(one.line),
            end_line: line(one.end_line),
            text: documents[one.document].text[one.range]
                .trim_end()
                .to_owned(),
            tokens: one.tokens,
        }
    };
    let passages = chosen.into_iter().map(view).collect();
    (Some(passages), excerpter.was_late())
}

fn format_place(source: &SearchableSource, hit: &SearchHit) -> String {
    let place = source.location(&hit.record.key);
    place.path.unwrap_or(place.url)
}

/// The text of a document, or a piece of it.
#[derive(Default)]
struct DocumentText {
    text: String,
    /// Whether its lines are those of a file.
    has_lines: bool,
    /// How many lines of the document stand before it.
    lines_before: usize,
    /// Whether the document has more of it.
    is_part: bool,
    /// The file it is the beginning of, where that is long.
    file: Option<File>,
}

impl DocumentText {
    fn load(source: &SearchableSource, hit: &SearchHit) -> Self {
        let key = &hit.record.key;
        let kept = source.stored_text(&hit.record);
        let format = TextFormat::from_key(key);
        if kept.is_none() && is_deep(format, hit.record.file.size) {
            let root = source.root.as_ref();
            let file = root.and_then(|root| root.open_file(key).ok());
            return Self {
                has_lines: true,
                is_part: true,
                file,
                ..Self::default()
            };
        }
        let own = if kept.is_none() && format != TextFormat::Html {
            source.file_text(key)
        } else {
            None
        };
        Self {
            has_lines: own.is_some(),
            text: own
                .or(kept)
                .or_else(|| source.body(key))
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Leaves of a long text the piece with the place that says most.
    fn shorten(&mut self, excerpter: &mut Excerpter) {
        let piece = self.file.take().map(|file| excerpter.best_piece(&file));
        if let Some(Some(piece)) = piece {
            self.text = piece.text;
            self.lines_before = piece.lines_before;
        }
        if self.text.len() <= MAX_TEXT {
            return;
        }
        self.is_part = true;
        let place = excerpter.best_place(&self.text).unwrap_or(0);
        let from = self
            .text
            .floor_char_boundary(place.saturating_sub(MAX_TEXT / 2));
        let from = self.text[..from].rfind('\n').map_or(0, |gap| gap + 1);
        // In one endless line a piece begins inside of it.
        let from = if place - from > MAX_TEXT / 2 + MAX_LINE {
            self.text.floor_char_boundary(place - MAX_TEXT / 2)
        } else {
            from
        };
        let end = self
            .text
            .floor_char_boundary((from + MAX_TEXT).min(self.text.len()));
        let before = self.text.as_bytes()[..from].iter();
        self.lines_before += before.filter(|byte| **byte == b'\n').count();
        self.text.truncate(end);
        self.text.drain(..from);
    }
}

impl SearchableSource {
    /// The file's own text, with its markup; none of a page of bytes.
    pub(super) fn file_text(&self, key: &str) -> Option<String> {
        if let Some(text) = self.plain_text(key) {
            return Some(text);
        }
        let content = self.root.as_ref()?.read(key, MAX_BODY_BYTES, &|_| false);
        let bytes = content.ok()?.bytes;
        // UTF-16 without a mark is valid UTF-8 as well, with a NUL for each other letter.
        if !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok() {
            return String::from_utf8(bytes).ok();
        }
        decode(bytes, TextFormat::from_key(key)).map(|decoded| decoded.text)
    }
}
