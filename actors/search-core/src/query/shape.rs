//! What a piece of a regular expression that stands inside one word says of the folded word.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::analysis::MAX_WORD_BYTES;

/// Longest shape, in bytes; what is longer is told by its letters alone.
const MAX_SHAPE: usize = 1024;

/// Most characters of a class that are looked at one by one.
const MAX_CLASS: usize = 128;

/// Most pieces inside one another.
const MAX_DEPTH: usize = 24;

/// Most memory of a compiled shape, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 18;

/// Tells the words that may hold a match from those that have its letters alone.
#[derive(Debug, Clone)]
pub struct WordShape(regex::bytes::Regex);

impl WordShape {
    /// None where it would be too large.
    pub(super) fn parse(shape: &str) -> Option<Self> {
        let compiled = regex::bytes::RegexBuilder::new(shape)
            .unicode(false)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build();
        compiled.ok().map(Self)
    }

    /// Whether a folded word is like that.
    #[must_use]
    pub fn is_of(&self, word: &[u8]) -> bool {
        self.0.is_match(word)
    }
}

/// The shape of an expression; none where it may match what stands in no word, or in several.
pub(super) fn shape_of(expression: &Hir) -> Option<String> {
    let mut shape = String::new();
    add(expression, MAX_DEPTH, &mut shape)?;
    Some(shape)
}

/// The shape of a piece that is repeated.
pub(super) fn repeated(piece: &Hir, least: u32, most: Option<u32>) -> Option<String> {
    let mut shape = String::new();
    add_repeated(piece, (least, most), MAX_DEPTH, &mut shape)?;
    Some(shape)
}

fn add(expression: &Hir, depth: usize, shape: &mut String) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match expression.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            for &byte in &literal.0 {
                shape.push(folded(byte.into())?);
            }
        }
        HirKind::Class(class) => add_class(class, shape)?,
        HirKind::Look(_) => return None,
        HirKind::Repetition(repetition) => {
            let times = (repetition.min, repetition.max);
            add_repeated(&repetition.sub, times, depth, shape)?;
        }
        HirKind::Capture(capture) => add(&capture.sub, depth, shape)?,
        HirKind::Concat(list) => {
            for one in list {
                add(one, depth, shape)?;
            }
        }
        HirKind::Alternation(list) => {
            for (number, one) in list.iter().enumerate() {
                shape.push_str(if number == 0 { "(?:" } else { "|" });
                add(one, depth, shape)?;
            }
            shape.push(')');
        }
    }
    (shape.len() <= MAX_SHAPE).then_some(())
}

/// No word is longer than [`MAX_WORD_BYTES`], so more is as good as any number.
fn add_repeated(
    piece: &Hir,
    (least, most): (u32, Option<u32>),
    depth: usize,
    shape: &mut String,
) -> Option<()> {
    let longest = MAX_WORD_BYTES as u32;
    shape.push_str("(?:");
    add(piece, depth, shape)?;
    let most = most.filter(|most| *most <= longest);
    let most = most.map_or_else(String::new, |most| most.to_string());
    shape.push_str(&format!("){{{},{most}}}", least.min(longest)));
    Some(())
}

fn add_class(class: &Class, shape: &mut String) -> Option<()> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|r| (r.start(), r.end())).collect(),
        Class::Bytes(class) => {
            let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
            ranges.collect()
        }
    };
    let mut letters = Vec::new();
    for (start, end) in ranges {
        if end as usize - start as usize + letters.len() > MAX_CLASS {
            return None;
        }
        for letter in start..=end {
            letters.push(folded(letter)?);
        }
    }
    letters.sort_unstable();
    letters.dedup();
    shape.push('[');
    for run in letters.chunk_by(|a, b| *a as u32 + 1 == *b as u32) {
        match run {
            [first, _, .., last] => shape.extend([*first, '-', *last]),
            few => shape.extend(few),
        }
    }
    shape.push(']');
    Some(())
}

/// How a character that is part of a word in whatever text stands in the folded word.
const fn folded(letter: char) -> Option<char> {
    match letter {
        '_' => Some(letter),
        // Their capitals are ASCII.
        '\u{17f}' => Some('s'),
        '\u{212a}' => Some('k'),
        _ if letter.is_ascii_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}
