//! A delivery that a standby takes in: durable in the database before it is acknowledged, and
//! decided by the leader, whose word is waited for a moment.

use std::time::Duration;

use actix_web::HttpRequest;
use edge_web::Problem;
use forge_core::BodyDigest;
use replica_actors::{RoleControl, StoredDelivery};
use store::{IntakeHandle, StoreError, TakenIn};

/// How long the leader's word is waited for: it comes within milliseconds.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(2);
/// A leader that was silent for so long is not waited for.
const LEADER_SILENCE: Duration = Duration::from_secs(4);

/// What is known of a delivery that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntakeAnswer {
    /// It is new; what the leader decided, where it did so in time.
    New(Option<Vec<u8>>),
    /// It was taken in before; what was decided then, if anything was.
    Known(Option<Vec<u8>>),
}

/// Takes a verified delivery in: its id, the digest of its body, and the JSON that was signed.
///
/// # Errors
/// Nothing is known to be stored: 503 with `Retry-After`.
pub async fn take_in(
    request: &HttpRequest,
    (id, digest, body): (&str, BodyDigest, &[u8]),
    intake: &IntakeHandle,
    control: &RoleControl,
) -> Result<IntakeAnswer, Problem> {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let stored = StoredDelivery::new(headers, digest, body);
    let content = stored.to_bytes().map_err(|error| {
        tracing::error!(event = "intake.not_written", %error, "a delivery could not be written");
        Problem::internal()
    })?;
    let digest = digest.as_bytes().to_vec();
    let taken = intake.take_in(id.to_owned(), digest, content).await;
    let (seq, is_new) = match taken.map_err(|error| not_stored(&error))? {
        TakenIn::New(seq) => (seq, true),
        TakenIn::Known {
            outcome: Some(outcome),
            ..
        } => return Ok(IntakeAnswer::Known(Some(outcome))),
        TakenIn::Known { seq, outcome: None } => (seq, false),
    };
    let outcome = match has_leader(control) {
        true => {
            let decided = tokio::time::timeout(OUTCOME_TIMEOUT, intake.outcome(seq)).await;
            decided.ok().flatten()
        }
        false => None,
    };
    Ok(match is_new {
        true => IntakeAnswer::New(outcome),
        false => IntakeAnswer::Known(outcome),
    })
}

fn has_leader(control: &RoleControl) -> bool {
    let leader = control.sight().leader;
    leader.is_some_and(|leader| leader.is_locked && leader.silent < LEADER_SILENCE)
}

fn not_stored(error: &StoreError) -> Problem {
    Problem::unavailable(
        format!("the delivery is not known to be stored, send it again: {error}"),
        2,
    )
}
