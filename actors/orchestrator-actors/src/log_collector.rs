//! Looks after the logs that are shared by `[objects]`: stores those that wait and those of runs
//! that go on, and removes objects that nothing names any more.
//!
//! ```text
//! LogCollector ──thread──▶ RunLogs::tend ──▶ object storage, rows of the store
//! ```

use std::time::Duration;

use actix::{Actor, Context};
use supervision::{FirstRound, start_rounds};

use crate::active_runs::ActiveRuns;
use crate::ledger::Ledger;
use crate::run_logs::{LogCleanupState, RunLogs};

/// Between two looks, which are one small request to the storage each.
const INTERVAL: Duration = Duration::from_secs(10);

/// The actor.
#[derive(Clone)]
pub(crate) struct LogCollector {
    pub(crate) logs: RunLogs,
    pub(crate) ledger: Ledger,
    pub(crate) runs: ActiveRuns,
}

impl Actor for LogCollector {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let collector = self.clone();
        let mut state = LogCleanupState::default();
        start_rounds(ctx, (FirstRound::AtOnce, INTERVAL), async move || {
            state = collector.collect(std::mem::take(&mut state)).await;
        });
    }
}

impl LogCollector {
    async fn collect(&self, mut state: LogCleanupState) -> LogCleanupState {
        let own = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            own.logs.maintain(&own.ledger, &own.runs.ids(), &mut state);
            state
        });
        looked.await.unwrap_or_default()
    }
}
