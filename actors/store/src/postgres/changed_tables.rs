//! What a group changes, before it is committed.

use std::collections::BTreeMap;

/// Rows by encoded key; none where the group removed it.
pub(super) type TableChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a group changed, by table.
pub(super) type ChangedTables = BTreeMap<String, TableChanges>;
