//! `POST /webhook`.

use actix_web::{HttpResponse, web};
use edge_web::{ForgeVerifier, Problem, Routes, SignedBody, WebhookBody, livez, readyz};
use orchestrator_actors::messages::Admit;
use orchestrator_core::admin::WebhookReply;

use crate::problems::{ask_problem, store_problem};
use crate::shared_intake::answer;
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
    state: web::Data<WebState>,
    body: SignedBody<ForgeVerifier>,
) -> Result<HttpResponse, Problem> {
    let delivery = body.0.into_delivery()?;
    let reply = state
        .intake
        .ask(Admit(Box::new(delivery)))
        .await
        .map_err(|error| ask_problem(&error))?;
    let reply: WebhookReply = reply.map_err(|error| store_problem(&error))?;
    state.metrics.count_delivery(&reply);
    Ok(answer(&reply))
}
