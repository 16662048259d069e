//! All lines of a document that hold words of the query, the most telling of them shown.

use std::fs::File;
use std::ops::ControlFlow;

use search_core::answer::{MatchedLine, MatchedLines};
use search_core::snippet::{TextHit, cut};

use super::head::{FileHead, plain_utf8};
use super::pieces::{content_range, whole_words};
use super::{Excerpter, FilePiece, MAX_EXCERPT_BYTES, is_deep};
use crate::extract::{self, TextFormat};
use crate::files::SourceFiles;
use crate::walk::SkipReason;

/// Words that are looked at: a file that holds more of them is cut off there.
const MAX_PLACES: usize = 4096;

/// Longest line shown, in characters.
const LINE_CHARS: usize = 200;

impl Excerpter {
    /// The lines of a file with words of the query: none for a page, whose lines nobody sees, and
    /// for a file that cannot be read.
    pub fn lines(
        &mut self,
        root: &dyn SourceFiles,
        key: &str,
        most: usize,
    ) -> Option<MatchedLines> {
        let format = TextFormat::from_key(key);
        if format == TextFormat::Html {
            return None;
        }
        let file = root.open_file(key).ok()?;
        let mut beginning = std::mem::take(&mut self.beginning);
        beginning.filled = 0;
        self.meant.key = self.definitions.is_some().then(|| key.to_owned());
        let lines = self.lines_of(&file, format, most, &mut beginning);
        self.meant.key = None;
        self.beginning = beginning;
        lines.ok().flatten()
    }

    fn lines_of(
        &mut self,
        file: &File,
        format: TextFormat,
        most: usize,
        beginning: &mut FileHead,
    ) -> Result<Option<MatchedLines>, SkipReason> {
        let ended = beginning.read_on(file, MAX_EXCERPT_BYTES)?;
        let lines = self.lines_in(beginning.bytes(), format, most, !ended);
        if !ended && lines.is_some() && !self.has_seen_all() {
            let bytes = file.metadata().map_or(0, |data| data.len());
            if is_deep(format, bytes)
                && let Some(piece) = self.best_piece(file)
            {
                return Ok(Some(self.lines_of_piece(&piece, most)));
            }
            return Ok(self.lines_in(&beginning.and_rest(file)?, format, most, false));
        }
        Ok(lines)
    }

    /// The lines in the bytes of a file; `more` says that it goes on.
    fn lines_in(
        &mut self,
        bytes: &[u8],
        format: TextFormat,
        most: usize,
        more: bool,
    ) -> Option<MatchedLines> {
        let decoded;
        let text = match plain_utf8(bytes) {
            Some(text) => text,
            None => {
                decoded = extract::decode(bytes.to_vec(), format)?.text;
                &decoded
            }
        };
        let format = format.or_by_content(text);
        if format == TextFormat::Html {
            return None;
        }
        let from = content_range(text, format).start;
        Some(self.lines_behind(text, from, most, more))
    }

