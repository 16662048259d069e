//! Masking secrets in a stream, also those that come in several writes.

use std::collections::HashMap;
use std::sync::Arc;

use config_core::Secret;

use super::encodings::spellings;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Most bytes of one spelling that is looked for: what may be held back.
const LONGEST: usize = 16 << 10;

/// Part of a secret that is masked even when the rest never comes, in bytes.
const TELLING: usize = 8;

/// Masks a fixed set of secrets. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Patterns>>);

/// The spellings that are looked for. Nearly every place of an output is passed over by one look
/// into `begins`: a flood costs a pass over its bytes, in debug builds too.
struct Patterns {
    /// By their first two bytes; the longest first.
    by_pair: HashMap<[u8; 2], Vec<Vec<u8>>>,
    /// Whether a spelling begins with these two bytes.
    begins: Box<[bool; 1 << 16]>,
    /// Whether a spelling begins with this byte.
    begins_with: [bool; 256],
    /// Length of the longest.
    longest: usize,
}

impl Redactor {
    /// Looks for `secrets` in plain and encoded form. Secrets of less than 6 bytes are not looked
    /// for: they would mask ordinary words.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret<String>>) -> Self {
        let all = secrets
            .into_iter()
            .flat_map(|secret| spellings(secret.expose().as_bytes()));
        let mut patterns = Patterns {
            by_pair: HashMap::new(),
            begins: Box::new([false; 1 << 16]),
            begins_with: [false; 256],
            longest: 0,
        };
        for form in all.filter(|form| form.len() <= LONGEST) {
            let pair = [form[0], form[1]];
            patterns.begins[usize::from(u16::from_be_bytes(pair))] = true;
            patterns.begins_with[usize::from(form[0])] = true;
            patterns.longest = patterns.longest.max(form.len());
            patterns.by_pair.entry(pair).or_default().push(form);
        }
        for forms in patterns.by_pair.values_mut() {
            forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            forms.dedup();
        }
        Self((patterns.longest > 0).then(|| Arc::new(patterns)))
    }

    /// `text` with its secrets masked.
    pub fn text(&self, text: &str) -> String {
        let mut out = Vec::new();
        let mut stream = RedactedStream::new(self.clone());
        stream.push(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Redactor({} spellings)",
            self.0
                .as_ref()
                .map_or(0, |patterns| patterns.by_pair.values().map(Vec::len).sum())
        )
    }
}

/// One stream being masked. Holds back what may be the beginning of a secret.
#[derive(Debug)]
pub(super) struct RedactedStream {
    redactor: Redactor,
    held: Vec<u8>,
    /// Secrets masked so far.
    pub(super) masked: u64,
}

impl RedactedStream {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            held: Vec::new(),
            masked: 0,
        }
    }

    /// Takes `bytes` in and gives to `out` what can be given.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(patterns) = self.redactor.0.clone() else {
            out.extend_from_slice(bytes);
            return;
        };
        if self.held.is_empty() {
            let held = self.mask(&patterns, bytes, out);
            self.held.extend_from_slice(&bytes[held..]);
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(bytes);
            let held = self.mask(&patterns, &all, out);
            all.drain(..held);
            self.held = all;
        }
    }

    /// Writes `bytes` masked to `out`, but for an end that may grow into a secret: returns where that
    /// end begins.
    fn mask(&mut self, patterns: &Patterns, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let (mut written, mut at) = (0, 0);
        while let Some(found) = patterns.next(bytes, at) {
            if patterns.may_grow(&bytes[found..]) {
                out.extend_from_slice(&bytes[written..found]);
                return found;
            }
            at = found + 1;
            if let Some(length) = patterns.at(&bytes[found..]) {
                out.extend_from_slice(&bytes[written..found]);
                out.extend_from_slice(MASK.as_bytes());
                self.masked += 1;
                at = found + length;
                written = at;
            }
        }
        out.extend_from_slice(&bytes[written..]);
        bytes.len()
    }

    /// Gives out what was held back: it is no whole secret, but may be most of one.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let Some(patterns) = self.redactor.0.clone() else {
            return;
        };
        let mut held = std::mem::take(&mut self.held);
        while !held.is_empty() {
            // What begins here is not completed any more; it may hold a shorter one, whole.
            let length = patterns.at(&held);
            if length.is_some() || held.len() >= TELLING {
                out.extend_from_slice(MASK.as_bytes());
                self.masked += 1;
                held.drain(..length.unwrap_or(held.len()));
            } else {
                out.push(held.remove(0));
            }
            let next = std::mem::take(&mut held);
            let from = self.mask(&patterns, &next, out);
            held = next[from..].to_vec();
        }
    }
}

