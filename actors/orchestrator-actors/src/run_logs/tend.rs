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

    fn tend_files(
        &self,
        files: &SharedFiles,
        (ledger, active): (&Ledger, &BTreeSet<RunId>),
        state: &mut TendState,
    ) -> io::Result<()> {
        if !state.looked {
            self.find_unstored(files, ledger, active)?;
            state.looked = true;
        }
        let pending: Vec<String> = self.inner.pending.lock().iter().cloned().collect();
        for run in &pending {
            self.store(run)?;
        }
        for run in active {
            self.store_growing(run.as_str())?;
        }
        files.sweep_when_due(&mut state.swept)
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
            let extent = extent(&self.directory(run.as_str())).map_err(io::Error::other)?;
            let Some(extent) = extent.filter(|_| record.state.is_terminal()) else {
                continue;
            };
            if is_unstored(extent, stored.get(run.as_str()), files.writer()) {
                self.inner.pending.lock().insert(run.to_string());
            }
        }
        Ok(())
    }
}

fn is_old(path: &Path) -> bool {
    let changed = std::fs::metadata(path).and_then(|about| about.modified());
    let age = changed.map(|changed| SystemTime::now().duration_since(changed));
    age.is_ok_and(|age| age.is_ok_and(|age| age > ORPHAN_AGE))
}
