//! One stream of output without its secrets.

use std::sync::Arc;

use crate::MASK;
use crate::dumps::dumps;
use crate::forms::SecretForms;
use crate::index::FormIndex;
use crate::joined::{self, LinePrefix};
use crate::text::OutputText;

/// Part of a secret that is masked even when the rest never comes, in bytes.
const MIN_MASKED_PREFIX: usize = 8;
/// What is held back at most, beside six times the longest form.
const MAX_HELD: usize = 16 << 10;

/// Forms of secrets, ready to be looked for. Clones share them.
#[derive(Clone)]
pub struct CompiledForms(Arc<Indexes>);

struct Indexes {
    all: FormIndex,
    plain: FormIndex,
    dumped: FormIndex,
    base64: FormIndex,
    hex: FormIndex,
    max_held: usize,
}

impl From<&SecretForms> for CompiledForms {
    fn from(forms: &SecretForms) -> Self {
        let all = FormIndex::new(&forms.all);
        Self(Arc::new(Indexes {
            max_held: MAX_HELD + 6 * all.longest(),
            all,
            plain: FormIndex::new(&forms.plain),
            dumped: FormIndex::new(&forms.dumped),
            base64: FormIndex::new(&forms.base64),
            hex: FormIndex::new(&forms.hex),
        }))
    }
}

impl std::fmt::Debug for CompiledForms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CompiledForms([redacted])")
    }
}

/// Masks a stream. What could be the beginning of a secret is held back until more comes.
pub struct StreamMasker {
    forms: CompiledForms,
    held: Vec<u8>,
    /// Of each held byte, whether it is a secret's.
    marked: Vec<bool>,
    /// Whether the last byte that was given out was part of a secret: what follows it needs no
    /// other mask.
    inside: bool,
    at_line_start: bool,
    line_prefix: LinePrefix,
    masked: u64,
}

impl std::fmt::Debug for StreamMasker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What is held back may be a secret's.
        f.debug_struct("StreamMasker")
            .field("held", &self.held.len())
            .field("masked", &self.masked)
            .finish_non_exhaustive()
    }
}

impl StreamMasker {
    /// A masker for these.
    pub fn new(forms: CompiledForms) -> Self {
        Self {
            forms,
            held: Vec::new(),
            marked: Vec::new(),
            inside: false,
            at_line_start: true,
            line_prefix: LinePrefix::default(),
            masked: 0,
        }
    }

    /// Looks for these from here on, in what is held back too.
    pub fn set(&mut self, forms: CompiledForms) {
        self.forms = forms;
    }

    /// How many masks were given out.
    pub fn masked(&self) -> u64 {
        self.masked
    }

    /// Takes more of the stream and gives to `out` what can be shown.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let decided = self.scan(false);
        self.emit(decided, out);
    }

    /// Gives out the rest: the stream has ended.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let forms = Arc::clone(&self.forms.0);
        self.scan(true);
        let rest = forms.all.unfinished(&self.held).next();
        if let Some(start) = rest.filter(|start| self.held.len() - start >= MIN_MASKED_PREFIX) {
            self.marked[start..].fill(true);
        }
        self.emit(self.held.len(), out);
    }

    /// Marks what is found; gives back up to where nothing can change any more.
    fn scan(&mut self, is_end: bool) -> usize {
        let forms = Arc::clone(&self.forms.0);
        let (held, marked) = (&self.held, &mut self.marked);
        marked.resize(held.len(), false);
        if forms.all.longest() == 0 {
            return held.len();
        }
        let mut mark = |from: usize, to: usize| marked[from..to].fill(true);
        let mut waits = held.len();
        let mut wait = |from: Option<usize>| waits = waits.min(from.unwrap_or(usize::MAX));
        let raw = OutputText::raw(held);
        forms.all.find(held, |range| mark(range.start, range.end));
        wait(forms.all.unfinished(held).next());
        let visible = raw.visible();
        if let Some(text) = &visible {
            wait(contiguous(text, &forms.all, &mut mark));
        }
        let seen = visible.as_ref().unwrap_or(&raw);
        let unescaped = seen.unescaped();
        if let Some((text, cut)) = &unescaped {
            wait(contiguous(text, &forms.plain, &mut mark));
            wait(*cut);
        }
        let read = unescaped.as_ref().map_or(seen, |(text, _)| text);
        wait(joined::base64(
            read,
            &forms.base64,
            self.line_prefix,
            &mut mark,
        ));
        wait(joined::hex(seen, &forms.hex, self.line_prefix, &mut mark));
        let ends = (self.at_line_start, is_end);
        wait(dumps(seen, &forms.dumped, ends, &mut mark));
        waits.max(held.len().saturating_sub(forms.max_held))
    }

    fn emit(&mut self, upto: usize, out: &mut Vec<u8>) {
        let mut at = 0;
        while at < upto {
            let is_secret = self.marked[at];
            let same = self.marked[at..upto]
                .iter()
                .take_while(|marked| **marked == is_secret);
            let end = at + same.count();
            if !is_secret {
                out.extend_from_slice(&self.held[at..end]);
            } else if !self.inside {
                out.extend_from_slice(MASK.as_bytes());
                self.masked += 1;
            }
            self.inside = is_secret;
            at = end;
        }
        if let Some(last) = upto.checked_sub(1) {
            self.line_prefix.advance(&self.held[..upto]);
            self.at_line_start = self.held[last] == b'\n';
        }
        self.held.drain(..upto);
        self.marked.drain(..upto);
    }
}

/// Marks what is found in a reading; gives back from where on more must come.
fn contiguous(
    text: &OutputText<'_>,
    forms: &FormIndex,
    mark: &mut dyn FnMut(usize, usize),
) -> Option<usize> {
    forms.find(&text.bytes, |range| {
        mark(
            text.byte_place(range.start).0,
            text.byte_place(range.end - 1).1,
        );
    });
    let start = forms.unfinished(&text.bytes).next()?;
    Some(text.byte_place(start).0)
}
