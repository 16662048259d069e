//! What the leader makes of deliveries that standbys took in, and what they make of its word.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use bytes::Bytes;
use cluster_actors::replica::{Decide, StoredDelivery, Undecodable, intake_follower};
use edge_web::replica::IntakeAnswer;
use futures_util::future::LocalBoxFuture;
use runner_actors::{Accepted, NotAccepted, RunnerIntake};
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

impl Decide for RunnerDecisions {
    fn decide(&self, content: Vec<u8>) -> LocalBoxFuture<'static, Option<Vec<u8>>> {
        let intake = self.0.clone();
        Box::pin(async move {
            let decision = match decide(&intake, &content).await {
                Ok(decision) => decision?,
                Err(error) => {
                    tracing::error!(event = "intake.undecodable", %error, "a delivery that was acknowledged cannot be read");
                    Decision::default()
                }
            };
            serde_json::to_vec(&decision).ok()
        })
    }
}

/// `None`: not now.
async fn decide(intake: &RunnerIntake, content: &[u8]) -> Result<Option<Decision>, Undecodable> {
    let stored = StoredDelivery::from_bytes(content)?;
    let body = Bytes::copy_from_slice(stored.body());
    let Ok(Ok(delivery)) = new_delivery(stored.delivery()?, body) else {
        // The standby looked: another version of this program takes what this one does not.
        return Ok(Some(Decision::default()));
    };
    Ok(match intake.accept(delivery).await {
        Ok(Accepted::Run(run)) => Some(Decision {
            run: Some(run),
            ..Decision::default()
        }),
        Ok(Accepted::Duplicate { run }) => Some(Decision {
            duplicate: true,
            run,
            ..Decision::default()
        }),
        Ok(Accepted::Unwanted(reason)) => Some(Decision {
            ignored: Some(reason),
            ..Decision::default()
        }),
        Ok(Accepted::Full) => None,
        Err(error @ NotAccepted::OtherRepository(_)) => Some(Decision {
            ignored: Some(error.to_string()),
            ..Decision::default()
        }),
        Err(error) => {
            tracing::debug!(event = "intake.not_decided", %error);
            None
        }
    })
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
