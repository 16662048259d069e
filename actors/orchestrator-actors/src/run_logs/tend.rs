//! What is done for shared logs beside the runs: what could not be stored before, what goes on, and
//! what nobody needs any more.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use forge_core::RunId;
use orchestrator_engine::output::extent;
use replica_actors::SharedFiles;

use super::due::{is_due, is_unstored};
use super::{KIND, RunLogs, StoredLog, about, run_directories};
use crate::ledger::{self, Ledger};

/// A directory without a run is left so long: its run may be about to be written down.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// What was done in this incarnation.
#[derive(Debug, Clone, Default)]
pub(crate) struct TendState {
    /// Logs of previous incarnations were looked for.
    looked: bool,
    swept: Option<Instant>,
}

impl RunLogs {
    /// Stores what is not stored yet, and removes objects that nothing names any more; `active` are
    /// the runs of this process.
    pub(crate) fn tend(&self, ledger: &Ledger, active: &BTreeSet<RunId>, state: &mut TendState) {
        let Some(files) = &self.inner.files else {
            return;
        };
        files.probe();
        if let Err(error) = self.tend_files(files, (ledger, active), state) {
            tracing::warn!(event = "objects.tend_failed", %error, "what is shared by object storage is looked after later");
        }
    }

    pub(super) fn tend_files(
        &self,
        files: &SharedFiles,
        (ledger, active): (&Ledger, &BTreeSet<RunId>),
        state: &mut TendState,
    ) -> io::Result<()> {
        let mut faults = FirstFault::default();
        if !state.looked {
            let looked = self.find_unstored(files, ledger, active);
            state.looked = faults.note(looked);
        }
        let pending: Vec<String> = self.inner.pending.lock().iter().cloned().collect();
        let ended = pending.iter().map(|run| (run.as_str(), false));
        let going_on = active.iter().map(|run| (run.as_str(), true));
        for (run, grows) in ended.chain(going_on) {
            let stored = match grows {
                true => self.store_growing(run),
                false => self.store(run),
            };
            // A log that cannot be read holds up no other. Where the storage is away each would
            // wait for it.
            if !faults.note(stored) && files.trouble().is_some() {
                return faults.0;
            }
        }
        faults.note(files.sweep_when_due(&mut state.swept));
        faults.0
    }

    /// Has the log of a run that a previous incarnation left stored later.
    pub(crate) fn store_later(&self, run: &RunId) {
        if self.inner.files.is_some() {
            self.inner.pending.lock().insert(run.to_string());
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
    /// previous incarnation, and those from before there was object storage. Removes what runs
    /// left that were forgotten while another process led.
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
        let directories = run_directories(&self.inner.data).into_iter();
        let here: Vec<_> = directories
            .filter_map(|(name, path)| Some((name.parse::<RunId>().ok()?, path)))
            .filter(|(run, _)| !active.contains(run))
            .collect();
        let known = ledger.read_blocking(|rows| {
            let known = here.iter().map(|(run, _)| ledger::run_record(rows, run));
            known.collect::<Result<Vec<_>, _>>()
        });
        for ((run, path), known) in here.iter().zip(known.map_err(io::Error::other)?) {
            let Some(record) = known else {
                if is_old(path) {
                    let _ = std::fs::remove_dir_all(path);
                }
                continue;
            };
            if !record.state.is_terminal() {
                continue;
            }
            let is_due = match extent(&self.directory(run.as_str())) {
                Ok(None) => false,
                Ok(Some(here)) => is_unstored(here, stored.get(run.as_str()), files.writer()),
                // Why is said when it is tried.
                Err(_) => true,
            };
            if is_due {
                self.inner.pending.lock().insert(run.to_string());
            }
        }
        Ok(())
    }
}

/// What went wrong first in a round that goes on.
struct FirstFault(io::Result<()>);

impl Default for FirstFault {
    fn default() -> Self {
        Self(Ok(()))
    }
}

impl FirstFault {
    /// Keeps a fault if it is the first; whether there was none.
    fn note(&mut self, done: io::Result<()>) -> bool {
        let is_done = done.is_ok();
        if self.0.is_ok() {
            self.0 = done;
        }
        is_done
    }
}

fn is_old(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    let age = changed.map(|changed| SystemTime::now().duration_since(changed));
    age.is_ok_and(|age| age.is_ok_and(|age| age > ORPHAN_AGE))
}
