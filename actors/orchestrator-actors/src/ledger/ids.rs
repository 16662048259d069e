//! Ids of runs.

use forge_core::RunId;
use uuid::Uuid;

/// A run id: a UUID of version 7, so that ids sort by time.
pub(crate) fn new_run_id() -> RunId {
    let id = Uuid::now_v7().to_string();
    id.parse().expect("a UUID is a run id")
}
