//! `POST /webhook`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::replica::SharedIntake;
use edge_web::{ForgeVerifier, Problem, SignedBody, WebhookBody};
use runner_actors::DeliveryResult;

use crate::deliveries::{WebhookAnswer, answer, ignored, new_delivery};
use crate::problems::{is_for_others, of_intake};
use crate::shared_intake::taken_in;
use crate::state::RunnerState;

/// Takes a signed webhook of a forge.
#[utoipa::path(post, path = "/webhook", tag = "webhooks", request_body(content = WebhookBody, description = "The forge's JSON, signed (`X-Hub-Signature-256` or the forge's own header)"),
    responses((status = 202, body = WebhookAnswer, description = "Stored; a run was started"), (status = 200, body = WebhookAnswer, description = "Seen before, with the run it started then if that is still kept; or starts nothing"),
        (status = 403, description = "The signature does not hold"), (status = 400, description = "No readable event"), (status = 413, description = "Too large"), (status = 503, description = "Full, or the store takes no writes")))]
pub(crate) async fn webhook(
    request: HttpRequest,
    state: web::Data<RunnerState>,
    shared: Option<web::Data<SharedIntake>>,
    body: SignedBody<ForgeVerifier>,
) -> Result<HttpResponse, Problem> {
    let SignedBody(webhook) = body;
    let raw = webhook.body.clone();
    let delivery = webhook.into_delivery()?;
    let (id, digest) = (delivery.id.to_string(), delivery.body);
    let delivery = match new_delivery(delivery, raw.clone())? {
        Ok(delivery) => delivery,
        Err(reason) => return Ok(ignored(id, reason)),
    };
    let accepted = match (state.intake.accept(delivery).await, shared) {
        (Err(error), Some(shared)) if is_for_others(&error) => {
            let delivery = (id.as_str(), digest, raw.as_ref());
            let taken = shared.take_over(&request, delivery, &error).await?;
            return Ok(taken_in(id, taken));
        }
        (accepted, _) => accepted.map_err(|error| of_intake(&error))?,
    };
    Ok(match accepted {
        DeliveryResult::Run(run) => answer(StatusCode::ACCEPTED, id, "accepted", Some(run), None),
        DeliveryResult::Duplicate { run } => answer(StatusCode::OK, id, "duplicate", run, None),
        DeliveryResult::Unwanted(reason) => {
            answer(StatusCode::OK, id, "ignored", None, Some(reason))
        }
        DeliveryResult::Full => {
            return Err(Problem::unavailable(
                "as many runs wait as the runner takes",
                30,
            ));
        }
    })
}
