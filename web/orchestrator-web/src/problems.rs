//! Failures of the actors as answers.

use std::sync::LazyLock;
use std::time::Instant;

use edge_web::{LogGate, Problem};
use orchestrator_actors::messages::OperatorError;
use store::StoreError;
use supervision::AskError;

/// One line a second for requests that cannot be stored.
static NOT_STORED: LazyLock<LogGate> = LazyLock::new(LogGate::default);

/// Why an actor has no reply, as an answer.
pub(crate) fn ask_problem(error: &AskError) -> Problem {
    let full = "too many requests wait for the disk";
    edge_web::ask_problem(error, full, "the orchestrator is being restarted")
}

/// Why nothing was stored, as an answer: nothing was acknowledged, so the sender may try again.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::Busy { .. } => Problem::unavailable("too many requests wait for the disk", 1),
        StoreError::Full { .. } => Problem::unavailable("the disk is full; nothing was stored", 30),
        error => {
            // While the disk refuses, every webhook comes here.
            if let Some(suppressed) = NOT_STORED.admit(None, Instant::now()) {
                tracing::error!(event = "http.failed", error = %error, suppressed, "a request could not be stored");
            }
            Problem::unavailable(
                "the store does not work at the moment; nothing was stored",
                5,
            )
        }
    }
}

/// Why the operator API has no answer.
pub(crate) fn operator_problem(error: &OperatorError) -> Problem {
    match error {
        OperatorError::NotFound(text) => Problem::not_found(text.clone()),
        OperatorError::Conflict(text) => Problem::conflict(text.clone()),
        OperatorError::Invalid(text) => Problem::unprocessable(text.clone(), Vec::new()),
        OperatorError::Store(error) => store_problem(error),
    }
}
