//! `POST /webhook`.

use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::replica::{SharedIntake, is_for_shared_intake};
use edge_web::{ForgeVerifier, Problem, Routes, SignedBody, WebhookBody, livez, readyz};
use orchestrator_actors::messages::Admit;
use orchestrator_core::admin::WebhookReply;
use store::StoreError;
use supervision::AskError;

use crate::problems::{ask_problem, store_problem};
use crate::shared_intake::{answer, reply_to};
use crate::state::WebState;

/// The routes of the receiver.
pub(crate) fn routes(metrics: &edge_web::Metrics) -> Routes {
    Routes::new(metrics)
        .post("/webhook", webhook)
        .get("/healthz", livez)
        .get("/livez", livez)
        .get("/readyz", readyz)
}

/// Takes in a signed delivery of the forge; the reply says what became of it, after it is durable.
#[utoipa::path(
    post, path = "/webhook", tag = "receiver",
    request_body(content = WebhookBody, description = "An event as Gitea, Forgejo or GitHub sends it, signed (`X-Hub-Signature-256`, or the forge's own header)."),
    responses((status = 202, description = "Stored; what was queued and what was refused.", body = WebhookReply),
        (status = 200, description = "Ignored, or seen before.", body = WebhookReply))
)]
pub(crate) async fn webhook(
    request: HttpRequest,
    state: web::Data<WebState>,
    shared: Option<web::Data<SharedIntake>>,
    body: SignedBody<ForgeVerifier>,
) -> Result<HttpResponse, Problem> {
    let SignedBody(webhook) = body;
    let raw = webhook.body.clone();
    let delivery = webhook.into_delivery()?;
    let (id, digest) = (delivery.id.to_string(), delivery.body);
    let admitted = state.intake.ask(Admit(Box::new(delivery))).await;
    let reply: WebhookReply = match (ReceiveError::check(admitted), shared) {
        (Err(error), Some(shared)) if error.is_for_others() => {
            let delivery = (id.as_str(), digest, raw.as_ref());
            let taken = shared.take_over(&request, delivery, &error).await?;
            reply_to(&id, taken)
        }
        (admitted, _) => admitted.map_err(|error| error.problem())?,
    };
    state.metrics.count_delivery(&reply);
    Ok(answer(&reply))
}

/// Why it is not known what became of a delivery.
#[derive(Debug, thiserror::Error)]
enum ReceiveError {
    /// The actor's reason.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReceiveError {
    fn check(
        admitted: Result<Result<WebhookReply, StoreError>, AskError>,
    ) -> Result<WebhookReply, Self> {
        Ok(admitted??)
    }

    /// Whether the intake that processes share may take the delivery. More than the actor takes is
    /// refused there as well.
    fn is_for_others(&self) -> bool {
        match self {
            Self::Ask(error) => !matches!(error, AskError::Full { .. }),
            Self::Store(error) => is_for_shared_intake(error),
        }
    }

    fn problem(&self) -> Problem {
        match self {
            Self::Ask(error) => ask_problem(error),
            Self::Store(error) => store_problem(error),
        }
    }
}
