//! Ids of runs.

use cluster_actors::replica::ordered_id;
use forge_core::RunId;

/// A run id: a UUID of version 7; ids sort in the order in which runs are made, also where leaders'
/// clocks differ.
pub(crate) fn new_run_id() -> RunId {
    let id = ordered_id().to_string();
    id.parse().expect("a UUID is a run id")
}
