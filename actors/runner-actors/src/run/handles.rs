//! Runs under way, as the coordinator sees them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use runner_core::state::RunState;
use supervision::ChildRef;
use tokio::sync::watch;

use super::workflow_run::WorkflowRun;

/// A run under way.
#[derive(Clone)]
pub(crate) struct RunHandle {
    pub(crate) actor: ChildRef<WorkflowRun>,
    /// The state the run ended in; closed without one when its actor crashed.
    pub(crate) ended: watch::Receiver<Option<RunState>>,
}

/// The coordinator's runs. They outlive its incarnations, so that a restarted coordinator costs no
/// run; nobody else holds them.
#[derive(Clone, Default)]
pub(crate) struct RunHandles(Arc<Mutex<HashMap<String, RunHandle>>>);

impl RunHandles {
    pub(crate) fn insert(&self, run: String, handle: RunHandle) {
        self.0.lock().insert(run, handle);
    }

    pub(crate) fn remove(&self, run: &str) {
        self.0.lock().remove(run);
    }

    pub(crate) fn get(&self, run: &str) -> Option<RunHandle> {
        self.0.lock().get(run).cloned()
    }

    pub(crate) fn contains(&self, run: &str) -> bool {
        self.0.lock().contains_key(run)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn all(&self) -> Vec<(String, RunHandle)> {
        let handles = self.0.lock();
        let all = handles.iter();
        all.map(|(run, handle)| (run.clone(), handle.clone()))
            .collect()
    }
}
