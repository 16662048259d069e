//! Word pieces: `tokenizer.json` of a BERT.

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use super::error::{EmbeddingError, read_bounded};

/// Longest word that is taken apart, in characters; longer ones are unknown.
const MAX_WORD: usize = 100;

/// Bytes of a text that are looked at for each token wanted: no text needs more.
const BYTES_A_TOKEN: usize = 64;

#[derive(Debug, Deserialize)]
struct File {
    model: Model,
    #[serde(default)]
    normalizer: Option<Normalizer>,
}

#[derive(Debug, Deserialize)]
struct Model {
    #[serde(default, rename = "type")]
    kind: String,
    vocab: FxHashMap<String, u32>,
    unk_token: String,
    continuing_subword_prefix: String,
}

#[derive(Debug, Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    lowercase: bool,
    #[serde(default)]
    strip_accents: Option<bool>,
}

/// Takes texts apart into numbered pieces.
#[derive(Debug)]
pub(super) struct Tokenizer {
    pieces: FxHashMap<String, u32>,
    prefix: String,
    unknown: u32,
    first: u32,
    last: u32,
    lowercase: bool,
    strip_accents: bool,
}

impl Tokenizer {
    /// Reads the file; all pieces have numbers below `vocabulary`.
    pub(super) fn read(path: &Path, vocabulary: usize) -> Result<Self, EmbeddingError> {
        let unusable = |what: String| EmbeddingError::unusable(path, what);
        let bytes = read_bounded(path, 64 << 20)?;
        let file: File =
            serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        if !matches!(file.model.kind.as_str(), "WordPiece" | "") {
            return Err(unusable(
                "only WordPiece tokenizers can be run here".to_owned(),
            ));
        }
        let normalizer = file.normalizer.filter(|n| n.kind == "BertNormalizer");
        let normalizer = normalizer
            .ok_or_else(|| unusable("only a BertNormalizer can be run here".to_owned()))?;
        let pieces = file.model.vocab;
        if pieces.values().any(|number| *number as usize >= vocabulary) {
            return Err(unusable("a piece has no row in the model".to_owned()));
        }
        let special = |piece: &str| {
            let number = pieces.get(piece).copied();
            number.ok_or_else(|| unusable(format!("the piece `{piece}` is missing")))
        };
        Ok(Self {
            unknown: special(&file.model.unk_token)?,
            first: special("[CLS]")?,
            last: special("[SEP]")?,
            lowercase: normalizer.lowercase,
            strip_accents: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
            prefix: file.model.continuing_subword_prefix,
            pieces,
        })
    }

    /// The pieces of two texts behind each other, at most `limit` with the three around them, and
    /// where those of the second begin. The first has `first` of them at most.
    pub(super) fn pair(
        &self,
        (one, first): (&str, usize),
        other: &str,
        limit: usize,
    ) -> (Vec<u32>, usize) {
        let mut tokens = self.tokens(one, first.min(limit.saturating_sub(1)));
        let second_from = tokens.len();
        // The piece that begins a text stands once.
        let rest = self.tokens(other, limit - second_from + 1);
        tokens.extend(&rest[1..]);
        (tokens, second_from)
    }

    /// The pieces of a text, at most `limit` with the two at the ends.
    pub(super) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let text = &text[..text.floor_char_boundary(limit * BYTES_A_TOKEN)];
        let text = self.normalise(text);
        let mut tokens = vec![self.first];
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            let stands_alone = is_punctuation(c) || is_ideograph(c);
            if c.is_whitespace() || stands_alone {
                self.add_word(&word, &mut tokens);
                word.clear();
                if stands_alone {
                    self.add_word(c.encode_utf8(&mut [0; 4]), &mut tokens);
                }
                if tokens.len() >= limit {
                    break;
                }
            } else {
                word.push(c);
            }
        }
        tokens.truncate(limit.saturating_sub(1));
        tokens.push(self.last);
        tokens
    }

    fn normalise(&self, text: &str) -> String {
        let kept = text.chars().filter(|&c| !is_dropped(c));
        let bare: String = if self.strip_accents {
            kept.nfd().filter(|&c| !is_accent(c)).collect()
        } else {
            kept.collect()
        };
        if self.lowercase {
            bare.to_lowercase()
        } else {
            bare
        }
    }

    /// Appends the longest pieces that make up a word.
    fn add_word(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        if word.chars().count() > MAX_WORD {
            tokens.push(self.unknown);
            return;
        }
        let before = tokens.len();
        let mut start = 0;
        let mut piece = String::new();
        while start < word.len() {
            let ends = word[start..]
                .char_indices()
                .rev()
                .map(|(at, c)| start + at + c.len_utf8());
            let found = ends
                .map(|end| (end, &word[start..end]))
                .find_map(|(end, part)| {
                    piece.clear();
                    if start > 0 {
                        piece.push_str(&self.prefix);
                    }
                    piece.push_str(part);
                    Some((end, *self.pieces.get(piece.as_str())?))
                });
            let Some((end, number)) = found else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(number);
            start = end;
        }
    }
}

/// Controls and what stands for damaged text; whitespace stays.
fn is_dropped(c: char) -> bool {
    c == '\0' || c == '\u{fffd}' || (c.is_control() && !c.is_whitespace())
}

fn is_accent(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// What BERT calls punctuation: ASCII symbols, and punctuation of the common blocks beyond.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}'
            | '\u{2053}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}'
            | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}'
            | '\u{ff0c}'..='\u{ff0f}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ceaf}')
}
