//! What the leader makes of deliveries that standbys took in, and what they make of its word.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use bytes::Bytes;
use cluster_actors::replica::{DeliveryDecider, IntakeDecision, intake_follower};
use edge_web::replica::IntakeAnswer;
use forge_core::Delivery;
use futures_util::future::{LocalBoxFuture, ready};
use runner_actors::{DeliveryResult, IntakeError, NewDelivery, RunnerIntake};
use serde::{Deserialize, Serialize};
use store::SharedStore;
use supervision::SupervisorSpec;

use crate::deliveries::{answer, ignored, new_delivery};

/// The leader's word.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Decision {
    /// The delivery was known already.
    duplicate: bool,
    /// The run that it started.
    run: Option<String>,
    /// Why it starts nothing, where it does not.
    #[serde(default)]
    ignored: Option<String>,
}

/// The supervisor of the actor that decides.
pub(crate) fn supervisor(shared: &SharedStore, intake: &RunnerIntake) -> SupervisorSpec {
    let decide = Arc::new(RunnerDecisions(intake.clone()));
    let follower = intake_follower(shared.intake(), &shared.hints(), decide);
    SupervisorSpec::new("intake").child(follower)
}

struct RunnerDecisions(RunnerIntake);

impl DeliveryDecider for RunnerDecisions {
    fn decide(
        &self,
        delivery: Delivery,
        body: &[u8],
        again: bool,
    ) -> LocalBoxFuture<'static, IntakeDecision> {
        let intake = self.0.clone();
        match acceptable(delivery, body) {
            Ok(delivery) => Box::pin(async move {
                let accepted = intake.accept(delivery).await;
                decision_of(accepted, again)
            }),
            Err(reason) => Box::pin(ready(IntakeDecision::NotHere(reason))),
        }
    }

    fn lost(&self) -> Vec<u8> {
        bytes_of(&Decision::default())
    }
}

/// What was taken in; else why this version does not take it. The standby looked: another version
/// of this program does.
fn acceptable(delivery: Delivery, body: &[u8]) -> Result<NewDelivery, String> {
    match new_delivery(delivery, Bytes::copy_from_slice(body)) {
        Ok(taken) => taken,
        Err(problem) => Err(problem.to_string()),
    }
}

/// Asked again, a delivery is known by the first time, whose outcome was lost.
fn decision_of(accepted: Result<DeliveryResult, IntakeError>, again: bool) -> IntakeDecision {
    let decision = match accepted {
        Ok(DeliveryResult::Run(run)) => Decision {
            run: Some(run),
            ..Decision::default()
        },
        Ok(DeliveryResult::Duplicate { run }) => Decision {
            duplicate: !again,
            run,
            ..Decision::default()
        },
        Ok(DeliveryResult::Unwanted(reason)) => Decision {
            ignored: Some(reason),
            ..Decision::default()
        },
        Ok(DeliveryResult::Full) => return IntakeDecision::NotNow,
        Err(error @ IntakeError::OtherRepository(_)) => Decision {
            ignored: Some(error.to_string()),
            ..Decision::default()
        },
        Err(error) => {
            tracing::debug!(event = "intake.not_decided", %error);
            return IntakeDecision::NotNow;
        }
    };
    IntakeDecision::Outcome(bytes_of(&decision))
}

/// Texts are written always.
fn bytes_of(decision: &Decision) -> Vec<u8> {
    serde_json::to_vec(decision).unwrap_or_default()
}

/// The answer to a delivery that was taken in: the one that the leader would have given.
pub(crate) fn taken_in(id: String, taken: IntakeAnswer) -> HttpResponse {
    let (is_known, outcome) = match taken {
        IntakeAnswer::New(outcome) => (false, outcome),
        IntakeAnswer::Known(outcome) => (true, outcome),
    };
    let decision = outcome.and_then(|bytes| serde_json::from_slice::<Decision>(&bytes).ok());
    let decision = decision.unwrap_or_default();
    if let Some(reason) = decision.ignored {
        return ignored(id, reason);
    }
    match is_known || decision.duplicate {
        true => answer(StatusCode::OK, id, "duplicate", decision.run, None),
        false => answer(StatusCode::ACCEPTED, id, "accepted", decision.run, None),
    }
}

#[cfg(test)]
mod tests {
    use cluster_actors::replica::StoredDelivery;

    use super::*;

    fn taken_in(event: &str, body: &[u8]) -> Result<NewDelivery, String> {
        let headers = [
            ("x-github-event", event.as_bytes()),
            ("x-github-delivery", &b"one"[..]),
        ];
        // Digests are made with secrets; any bytes will do.
        let digest = serde_json::from_value(serde_json::json!([7; 32].to_vec()));
        let stored = StoredDelivery::new(headers, digest.expect("it is 32 bytes"), body);
        let delivery = stored.delivery().map_err(|error| error.to_string())?;
        acceptable(delivery, body)
    }

    #[test]
    fn i18_what_is_known_by_being_asked_before_is_no_duplicate() {
        for (again, duplicate) in [(false, true), (true, false)] {
            let run = || Some("run-1".to_owned());
            let accepted = Ok(DeliveryResult::Duplicate { run: run() });
            let IntakeDecision::Outcome(outcome) = decision_of(accepted, again) else {
                panic!("it is decided");
            };
            let decision: Decision = serde_json::from_slice(&outcome).expect("as it was written");
            assert_eq!((decision.duplicate, decision.run), (duplicate, run()));
        }
    }

    /// A standby acknowledged each: none may be dropped by a leader that does not know it.
    #[test]
    fn i18_what_another_version_took_in_and_this_one_does_not_take_is_left_to_it() {
        let repository = r#""repository":{"full_name":"o/r","name":"r","owner":{"login":"o"},"default_branch":"main""#;
        let sender = r#""sender":{"login":"someone"}"#;
        let of_a_later_event =
            format!("{{{repository},\"clone_url\":\"http://f/o/r\"}},{sender}}}");
        for (event, body) in [
            ("event_of_tomorrow", of_a_later_event.as_str()),
            ("push", "{}"),
        ] {
            assert!(taken_in(event, body.as_bytes()).is_err(), "{event}");
        }
    }
}