impl Patterns {
    /// The next place, from `from`, where a spelling may begin.
    fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while at + 1 < bytes.len() {
            if self.begins[(bytes[at] as usize) << 8 | bytes[at + 1] as usize] {
                return Some(at);
            }
            at += 1;
        }
        let last = *bytes.get(at)?;
        self.begins_with[usize::from(last)].then_some(at)
    }

    /// The length of the longest spelling at the beginning of `bytes`.
    fn at(&self, bytes: &[u8]) -> Option<usize> {
        self.forms(bytes)
            .iter()
            .find(|form| bytes.starts_with(form))
            .map(Vec::len)
    }

    /// Whether `bytes` is the beginning of a spelling, and not the whole of it.
    fn may_grow(&self, bytes: &[u8]) -> bool {
        match bytes {
            [only] => self.begins_with[usize::from(*only)],
            _ if bytes.len() >= self.longest => false,
            _ => self
                .forms(bytes)
                .iter()
                .any(|form| form.len() > bytes.len() && form.starts_with(bytes)),
        }
    }

    fn forms(&self, bytes: &[u8]) -> &[Vec<u8>] {
        let forms = bytes.first_chunk().and_then(|pair| self.by_pair.get(pair));
        forms.map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let secrets: Vec<Secret<String>> = secrets
            .iter()
            .map(|secret| Secret::new((*secret).to_owned()))
            .collect();
        Redactor::new(&secrets)
    }

    fn in_pieces(redactor: &Redactor, text: &[u8], cuts: &[usize]) -> String {
        let (mut out, mut stream) = (Vec::new(), RedactedStream::new(redactor.clone()));
        let mut from = 0;
        for &cut in cuts {
            let to = cut.clamp(from, text.len());
            stream.push(&text[from..to], &mut out);
            from = to;
        }
        stream.push(&text[from..], &mut out);
        stream.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn r16_a_secret_is_masked_wherever_its_writes_are_cut() {
        let redactor = redactor(&["hunter2-secret", "hunter2-secret-longer"]);
        let text = b"a hunter2-secret b hunter2-secret-longer c hunter2-secre";
        for cut in 0..text.len() {
            assert_eq!(
                in_pieces(&redactor, text, &[cut]),
                "a *** b *** c ***",
                "cut at {cut}"
            );
        }
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(in_pieces(&redactor, text, &each), "a *** b *** c ***");
    }

    #[test]
    fn text_without_secrets_passes_at_once() {
        let redactor = redactor(&["hunter2-secret"]);
        let mut out = Vec::new();
        let mut stream = RedactedStream::new(redactor);
        stream.push(b"progress 10 % h", &mut out);
        assert_eq!(
            out, b"progress 10 % ",
            "only what may be a beginning is held back"
        );
        stream.push(b"ello\n", &mut out);
        assert_eq!(out, b"progress 10 % hello\n");
        assert_eq!(Redactor::default().text("x"), "x");
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        assert!(!format!("{:?}", redactor(&["hunter2-secret"])).contains("hunter2"));
    }

    proptest! {
        #[test]
        fn cutting_changes_nothing(
            text in "(abcabd-x|abcab|ab|c|z){0,40}",
            cuts in proptest::collection::vec(0usize..120, 0..8),
        ) {
            let redactor = redactor(&["abcabd-x", "abcabc"]);
            let mut cuts = cuts;
            cuts.sort_unstable();
            let whole = in_pieces(&redactor, text.as_bytes(), &[]);
            let pieces = in_pieces(&redactor, text.as_bytes(), &cuts);
            prop_assert_eq!(&whole, &pieces);
            prop_assert!(!whole.contains("abcabd-x") && !whole.contains("abcabc"));
        }
    }
}
