//! The secrets of a job, taken out of its output as it streams, in every form that `redaction-core`
//! knows.

use std::sync::OnceLock;

pub use redaction_core::TooManySecrets;
use redaction_core::{CompiledForms, Minimums, SecretForms, StreamMasker};

/// What stands in place of a secret.
pub const MASK: &[u8] = redaction_core::MASK.as_bytes();

/// Every text that is called a secret is masked, however short. Lines of one shorter than four
/// bytes are not masked by themselves: `{` stands everywhere.
const MINIMUMS: Minimums = Minimums {
    secret: 1,
    line: 4,
    encodable: 4,
    encoded: 4,
};

/// The secrets of a job.
#[derive(Debug, Clone, Default)]
pub struct MaskedSecrets {
    forms: SecretForms,
    /// Made when it is needed, for all streams of the job.
    compiled: OnceLock<CompiledForms>,
}

impl MaskedSecrets {
    /// Adds a secret in all the forms it is known to be printed in. One that is empty or blank is
    /// none: it stands everywhere.
    ///
    /// # Errors
    /// When there are too many: the caller must then withhold the output.
    pub fn add(&mut self, secret: &str) -> Result<(), TooManySecrets> {
        if secret.trim().is_empty() {
            return Ok(());
        }
        self.compiled = OnceLock::new();
        self.forms.add(secret, MINIMUMS)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// A whole text with the secrets taken out.
    pub fn mask(&self, text: &str) -> String {
        let mut masker = Masker::new(self);
        let mut out = masker.push(text.as_bytes());
        out.extend(masker.finish());
        String::from_utf8_lossy(&out).into_owned()
    }

    fn compiled(&self) -> CompiledForms {
        let compiled = || CompiledForms::from(&self.forms);
        self.compiled.get_or_init(compiled).clone()
    }
}

/// Masks a stream. What could be the beginning of a secret is held back until more comes.
#[derive(Debug)]
pub struct Masker(StreamMasker);

impl Masker {
    /// A masker for these secrets.
    pub fn new(secrets: &MaskedSecrets) -> Self {
        Self(StreamMasker::new(secrets.compiled()))
    }

    /// Masks these secrets from here on, in what is held back too.
    pub fn set(&mut self, secrets: &MaskedSecrets) {
        self.0.set(secrets.compiled());
    }

    /// Takes more of the stream and gives back what can be shown.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        self.0.push(bytes, &mut out);
        out
    }

    /// Gives back the rest: the stream has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.finish(&mut out);
        out
    }
}
