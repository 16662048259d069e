//! Masking secrets in the output of agents, in every form that `redaction-core` knows.

use config_core::Secret;
use redaction_core::{CompiledForms, Minimums, SecretForms, StreamMasker};

pub use redaction_core::MASK;

/// Shorter ones would mask ordinary words.
const MINIMUMS: Minimums = Minimums {
    secret: 6,
    line: 8,
    encodable: 6,
    encoded: 8,
};

/// Masks a fixed set of secrets. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor(Option<Matcher>);

#[derive(Clone)]
struct Matcher {
    forms: CompiledForms,
    count: usize,
    /// More secrets than can be looked for: nothing of the output is shown.
    withholds: bool,
}

impl Redactor {
    /// Looks for `secrets` in plain and encoded form. Secrets of less than 6 bytes are not looked
    /// for: they would mask ordinary words.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret<String>>) -> Self {
        let mut forms = SecretForms::default();
        let mut withholds = false;
        for secret in secrets {
            withholds |= forms.add(secret.expose(), MINIMUMS).is_err();
        }
        let matcher = || Matcher {
            forms: CompiledForms::from(&forms),
            count: forms.len(),
            withholds,
        };
        Self((!forms.is_empty()).then(matcher))
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
        let count = self.0.as_ref().map_or(0, |matcher| matcher.count);
        write!(f, "Redactor({count} forms)")
    }
}

/// One stream being masked. Holds back what may be the beginning of a secret.
#[derive(Debug)]
pub(super) struct RedactedStream {
    masker: Option<StreamMasker>,
    withheld: Option<u64>,
}

impl RedactedStream {
    pub(super) fn new(redactor: Redactor) -> Self {
        let withholds = redactor.0.as_ref().is_some_and(|matcher| matcher.withholds);
        Self {
            masker: redactor.0.map(|matcher| StreamMasker::new(matcher.forms)),
            withheld: withholds.then_some(0),
        }
    }

    /// Secrets masked so far.
    pub(super) fn masked(&self) -> u64 {
        let masked = self.masker.as_ref().map_or(0, StreamMasker::masked);
        self.withheld.unwrap_or(masked)
    }

    /// Takes `bytes` in and gives to `out` what can be given.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match (&mut self.withheld, &mut self.masker) {
            (Some(0), _) if !bytes.is_empty() => {
                self.withheld = Some(1);
                out.extend_from_slice(MASK.as_bytes());
            }
            (Some(_), _) => {}
            (None, Some(masker)) => masker.push(bytes, out),
            (None, None) => out.extend_from_slice(bytes),
        }
    }

    /// Gives out what was held back: it is no whole secret, but may be most of one.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if let (None, Some(masker)) = (self.withheld, &mut self.masker) {
            masker.finish(out);
        }
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

    fn in_chunks(redactor: &Redactor, text: &[u8], cuts: &[usize]) -> String {
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
                in_chunks(&redactor, text, &[cut]),
                "a *** b *** c ***",
                "cut at {cut}"
            );
        }
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(in_chunks(&redactor, text, &each), "a *** b *** c ***");
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
            let whole = in_chunks(&redactor, text.as_bytes(), &[]);
            let pieces = in_chunks(&redactor, text.as_bytes(), &cuts);
            prop_assert_eq!(&whole, &pieces);
            prop_assert!(!whole.contains("abcabd-x") && !whole.contains("abcabc"));
        }
    }
}
