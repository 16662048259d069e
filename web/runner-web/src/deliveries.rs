//! Deliveries of forges: what is stored of them, and what is answered.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use bytes::Bytes;
use edge_web::Problem;
use forge_core::Delivery;
use runner_actors::{NewDelivery, StoredEvent};
use serde::Serialize;
use store::Blob;
use utoipa::ToSchema;

/// What became of a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookAnswer {
    /// The delivery's id.
    pub delivery: String,
    /// `accepted`, `duplicate` or `ignored`.
    pub status: &'static str,
    /// The run it started, now or when it came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Why it was ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is to be stored of a delivery; or why it starts nothing.
pub(crate) fn new_delivery(
    delivery: Delivery,
    raw: Bytes,
) -> Result<Result<NewDelivery, String>, Problem> {
    let event = match StoredEvent::of_webhook(&delivery.event) {
        Ok(event) => event.sent_by(delivery.forge),
        Err(reason) => {
            tracing::info!(event = "webhook.ignored", delivery = %delivery.id, %reason, "a delivery starts nothing");
            return Ok(Err(reason.to_string()));
        }
    };
    if event.clone_url.is_empty() && !event.kind().is_activity() {
        return Err(Problem::bad_request(
            "the field repository.clone_url is missing: the repository cannot be fetched",
        ));
    }
    Ok(Ok(NewDelivery {
        id: delivery.id,
        digest: delivery.body,
        event,
        body: Blob::new(raw),
    }))
}

/// The answer to a delivery that starts nothing.
pub(crate) fn ignored(id: String, reason: String) -> HttpResponse {
    answer(StatusCode::OK, id, "ignored", None, Some(reason))
}

pub(crate) fn answer(
    code: StatusCode,
    delivery: String,
    status: &'static str,
    run: Option<String>,
    reason: Option<String>,
) -> HttpResponse {
    HttpResponse::build(code).json(WebhookAnswer {
        delivery,
        status,
        run,
        reason,
    })
}
