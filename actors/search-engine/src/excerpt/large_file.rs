//! Files that are too long to be read whole for one result: looked at piece by piece for the place
//! that says most, such as a log of a hundred megabytes with one line about what was asked.

use std::fs::File;

use search_core::snippet::best_window;

use super::head::plain_utf8;
use super::{Excerpt, Excerpter, span};

/// Bytes of one piece.
const PIECE_BYTES: usize = 4 << 20;

/// Bytes of such files that are looked at for one page of results.
const MAX_PAGE_BYTES: u64 = 160 << 20;

/// What a word may say and still not be missed: less than any that ranks.
const NOTHING: f32 = 0.5;

/// A piece of a long file: whole lines, where it has lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilePiece {
    /// Its text.
    pub(crate) text: String,
    /// How many lines stand before it.
    pub(crate) lines_before: usize,
}

impl Excerpter {
    /// The piece of a long file with the place that says most; none where the file holds nothing
    /// that is looked for, or is no plain text.
    pub(crate) fn best_piece(&mut self, file: &File) -> Option<FilePiece> {
        let all = self.weights.total(self.finder.all_terms());
        let mut best: Option<(f32, FilePiece)> = None;
        let (mut at, mut lines_before) = (0, 0);
        while self.deep_bytes < MAX_PAGE_BYTES {
            let mut bytes = vec![0; PIECE_BYTES];
            let filled = read_at(file, &mut bytes, at)?;
            bytes.truncate(filled);
            self.deep_bytes += filled as u64;
            let is_last = filled < PIECE_BYTES;
            if !is_last && let Some(end) = memchr::memrchr(b'\n', &bytes) {
                bytes.truncate(end + 1);
            }
            let text = plain_utf8(&bytes)?;
            if text.is_empty() {
                break;
            }
            let says = self.score_text(text);
            let most = best.as_ref().map_or(0.0, |(most, _)| *most);
            if says > most {
                let piece = FilePiece {
                    text: text.to_owned(),
                    lines_before,
                };
                best = Some((says, piece));
            }
            if is_last || (says > 0.0 && says + NOTHING > all) {
                break;
            }
            at += text.len() as u64;
            lines_before += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        }
        best.map(|(_, piece)| piece)
    }

    /// What the best place of a text says; nothing where a phrase or a pattern is not in it.
    fn score_text(&mut self, text: &str) -> f32 {
        if !self.patterns.is_empty() {
            self.hits.clear();
            let is_there = self.add_pattern_hits(text, 0..text.len(), 1);
            return if is_there { f32::MAX } else { 0.0 };
        }
        if self
            .phrases
            .iter_mut()
            .any(|phrase| phrase.find(text).is_some())
        {
            return f32::MAX;
        }
        self.scan(text, 0..text.len());
        let window = best_window(&self.hits, span(self.max_chars), &self.weights);
        let hits = window.map_or(&[][..], |window| &self.hits[window]);
        self.weights
            .total(hits.iter().fold(0, |all, hit| all | hit.terms))
    }

    /// Where the place of a text that says most begins, in bytes; none where it holds nothing that
    /// is looked for.
    pub(crate) fn best_place(&mut self, text: &str) -> Option<usize> {
        self.scan(text, 0..text.len());
        let window = best_window(&self.hits, span(self.max_chars), &self.weights)?;
        Some(self.hits[window.start].start)
    }

    /// The excerpt of a file that is too long to be read whole.
    pub(super) fn excerpt_deep_file(&mut self, file: &File) -> Option<Excerpt> {
        let piece = self.best_piece(file)?;
        let text = piece.text.as_str();
        self.scan(text, 0..text.len());
        let excerpt = self.cut_plain(text, 0..text.len());
        Some(Excerpt {
            line: excerpt.line.map(|line| line + piece.lines_before),
            ..excerpt
        })
    }
}

/// Fills a buffer from a place of a file on, as far as there is something. Gives how far.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Option<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        let from = at + filled as u64;
        let read =
            rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut bytes[filled..], from));
        match read.ok()? {
            0 => break,
            read => filled += read,
        }
    }
    Some(filled)
}
