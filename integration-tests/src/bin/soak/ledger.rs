//! The record of the load, which the checks compare the products with.

use std::collections::{BTreeMap, BTreeSet};

/// What was sent, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Pushed commits.
    pub(crate) pushes: BTreeSet<String>,
    /// Runs of mentions that were accepted, and the issue of each.
    pub(crate) mentions: BTreeMap<String, u64>,
    /// Head commits of pull requests that were accepted.
    pub(crate) pulls: BTreeSet<String>,
    /// Runs of the fan-out that were accepted.
    pub(crate) fanned: BTreeSet<String>,
    /// By file: the word that it holds.
    pub(crate) files: BTreeMap<String, String>,
    /// Words of former contents.
    pub(crate) gone: BTreeSet<String>,
    /// Files written, changed or removed.
    pub(crate) file_changes: u64,
    /// Answers that no delivery may get.
    pub(crate) refused: Vec<String>,
}
