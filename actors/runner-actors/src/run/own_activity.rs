//! Events that jobs cause with the runner's own token: they start nothing, as on GitHub. A workflow
//! that answers comments would answer itself for ever.

use runner_core::state::RunState;

use super::services::RunServices;
use crate::catch_up::CATCH_UP;
use crate::clock::now_ms;
use crate::ledger::Ledger;
use crate::pushed;

/// Whether the event is of the account whose token the runner has; then the run has ended.
pub(super) async fn own_activity(services: &RunServices, ledger: &mut Ledger) -> bool {
    if pushed_by_job(services, ledger).await {
        return true;
    }
    if !ledger.event.kind().is_activity() {
        return false;
    }
    let Some(forge) = services.repositories.forge_client() else {
        return false;
    };
    let account = match forge.whoami().await {
        Ok(account) => account,
        Err(error) => {
            // A token of an app has no account; nothing says then whose event it is.
            tracing::debug!(event = "run.account_not_told", %error, "the forge does not tell whose the runner's token is");
            return false;
        }
    };
    let is_own = account.as_str().eq_ignore_ascii_case(&ledger.event.actor);
    if is_own {
        let reason = format!(
            "this {} was made with the runner's own token ({account}), and starts nothing",
            ledger.event.name()
        );
        tracing::info!(event = "run.ignored", run = %ledger.record.id, reason, "an event of the runner's own account starts nothing");
        ledger.end(RunState::Ignored, Some(reason)).await;
    }
    is_own
}

/// Whether the event tells of what the token of a job has pushed; then the run has ended. A run
/// that somebody repeats by hand is wanted.
async fn pushed_by_job(services: &RunServices, ledger: &mut Ledger) -> bool {
    if ledger.record.attempt > 1 {
        return false;
    }
    let event = ledger.event.clone();
    // Who compares heads saw the last of several pushes, and from where the first one came.
    let is_exact = ledger.record.delivery != CATCH_UP;
    let before = event.before.clone().filter(|_| is_exact);
    let store = &services.recorder.store;
    let caused = store.read(move |rows| pushed::caused(rows, &event, before.as_deref(), now_ms()));
    let caused = match caused.await {
        Ok(caused) => caused,
        Err(error) => {
            tracing::warn!(event = "run.pushes_unread", %error, "it is not known whether the token of a job caused an event");
            false
        }
    };
    if caused {
        let reason = format!(
            "this {} was made with the token of a job, and starts nothing",
            ledger.event.name()
        );
        tracing::info!(event = "run.ignored", run = %ledger.record.id, reason, "an event that a job's token caused starts nothing");
        ledger.end(RunState::Ignored, Some(reason)).await;
    }
    caused
}
