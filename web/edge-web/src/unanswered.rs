//! An actor that has no reply, as an answer.

use supervision::AskError;

use crate::problem::Problem;

/// Why there is no reply. `full` says what there is too much of, `restarting` who is not there.
#[must_use]
pub fn ask_problem(error: &AskError, full: &'static str, restarting: &'static str) -> Problem {
    match error {
        AskError::Full { retry_after, .. } => {
            let seconds = u32::try_from(retry_after.as_secs().max(1)).unwrap_or(u32::MAX);
            Problem::unavailable(full, seconds)
        }
        AskError::Unavailable { .. } => Problem::unavailable(restarting, 1),
        AskError::TimedOut { after, .. } => {
            Problem::gateway_timeout(format!("no answer within {} s", after.as_secs()))
        }
        AskError::NoReply { .. } => Problem::internal(),
    }
}
