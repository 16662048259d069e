//! What is done for shared logs beside the runs: what could not be stored before, what goes on, and
//! what nobody needs any more.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use cluster_actors::replica::{FirstFault, SharedFiles};
use forge_core::RunId;
use orchestrator_core::run::Run;
use orchestrator_engine::output::extent;

use super::schedule::{is_due, is_unstored};
use super::{KIND, RunLogs, StoredLog, about, key, run_directories};
use crate::ledger::{self, Ledger};

/// A directory without a run is left so long: its run may be about to be written down.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// What was done in this incarnation.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogCleanupState {
    /// Logs of previous incarnations were looked for.
    looked: bool,
    swept: Option<Instant>,
}

impl RunLogs {
    /// Removes what forgotten runs left, stores what is not stored yet, and removes objects that
    /// nothing names any more; `active` are the runs of this process.
    pub(crate) fn maintain(
        &self,
        ledger: &Ledger,
        active: &BTreeSet<RunId>,
        state: &mut LogCleanupState,
    ) {
        let tended = match &self.inner.files {
            Some(files) => {
                files.probe();
                self.maintain_files(files, (ledger, active), state)
            }
            None if state.looked => return,
            None => {
                let looked = self.ended_here(ledger, active);
                state.looked = looked.is_ok();
                looked.map(drop)
            }
        };
        if let Err(error) = tended {
            tracing::warn!(event = "objects.tend_failed", %error, "what is shared by object storage is looked after later");
        }
    }

    pub(super) fn maintain_files(
        &self,
        files: &SharedFiles,
        (ledger, active): (&Ledger, &BTreeSet<RunId>),
        state: &mut LogCleanupState,
    ) -> io::Result<()> {
        let mut faults = FirstFault::default();
        if !state.looked {
            let looked = self.find_unstored(files, ledger, active);
            state.looked = faults.record(looked).is_some();
        }
        let pending = self.inner.uploads.names();
        let ended = pending.iter().map(|run| (run.as_str(), false));
        let going_on = active.iter().map(|run| (run.as_str(), true));
        for (run, grows) in ended.chain(going_on) {
            let stored = match grows {
                true => self.store_growing(run),
                false => self.store(run),
            };
            // A log that cannot be read holds up no other. Where the storage is away each would
            // wait for it.
            if faults.record(stored).is_none() && files.trouble().is_some() {
                return faults.end();
            }
        }
        faults.record(files.sweep_when_due(&mut state.swept));
        faults.end()
    }

    /// Runs of this folder that have ended. Removes what forgotten ones left.
    fn ended_here(&self, ledger: &Ledger, active: &BTreeSet<RunId>) -> io::Result<Vec<RunId>> {
        let directories = run_directories(&self.inner.data).into_iter();
        let here: Vec<_> = directories
            .filter_map(|(name, path)| Some((name.parse::<RunId>().ok()?, path)))
            .filter(|(run, _)| !active.contains(run))
            .collect();
        let mut ended = Vec::new();
        for ((run, path), record) in with_records(ledger, here)? {
            match record {
                Some(record) if record.state.is_terminal() => ended.push(run),
                Some(_) => {}
                None if is_old(&path) => {
                    let _ = std::fs::remove_dir_all(path);
                }
                None => {}
            }
        }
        Ok(ended)
    }

    /// Has the log of a run that a previous incarnation left stored later.
    pub(crate) fn store_later(&self, run: &RunId) {
        if self.inner.files.is_some() {
            self.inner.uploads.insert(run.as_str());
        }
    }

    /// Stores the log of a run that goes on, where it has grown.
    fn store_growing(&self, run: &str) -> io::Result<()> {
        let gate = self.gate(run);
        let mut stored = gate.lock();
        let Some(here) = extent(&self.directory(run)).map_err(io::Error::other)? else {
            return Ok(());
        };
        let since = stored.at.map(|at| at.elapsed());
        // One that is closed is stored by its run.
        if here.complete || !is_due(here.bytes, stored.bytes, since) {
            return Ok(());
        }
        self.put(run, here, &mut stored)
    }

    /// Looks which logs of this folder are not stored, or not as long as they are: those of a
    /// previous incarnation, and those from before there was object storage. Removes what runs left
    /// that were forgotten while another process led, or before this one was killed.
    fn find_unstored(
        &self,
        files: &SharedFiles,
        ledger: &Ledger,
        active: &BTreeSet<RunId>,
    ) -> io::Result<()> {
        let rows = files.list(KIND, None)?.into_iter();
        let stored: HashMap<String, StoredLog> = rows
            .filter_map(|((_, run, _), row)| Some((run, about(&row)?)))
            .collect();
        // A run is written down before anything of it is stored.
        let stored_runs = stored.keys().filter_map(|run| run.parse::<RunId>().ok());
        for ((run, ()), record) in with_records(ledger, stored_runs.map(|run| (run, ())).collect())?
        {
            if record.is_none() {
                files.remove(&key(run.as_str()))?;
            }
        }
        for run in self.ended_here(ledger, active)? {
            let is_due = match extent(&self.directory(run.as_str())) {
                Ok(None) => false,
                Ok(Some(here)) => is_unstored(here, stored.get(run.as_str()), files.writer()),
                // Why is said when it is tried.
                Err(_) => true,
            };
            if is_due {
                self.inner.uploads.insert(run.as_str());
            }
        }
        Ok(())
    }
}

/// A run, what belongs to it, and what is known of it.
type WithRecord<T> = ((RunId, T), Option<Run>);

/// Runs, and what is known of each.
fn with_records<T>(ledger: &Ledger, runs: Vec<(RunId, T)>) -> io::Result<Vec<WithRecord<T>>> {
    let known = ledger.read_blocking(|rows| {
        let known = runs.iter().map(|(run, _)| ledger::run_record(rows, run));
        known.collect::<Result<Vec<_>, _>>()
    });
    let known = known.map_err(io::Error::other)?;
    Ok(runs.into_iter().zip(known).collect())
}

fn is_old(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    let age = changed.map(|changed| SystemTime::now().duration_since(changed));
    age.is_ok_and(|age| age.is_ok_and(|age| age > ORPHAN_AGE))
}
