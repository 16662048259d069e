//! One request through the front door: looked at, passed on, its answer passed back.

use std::cell::OnceCell;
use std::rc::Rc;

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::relay::{self, TooLarge};
use edge_web::{ConcurrencyLimit, Problem};
use http_clients::forward::{ForwardOptions, Forwarder};
use http_clients::http::HttpError;

use super::headers::{from_product, to_product};
use super::mount::ProductRoute;
use super::target::{TargetRefusal, target};

/// One worker's way to one product.
#[derive(Clone)]
pub(super) struct ProductProxy {
    mount: Rc<ProductRoute>,
    limit: ConcurrencyLimit,
    /// Its connections are this worker's.
    forwarder: Rc<OnceCell<Forwarder>>,
}

impl ProductProxy {
    pub(super) fn new(mount: ProductRoute, limit: ConcurrencyLimit) -> Self {
        Self {
            mount: Rc::new(mount),
            limit,
            forwarder: Rc::default(),
        }
    }

    fn forwarder(&self) -> &Forwarder {
        let new = || Forwarder::new(self.mount.address, ForwardOptions::default());
        self.forwarder.get_or_init(new)
    }

    /// Answers a request by asking the product.
    pub(super) async fn pass(
        self,
        request: HttpRequest,
        body: web::Payload,
    ) -> Result<HttpResponse, Problem> {
        let target = target(self.mount.prefix, request.uri()).map_err(refused)?;
        let permit = self.limit.try_acquire()?;
        let headers = to_product(&request, &self.mount);
        if request.headers().contains_key(header::UPGRADE) {
            let protocols = protocols(&request);
            let way = (self.forwarder(), target.as_str());
            let said = (&headers, protocols.as_slice());
            let failed = |error: &HttpError| self.failed(error);
            return relay::web_socket((&request, body), way, said, permit, failed).await;
        }
        let method = request.method().clone();
        let too_large = TooLarge::default();
        let body = relay::request_body(&request, body, &too_large)?;
        let sent = self
            .forwarder()
            .send(method.clone(), &target, &headers, body)
            .await;
        let answer =
            sent.map_err(|error| too_large.problem().unwrap_or_else(|| self.failed(&error)))?;
        let status = relay::status(&answer);
        let status = status.ok_or_else(|| self.unavailable("its answer has no status"))?;
        if status == StatusCode::UNAUTHORIZED && self.mount.token.is_some() {
            // Whoever is here has signed in: this is between the door and the product.
            return Err(self.unavailable("it does not take the platform's token"));
        }
        let headers = from_product(&answer.headers, &self.mount);
        Ok(relay::respond(answer, status, &headers, &method, permit))
    }

    fn failed(&self, error: &HttpError) -> Problem {
        let product = self.mount.product;
        match error {
            HttpError::Status { status: 404, .. } => {
                Problem::not_found("nothing is served at this path")
            }
            // Only WebSockets: other answers are passed back.
            HttpError::Status {
                status: status @ (400 | 403 | 409 | 429),
                ..
            } => {
                let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::FORBIDDEN);
                let text =
                    format!("the {product} opens no WebSocket here; without one it says why");
                Problem::new(status, text)
            }
            HttpError::Status { status, .. } => self.unavailable(&format!("it answered {status}")),
            HttpError::TimedOut { .. } => {
                tracing::warn!(event = "front.failed", product, %error, "a product does not answer");
                Problem::gateway_timeout(format!("the {product} does not answer in time"))
                    .kind("product-silent", "Product silent")
            }
            HttpError::BadRequest { .. } => {
                Problem::bad_request("the body of the request broke off")
            }
            error => {
                tracing::warn!(event = "front.failed", product, %error, "a product cannot be asked");
                self.unavailable("it cannot be reached; its log says why")
            }
        }
    }

    fn unavailable(&self, reason: &str) -> Problem {
        Problem::bad_gateway(format!("the {} is down: {reason}", self.mount.product))
            .kind("product-down", "Product down")
    }
}

fn refused(refusal: TargetRefusal) -> Problem {
    match refusal {
        TargetRefusal::NotMounted => Problem::not_found(refusal.to_string()),
        TargetRefusal::TooLong => Problem::new(StatusCode::URI_TOO_LONG, refusal.to_string()),
        TargetRefusal::Absolute | TargetRefusal::Ambiguous => {
            Problem::bad_request(refusal.to_string())
        }
    }
}

/// The protocols that a page offers, without the one that carries a token: that is the door's.
fn protocols(request: &HttpRequest) -> Vec<String> {
    let mut offered = relay::offered_protocols(request);
    offered.retain(|name| !name.starts_with("bearer."));
    offered
}
