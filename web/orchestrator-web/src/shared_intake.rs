//! What the leader makes of deliveries that standbys took in, and what they make of its word.

use std::error::Error;
use std::sync::Arc;

use actix_web::HttpResponse;
use cluster_actors::replica::{DeliveryDecider, IntakeDecision, intake_follower};
use edge_web::replica::IntakeAnswer;
use forge_core::Delivery;
use futures_util::future::LocalBoxFuture;
use orchestrator_actors::Intake;
use orchestrator_actors::messages::Admit;
use orchestrator_core::admin::{WebhookOutcome, WebhookReply};
use orchestrator_core::intake::Ignored;
use store::SharedStore;
use supervision::{ChildRef, SupervisorSpec};

/// The supervisor of the actor that decides.
pub(crate) fn supervisor(shared: &SharedStore, intake: &ChildRef<Intake>) -> SupervisorSpec {
    let decide = Arc::new(OrchestratorDecisions(intake.clone()));
    let follower = intake_follower(shared.intake(), &shared.hints(), decide);
    SupervisorSpec::new("shared-intake").child(follower)
}

struct OrchestratorDecisions(ChildRef<Intake>);

impl DeliveryDecider for OrchestratorDecisions {
    fn decide(
        &self,
        delivery: Delivery,
        _: &[u8],
        again: bool,
    ) -> LocalBoxFuture<'static, IntakeDecision> {
        let intake = self.0.clone();
        Box::pin(async move { decide(&intake, delivery, again).await })
    }

    fn lost(&self) -> Vec<u8> {
        b"null".to_vec()
    }
}

async fn decide(intake: &ChildRef<Intake>, delivery: Delivery, again: bool) -> IntakeDecision {
    let error: Box<dyn Error> = match intake.ask(Admit(Box::new(delivery))).await {
        Ok(Ok(reply)) => match serde_json::to_vec(&first_reply(reply, again)) {
            Ok(outcome) => return IntakeDecision::Outcome(outcome),
            Err(error) => error.into(),
        },
        Ok(Err(error)) => error.into(),
        Err(error) => error.into(),
    };
    tracing::debug!(event = "intake.not_decided", %error);
    IntakeDecision::NotNow
}

/// The reply to a delivery. Asked again, it is known by the first time, whose reply was lost.
fn first_reply(reply: WebhookReply, again: bool) -> WebhookReply {
    match reply.outcome {
        WebhookOutcome::Duplicate if again => plain(&reply.delivery, WebhookOutcome::Accepted),
        _ => reply,
    }
}

/// The answer to a reply.
pub(crate) fn answer(reply: &WebhookReply) -> HttpResponse {
    let mut answer = match reply.outcome {
        WebhookOutcome::Accepted | WebhookOutcome::Rejected => HttpResponse::Accepted(),
        WebhookOutcome::Ignored | WebhookOutcome::Duplicate => HttpResponse::Ok(),
    };
    answer.json(reply)
}

/// What is replied to a delivery that was taken in: what the leader would have replied, or that it
/// is accepted while nobody has decided.
pub(crate) fn reply_to(id: &str, taken: IntakeAnswer) -> WebhookReply {
    match taken {
        IntakeAnswer::New(outcome) => outcome
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_else(|| plain(id, WebhookOutcome::Accepted)),
        IntakeAnswer::Known(_) => WebhookReply {
            reason: Some(Ignored::Duplicate.to_string()),
            detail: Some(Ignored::Duplicate.detail().to_owned()),
            ..plain(id, WebhookOutcome::Duplicate)
        },
    }
}

fn plain(id: &str, outcome: WebhookOutcome) -> WebhookReply {
    WebhookReply {
        delivery: id.to_owned(),
        outcome,
        dispatches: Vec::new(),
        rejected: Vec::new(),
        reason: None,
        detail: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_what_is_known_by_being_asked_before_is_accepted() {
        use WebhookOutcome::{Accepted, Duplicate, Ignored};
        for (outcome, again, expected) in [
            (Accepted, false, Accepted),
            (Duplicate, false, Duplicate),
            (Duplicate, true, Accepted),
            (Ignored, true, Ignored),
        ] {
            let reply = first_reply(plain("one", outcome), again);
            assert_eq!((&*reply.delivery, reply.outcome), ("one", expected));
        }
    }
}
