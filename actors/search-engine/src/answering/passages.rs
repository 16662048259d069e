//! Passages of the results, for programs that read on: read from the files, with their lines.

use search_core::answer::PassageView;
use search_core::definition_finder::DefinitionFinder;
use search_core::passages::{ChosenPassage, FoundDocument, choose};
use search_core::query::ParsedQuery;

use super::source::{MAX_BODY_BYTES, SearchableSource};
use crate::excerpt::Excerpter;
use crate::extract::Format;
use crate::index::Hit;

/// Results whose texts are read.
const MAX_DOCUMENTS: usize = 50;

/// Bytes of a document that are looked at.
const MAX_TEXT: usize = 1 << 20;

/// Texts are read until so many bytes were.
const MAX_TEXTS: usize = 16 << 20;

/// The passages of `hits` within `budget` tokens; none where no tokens are asked for.
pub(super) fn passages(
    query: &ParsedQuery,
    open: &[&SearchableSource],
    hits: &[Hit],
    budget: usize,
) -> Option<Vec<PassageView>> {
    if budget == 0 {
        return None;
    }
    let mut excerpter = Excerpter::new(query, 0);
    let finder = DefinitionFinder::of_query(query);
    let (mut documents, mut with_lines, mut bytes) = (Vec::new(), Vec::new(), 0);
    for hit in hits.iter().take(MAX_DOCUMENTS) {
        let source = open[hit.source];
        let (text, has_lines) = text_of(source, hit);
        let key = &hit.record.key;
        bytes += text.len();
        with_lines.push(has_lines);
        documents.push(FoundDocument {
            place: shown_place(source, hit),
            score: hit.score,
            hits: excerpter.all_hits(&text),
            defining: finder
                .as_ref()
                .map_or_else(Vec::new, |finder| finder.lines(key, &text)),
            meant: finder
                .as_ref()
                .filter(|_| hit.defines)
                .and_then(|finder| finder.best(key, &text))
                .map(|found| found.line),
            asked: query.wanted_line(key).filter(|_| has_lines),
            text,
        });
        if bytes > MAX_TEXTS {
            break;
        }
    }
    let chosen = choose(&documents, budget);
    let view = |one: ChosenPassage| {
        let hit = &hits[one.document];
        let source = open[hit.source];
        let place = source.place(&hit.record.key);
        let has_lines = with_lines[one.document];
        PassageView {
            id: source.document_id(&hit.record.key),
            title: source.title(&hit.record),
            url: place.url,
            path: place.path,
            line: has_lines.then_some(one.line),
            end_line: has_lines.then_some(one.end_line),
            text: documents[one.document].text[one.range]
                .trim_end()
                .to_owned(),
            tokens: one.tokens,
        }
    };
    Some(chosen.into_iter().map(view).collect())
}

fn shown_place(source: &SearchableSource, hit: &Hit) -> String {
    let place = source.place(&hit.record.key);
    place.path.unwrap_or(place.url)
}

/// The text of a document, and whether its lines are those of a file.
fn text_of(source: &SearchableSource, hit: &Hit) -> (String, bool) {
    let key = &hit.record.key;
    let kept = source.kept_text(&hit.record);
    let is_page = Format::of_key(key) == Format::Html;
    let own = if kept.is_none() && !is_page {
        source.file_text(key)
    } else {
        None
    };
    let has_lines = own.is_some();
    let text = own.or(kept).or_else(|| source.body(key));
    let mut text = text.unwrap_or_default();
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    (text, has_lines)
}

impl SearchableSource {
    /// The file's own text, with its markup; none of a page of bytes.
    fn file_text(&self, key: &str) -> Option<String> {
        if let Some(text) = self.plain_text(key) {
            return Some(text);
        }
        let content = self.root.as_ref()?.read(key, MAX_BODY_BYTES, &|_| false);
        String::from_utf8(content.ok()?.bytes).ok()
    }
}
