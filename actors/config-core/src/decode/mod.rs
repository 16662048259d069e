//! From the tree to checked values.
//!
//! A decoder is a function from an [`Item`] to `Option<T>`: `None` means that the reason has been
//! reported. It never stops the others, so one pass finds every mistake.

mod fields;
mod item;
mod numbers;
mod texts;

use std::cell::RefCell;

pub use fields::Fields;
pub use item::Item;
pub use texts::{Choices, LOG_LEVELS, choose};

use crate::input::UnknownKeys;
use crate::source::{Finding, Source, Span};
use crate::syntax::Format;
use crate::tree::Node;

/// What all items of one file share.
pub(crate) struct Session<'d> {
    pub(crate) source: &'d Source,
    pub(crate) format: Format,
    pub(crate) unknown_keys: UnknownKeys,
    findings: RefCell<Vec<Finding>>,
    /// Where secrets stand, so that no message shows them, with their key paths.
    secrets: RefCell<Vec<(Span, String)>>,
}

impl<'d> Session<'d> {
    pub(crate) fn new(
        source: &'d Source,
        format: Format,
        unknown_keys: UnknownKeys,
        findings: Vec<Finding>,
    ) -> Self {
        let findings = RefCell::new(findings);
        Self {
            source,
            format,
            unknown_keys,
            findings,
            secrets: RefCell::default(),
        }
    }

    pub(crate) fn root<'n>(&'n self, node: &'n Node) -> Item<'n> {
        Item::root(self, node)
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