    /// The lines of a text that is at hand; only the beginning of a long one is looked at, where
    /// any are there.
    pub fn lines_of_text(&mut self, text: &str, most: usize) -> MatchedLines {
        let beginning = &text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)];
        let lines = self.lines_behind(beginning, 0, most, beginning.len() < text.len());
        if lines.lines.is_empty() && beginning.len() < text.len() {
            return self.lines_behind(text, 0, most, false);
        }
        lines
    }

    /// The lines of a piece of a file that goes on before and behind it.
    fn lines_of_piece(&mut self, piece: &FilePiece, most: usize) -> MatchedLines {
        let mut found = self.lines_behind(&piece.text, 0, most, true);
        for line in &mut found.lines {
            line.line += piece.lines_before;
        }
        found
    }

    /// The lines behind `from`. `more` says that the text goes on.
    fn lines_behind(&mut self, text: &str, from: usize, most: usize, more: bool) -> MatchedLines {
        self.hits.clear();
        if self.add_pattern_hits(text, from..text.len(), MAX_PLACES) {
            return self.chosen_lines(text, most, more || self.hits.len() >= MAX_PLACES);
        }
        let (all, hits) = (self.finder.all_terms(), &mut self.hits);
        let (mut full, mut seen) = (false, 0);
        self.finder.scan(&text[from..], |hit| {
            // Of many hits only such matter yet whose words were not seen before.
            if hits.len() >= MAX_PLACES {
                full = true;
                if seen == all {
                    return ControlFlow::Break(());
                }
                if hit.terms & !seen == 0 {
                    return ControlFlow::Continue(());
                }
            }
            seen |= hit.terms;
            hits.push(hit.shifted(from));
            ControlFlow::Continue(())
        });
        self.chosen_lines(text, most, more || full)
    }

    /// The lines of the hits, those whose words say most before others.
    fn chosen_lines(&mut self, text: &str, most: usize, more: bool) -> MatchedLines {
        let mut found = lines_with(text, &self.hits);
        self.mark_definitions(text, &mut found);
        let total = found.len();
        let mut chosen: Vec<usize> = (0..total).collect();
        let says = |at: &usize| self.weights.total(found[*at].terms);
        let defines = |at: &usize| found[*at].is_definition;
        // The sort is stable: else the first lines are shown.
        chosen.sort_by(|a, b| {
            let by_words = says(b).total_cmp(&says(a));
            defines(b).cmp(&defines(a)).then(by_words)
        });
        chosen.truncate(most);
        chosen.sort_unstable();
        let mut lines = Vec::with_capacity(chosen.len());
        for at in chosen {
            let line = &mut found[at];
            if line.hits.start < MAX_PLACES {
                lines.push(line.to_matched_line(text, &self.hits));
                continue;
            }
            // Only its rare words were kept.
            let hits = self.finder.hits(&text[line.start..line.end]);
            let hits: Vec<TextHit> = hits.iter().map(|hit| hit.shifted(line.start)).collect();
            line.hits = 0..hits.len();
            lines.push(line.to_matched_line(text, &hits));
        }
        MatchedLines { lines, total, more }
    }

    /// Marks those lines that define what the query names.
    fn mark_definitions(&self, text: &str, lines: &mut [Line]) {
        let (Some(finder), Some(key)) = (&self.definitions, &self.meant.key) else {
            return;
        };
        // Both are in the order of the text.
        let defining = finder.lines(key, text);
        for line in lines {
            line.is_definition = defining.binary_search(&line.number).is_ok();
        }
    }
}

/// One line with hits in it.
#[derive(Debug)]
struct Line {
    number: usize,
    start: usize,
    end: usize,
    /// Which of all hits lie in it.
    hits: std::ops::Range<usize>,
    terms: u64,
    /// Whether what the query names is defined here.
    is_definition: bool,
}

impl Line {
    fn to_matched_line(&self, text: &str, all: &[TextHit]) -> MatchedLine {
        let slice = self.start..self.end;
        let near = whole_words(&all[self.hits.clone()], text, &slice);
        let focus = near.first().map_or(0..0, |hit| hit.start..hit.end);
        let cut = cut(&text[slice], &near, focus, LINE_CHARS);
        MatchedLine {
            line: self.number,
            text: cut.text,
            highlights: cut.highlights,
            is_definition: self.is_definition,
        }
    }
}

/// The lines that hits stand in. What reaches over the end of a line belongs to its first one.
fn lines_with(text: &str, hits: &[TextHit]) -> Vec<Line> {
    let bytes = text.as_bytes();
    let mut lines: Vec<Line> = Vec::new();
    let (mut number, mut counted) = (1, 0);
    for (at, hit) in hits.iter().enumerate() {
        if let Some(last) = lines.last_mut()
            && hit.start < last.end
        {
            last.hits.end = at + 1;
            last.terms |= hit.terms;
            continue;
        }
        number += memchr::memchr_iter(b'\n', &bytes[counted..hit.start]).count();
        counted = hit.start;
        let start = memchr::memrchr(b'\n', &bytes[..hit.start]).map_or(0, |gap| gap + 1);
        let end = memchr::memchr(b'\n', &bytes[hit.start..]);
        lines.push(Line {
            number,
            start,
            end: end.map_or(text.len(), |gap| hit.start + gap),
            hits: at..at + 1,
            terms: hit.terms,
            is_definition: false,
        });
    }
    lines
}
