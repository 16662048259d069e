//! What all items of one file share.

use std::cell::RefCell;
use std::path::Path;

use crate::source::{NamedText, SourceFinding, Span};
use crate::syntax::ConfigFormat;
use crate::unknown_keys::UnknownKeys;

/// What all items of one file share.
pub(crate) struct DecodeSession<'d> {
    pub(crate) source: &'d NamedText,
    pub(crate) format: ConfigFormat,
    pub(crate) unknown_keys: UnknownKeys,
    pub(crate) base: &'d Path,
    findings: RefCell<Vec<SourceFinding>>,
    /// Where secrets stand, so that no message shows them, with their key paths.
    secrets: RefCell<Vec<(Span, String)>>,
}

impl<'d> DecodeSession<'d> {
    pub(crate) fn new(
        source: &'d NamedText,
        format: ConfigFormat,
        unknown_keys: UnknownKeys,
        base: &'d Path,
        findings: Vec<SourceFinding>,
    ) -> Self {
        let findings = RefCell::new(findings);
        Self {
            source,
            format,
            unknown_keys,
            base,
            findings,
            secrets: RefCell::default(),
        }
    }

    pub(crate) fn report(&self, finding: SourceFinding) {
        self.findings.borrow_mut().push(finding);
    }

    pub(crate) fn hide(&self, span: Span, key_path: &str) {
        let mut secrets = self.secrets.borrow_mut();
        secrets.push((span, key_path.to_owned()));
    }

    pub(crate) fn finish(self) -> (Vec<SourceFinding>, Vec<(Span, String)>) {
        (self.findings.into_inner(), self.secrets.into_inner())
    }
}
