//! What callers are told when something fails.

use edge_web::Problem;
use edge_web::replica::is_for_shared_intake;
use runner_actors::{IntakeError, RunRecord, RunnerView};
use store::StoreError;
use supervision::AskError;

/// A delivery that was not stored, or nobody knows.
pub(crate) fn of_intake(error: &IntakeError) -> Problem {
    match error {
        IntakeError::Store(error) => of_store(error),
        IntakeError::Late(_) => Problem::gateway_timeout(error.to_string()),
        IntakeError::OtherRepository(_) => Problem::bad_request(error.to_string()),
    }
}

/// Whether the intake that processes share may take a delivery for which this process has no answer
/// but this.
pub(crate) fn is_for_others(error: &IntakeError) -> bool {
    match error {
        IntakeError::Store(error) => is_for_shared_intake(error),
        IntakeError::Late(_) => true,
        IntakeError::OtherRepository(_) => false,
    }
}

/// An actor that gave no reply.
pub(crate) fn of_ask(error: &AskError) -> Problem {
    if matches!(error, AskError::NoReply { .. }) {
        return Problem::unavailable("the request was interrupted", 1);
    }
    let full = "as many deliveries are under way as the runner takes";
    edge_web::ask_problem(error, full, "the runner is being restarted")
}

/// A store that fails.
pub(crate) fn of_store(error: &StoreError) -> Problem {
    if error.is_temporary() {
        return Problem::unavailable(error.to_string(), 2);
    }
    tracing::error!(event = "run.store_failed", %error, "a delivery could not be stored");
    Problem::internal()
}

/// A run, or that there is none.
pub(crate) async fn find(view: &RunnerView, id: &str) -> Result<RunRecord, Problem> {
    let found = view.run(id).await.map_err(|error| of_store(&error))?;
    found.ok_or_else(|| Problem::not_found("there is no run with this id"))
}
