//! A delivery that a standby takes in, or a leader that has lost the store: durable in the database
//! before it is acknowledged, and decided by the leader, whose word is waited for a moment.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use actix_web::HttpRequest;
use cluster_actors::replica::{RoleControl, StoredDelivery};
use forge_core::BodyDigest;
use store::{IntakeHandle, SharedStore, StoreError, TakenIn};

use crate::problem::Problem;

/// How long the leader's word is waited for: it comes within milliseconds.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a delivery waits for the database. The thread of the intake tries again for as long,
/// and its last attempt may take that long once more: by then whoever sent it has its answer.
const APPEND_TIMEOUT: Duration = Duration::from_secs(5);
/// A leader that was silent for so long is not waited for.
const LEADER_TIMEOUT: Duration = Duration::from_secs(4);

/// What is known of a delivery that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntakeAnswer {
    /// It is new; what the leader decided, where it did so in time.
    New(Option<Vec<u8>>),
    /// It was taken in before; what was decided then, if anything was.
    Known(Option<Vec<u8>>),
}

/// The intake that all processes share. Neither the store's lock nor its epoch is needed for it, so
/// that it takes what a leader cannot store any more, too: the next one decides, and finds what the
/// former one has stored after all to be known.
#[derive(Clone)]
pub struct SharedIntake {
    intake: IntakeHandle,
    control: RoleControl,
}

impl SharedIntake {
    /// The intake beside `shared`, of a process with this role.
    #[must_use]
    pub fn new(shared: &SharedStore, control: &RoleControl) -> Self {
        Self {
            intake: shared.intake().clone(),
            control: control.clone(),
        }
    }

    /// Takes a verified delivery in: its id, the digest of its body, and the JSON that was signed.
    ///
    /// # Errors
    /// Nothing is known to be stored: 503 with `Retry-After`.
    pub async fn take_in(
        &self,
        request: &HttpRequest,
        delivery: (&str, BodyDigest, &[u8]),
    ) -> Result<IntakeAnswer, Problem> {
        let stored = self.append(request, delivery).await?;
        Ok(self.answer(stored).await)
    }

    /// Durable when it resolves.
    async fn append(
        &self,
        request: &HttpRequest,
        (id, digest, body): (&str, BodyDigest, &[u8]),
    ) -> Result<TakenIn, Problem> {
        if self.control.is_refused() {
            return Err(not_stored(&"this process may not use the database"));
        }
        let headers = request.headers().iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let stored = StoredDelivery::new(headers, digest, body);
        let content = stored.to_bytes().map_err(|error| {
            tracing::error!(event = "intake.not_written", %error, "a delivery could not be written");
            Problem::internal()
        })?;
        let digest = digest.as_bytes().to_vec();
        let taking = self.intake.take_in(id.to_owned(), digest, content);
        let stored = within_limit(APPEND_TIMEOUT, taking).await;
        let failure = stored.as_ref().err();
        self.control
            .record_delivery(failure.map(ToString::to_string));
        stored
    }

    /// With the leader's word, if it comes in time.
    async fn answer(&self, taken: TakenIn) -> IntakeAnswer {
        let (seq, is_new) = match taken {
            TakenIn::New(seq) => (seq, true),
            TakenIn::Known {
                outcome: Some(outcome),
                ..
            } => return IntakeAnswer::Known(Some(outcome)),
            TakenIn::Known { seq, outcome: None } => (seq, false),
        };
        let outcome = match self.has_leader() {
            true => {
                let decided = tokio::time::timeout(OUTCOME_TIMEOUT, self.intake.outcome(seq)).await;
                decided.ok().flatten()
            }
            false => None,
        };
        match is_new {
            true => IntakeAnswer::New(outcome),
            false => IntakeAnswer::Known(outcome),
        }
    }

    /// As [`SharedIntake::take_in`], in the process that leads, or did until now: a delivery that
    /// its own store did not take, for this reason.
    ///
    /// # Errors
    /// As [`SharedIntake::take_in`].
    pub async fn take_over(
        &self,
        request: &HttpRequest,
        delivery: (&str, BodyDigest, &[u8]),
        reason: &dyn Error,
    ) -> Result<IntakeAnswer, Problem> {
        let stored = self.append(request, delivery).await?;
        tracing::info!(
            event = "intake.taken_over", delivery = delivery.0, %reason,
            "a delivery that this process cannot store any more was taken in for the one that leads"
        );
        Ok(self.answer(stored).await)
    }

    fn has_leader(&self) -> bool {
        let leader = self.control.sight().leader;
        leader.is_some_and(|leader| leader.is_locked && leader.silent < LEADER_TIMEOUT)
    }
}

/// What was taken in, or 503 once the limit is over. It may be stored all the same: sent again, it
/// is known.
async fn within_limit(
    limit: Duration,
    taking: impl Future<Output = Result<TakenIn, StoreError>>,
) -> Result<TakenIn, Problem> {
    let taken = tokio::time::timeout(limit, taking).await;
    match taken {
        Ok(taken) => taken.map_err(|error| not_stored(&error)),
        Err(_) => Err(not_stored(&"the database does not answer")),
    }
}

/// Whether a delivery that the leader's store did not take may be taken by the [`SharedIntake`]:
/// where the store was lost or does not answer. A full queue or disk, and what cannot be stored at
/// all, are refused there as well.
#[must_use]
pub fn is_for_shared_intake(error: &StoreError) -> bool {
    use StoreError::{Closed, Storage, TakenOver, Unknown};
    matches!(
        error,
        TakenOver { .. } | Closed | Unknown { .. } | Storage { .. }
    )
}

fn not_stored(error: &dyn Display) -> Problem {
    Problem::unavailable(
        format!("the delivery is not known to be stored, send it again: {error}"),
        2,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_delivery_does_not_wait_for_what_the_intakes_thread_still_tries() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let limited = |answers: bool| {
            within_limit(Duration::ZERO, async move {
                match answers {
                    true => Ok(TakenIn::New(1)),
                    false => std::future::pending().await,
                }
            })
        };
        let problem = runtime
            .block_on(limited(false))
            .expect_err("nobody answers");
        assert_eq!(problem.status(), 503);
        assert_eq!(runtime.block_on(limited(true)).ok(), Some(TakenIn::New(1)));
    }

    #[test]
    fn i18_what_a_lost_store_did_not_take_is_for_the_intake_and_what_is_too_much_is_not() {
        let (place, reason) = (String::new, String::new);
        for (error, expected) in [
            (
                StoreError::TakenOver {
                    place: place(),
                    by: String::new(),
                },
                true,
            ),
            (StoreError::Closed, true),
            (
                StoreError::Unknown {
                    place: place(),
                    reason: reason(),
                },
                true,
            ),
            (
                StoreError::Storage {
                    place: place(),
                    reason: reason(),
                },
                true,
            ),
            (StoreError::Busy { waiting: 1 }, false),
            (StoreError::Full { place: place() }, false),
            (StoreError::Reentrant, false),
        ] {
            assert_eq!(is_for_shared_intake(&error), expected, "{error}");
        }
    }
}
