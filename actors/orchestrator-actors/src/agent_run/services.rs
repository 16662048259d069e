//! What a run works with.

use crate::active_runs::{ActiveRuns, EndCounters};
use crate::change_notifier::ChangeNotifier;
use crate::host::{AgentHost, WorktreeRoots};
use crate::ledger::Ledger;
use crate::run_logs::RunLogs;

/// The handles of a run, one for each stage of its pipeline.
#[derive(Clone)]
pub(crate) struct AgentRunServices {
    pub(crate) ledger: Ledger,
    pub(crate) runs: ActiveRuns,
    pub(crate) ended: EndCounters,
    pub(crate) host: AgentHost,
    pub(crate) logs: RunLogs,
    pub(crate) worktrees: WorktreeRoots,
    pub(crate) notifier: ChangeNotifier,
}
