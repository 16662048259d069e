//! What runs left that are forgotten: while another process led, so that their files stayed in this
//! one's folder, or when this one was killed before it could remove them.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cluster_actors::replica::FirstFault;
use store::Store;

use crate::artifacts::ArtifactStore;
use crate::log::Logs;
use crate::rows;
use crate::shared_logs::SharedLogs;
use crate::stored_tar::hashed;

/// A file without a run is left so long.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// Removes files and rows of runs that are not known any more, as far as that goes; gives the runs
/// that are. Blocks.
pub(crate) fn remove_orphans(
    (logs, artifacts): (&Logs, &ArtifactStore),
    store: &Store,
    faults: &mut FirstFault,
) -> io::Result<HashSet<String>> {
    // These before the runs: a run is written down before anything of it is.
    let here = logs.files();
    let shared = logs.shared();
    let stored = shared.map_or(Ok(Vec::new()), SharedLogs::runs)?;
    let owners = artifacts.owners()?;
    let known = store.read_blocking(|rows| rows::ids(rows));
    let known = known.map_err(io::Error::other)?;
    if known.is_empty() {
        // It is a new store, or another one than that of this folder.
        return Ok(known);
    }
    let mut gone = HashSet::new();
    for (run, path) in here {
        if !known.contains(&run) && is_old(&path) {
            let removed = std::fs::remove_file(&path);
            gone.extend(faults.record(removed).map(|()| run));
        }
    }
    for run in stored {
        if !known.contains(&run) {
            let removed = shared.map_or(Ok(()), |logs| logs.remove(&run));
            gone.extend(faults.record(removed).map(|()| run));
        }
    }
    let hashes: HashSet<String> = known.iter().map(|run| hashed(run)).collect();
    for owner in owners {
        if !hashes.contains(&owner) {
            let removed = artifacts.remove_owner(&owner);
            gone.extend(faults.record(removed).map(|()| owner));
        }
    }
    if !gone.is_empty() {
        tracing::info!(
            event = "run.orphans_removed",
            count = gone.len(),
            "logs and artifacts are removed whose runs were forgotten before"
        );
    }
    Ok(known)
}

fn is_old(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    let age = changed.map(|changed| SystemTime::now().duration_since(changed));
    age.is_ok_and(|age| age.is_ok_and(|age| age > ORPHAN_AGE))
}
