//! What all items of one file share.

use std::cell::RefCell;
use std::path::Path;

use crate::source::{Finding, Source, Span};
use crate::syntax::Format;
use crate::unknown_keys::UnknownKeys;

/// What all items of one file share.
pub(crate) struct Session<'d> {
    pub(crate) source: &'d Source,
    pub(crate) format: Format,
    pub(crate) unknown_keys: UnknownKeys,
    pub(crate) base: &'d Path,
    findings: RefCell<Vec<Finding>>,
    /// Where secrets stand, so that no message shows them, with their key paths.
    secrets: RefCell<Vec<(Span, String)>>,
}

impl<'d> Session<'d> {
    pub(crate) fn new(
        source: &'d Source,
        format: Format,
        unknown_keys: UnknownKeys,
        base: &'d Path,
        findings: Vec<Finding>,
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

    pub(crate) fn report(&self, finding: Finding) {
        self.findings.borrow_mut().push(finding);
    }

    pub(crate) fn hide(&self, span: Span, key_path: &str) {
        let mut secrets = self.secrets.borrow_mut();
        secrets.push((span, key_path.to_owned()));
    }

    pub(crate) fn finish(self) -> (Vec<Finding>, Vec<(Span, String)>) {
        (self.findings.into_inner(), self.secrets.into_inner())
    }
}
