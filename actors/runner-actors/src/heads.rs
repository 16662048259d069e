//! The newest commit of each branch and pull request that was run, or was there when they were
//! first looked at.
//!
//! A webhook and the comparison with the forge can tell of the same commit, in either order: it is
//! run once. A branch that goes back to a commit it had before is somewhere else than it was, and
//! is run again: the last head decides, not all there were.

use std::collections::HashMap;
use std::ops::ControlFlow;

use runner_core::event::EventKind;
use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, StoreError, Table, WriteTxn};

use crate::event::StoredEvent;

const HEADS: Table<String, Head> = Table::new("runner_heads");

/// Where a reference is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) sha: String,
    /// The run of it; nothing where it was there before anybody looked.
    pub(crate) run: Option<String>,
    /// No webhook had told of it: one that comes late starts nothing.
    caught_up: bool,
}

impl Row for Head {
    const SCHEMA: u16 = 1;
}

/// How a head became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadSource {
    /// A webhook told of it.
    Webhook,
    /// The forge was asked.
    CatchUp,
}

/// A reference that an event moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportedHead {
    key: String,
    sha: String,
    is_pull: bool,
    /// It is to be run whether it was before or not.
    again: bool,
}

impl ReportedHead {
    /// What an event tells of; nothing for tags, and where the commit is not known yet.
    pub(crate) fn from_event(event: &StoredEvent) -> Option<Self> {
        // Other actions tell of no new head.
        let moves = matches!(
            event.action(),
            None | Some("opened" | "synchronize" | "reopened")
        );
        let is_pull = event.kind() == EventKind::PullRequest && moves;
        let is_push = event.kind() == EventKind::Push;
        let is_branch = is_push && event.reference.starts_with("refs/heads/");
        ((is_pull || is_branch) && !event.sha.is_empty()).then(|| Self {
            key: key(&event.repository, &event.reference),
            sha: event.sha.clone(),
            is_pull,
            again: event.action() == Some("reopened"),
        })
    }
}

fn key(repository: &str, reference: &str) -> String {
    format!("{}\n{reference}", repository.to_lowercase())
}

/// The run that has this head already, where another delivery about it is to start nothing: forges
/// tell of a pull request's commit as `opened` and as `synchronized`, and late of what was caught
/// up on.
pub(crate) fn run_of(
    rows: &mut impl ReadRows,
    reported: &ReportedHead,
) -> Result<Option<String>, StoreError> {
    let head = rows.get(&HEADS, &reported.key)?;
    let same = head.filter(|head| {
        head.sha == reported.sha && !reported.again && (reported.is_pull || head.caught_up)
    });
    Ok(same.and_then(|head| head.run))
}

/// Notes where the reference is now.
pub(crate) fn record_head(
    rows: &mut WriteTxn<'_>,
    reported: &ReportedHead,
    run: &str,
    source: HeadSource,
) -> Result<(), StoreError> {
    let head = Head {
        sha: reported.sha.clone(),
        run: Some(run.to_owned()),
        caught_up: source == HeadSource::CatchUp,
    };
    rows.put(&HEADS, &reported.key, &head)
}

/// All that is known of a repository's references of one kind (`refs/heads/`, `refs/pull/`), by
/// their whole names.
pub(crate) fn all(
    rows: &mut impl ReadRows,
    repository: &str,
    kind: &str,
) -> Result<HashMap<String, Head>, StoreError> {
    let prefix = key(repository, kind);
    let mut found = HashMap::new();
    rows.for_each(&HEADS, prefix.clone().., |key, head| {
        let Some(rest) = key.strip_prefix(&prefix) else {
            return ControlFlow::Break(());
        };
        found.insert(format!("{kind}{rest}"), head);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Whether a repository's references of one kind were all looked at before: one that is not known
/// is new then.
pub(crate) fn was_listed(
    rows: &mut impl ReadRows,
    repository: &str,
    kind: &str,
) -> Result<bool, StoreError> {
    Ok(rows.get(&HEADS, &marker(repository, kind))?.is_some())
}

/// All references of the kind were looked at.
pub(crate) fn record_listed(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    kind: &str,
) -> Result<(), StoreError> {
    let head = Head {
        sha: String::new(),
        run: None,
        caught_up: false,
    };
    rows.put(&HEADS, &marker(repository, kind), &head)
}

/// A reference was there before anybody looked: it is not run.
pub(crate) fn record_first(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    reference: &str,
    sha: &str,
) -> Result<(), StoreError> {
    let head = Head {
        sha: sha.to_owned(),
        run: None,
        caught_up: false,
    };
    rows.put(&HEADS, &key(repository, reference), &head)
}

/// What is known of one reference.
pub(crate) fn get(
    rows: &mut impl ReadRows,
    repository: &str,
    reference: &str,
) -> Result<Option<Head>, StoreError> {
    rows.get(&HEADS, &key(repository, reference))
}

/// The reference is gone.
pub(crate) fn forget(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    reference: &str,
) -> Result<(), StoreError> {
    rows.delete(&HEADS, &key(repository, reference))?;
    Ok(())
}

/// Sorts before all references, and is none.
fn marker(repository: &str, kind: &str) -> String {
    key(repository, &format!("listed {kind}"))
}
