//! One request through the front door: looked at, passed on, its answer passed back, both bodies
//! as they come.

use std::cell::{Cell, OnceCell};
use std::io;
use std::rc::Rc;

use actix_web::body::SizedStream;
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{ConcurrencyLimit, Permit, Problem};
use futures_util::{Stream, StreamExt as _};
use http_clients::forward::{ForwardBody, ForwardOptions, Forwarded, Forwarder};
use http_clients::http::HttpError;
use search_web::pass_frames;
use tokio::sync::watch;

use super::headers::{from_product, to_product};
use super::mount::Mount;
use super::target::{Refusal, target};

/// Largest body of a request that is passed on: pages send forms and texts.
const MAX_BODY_BYTES: u64 = 64 << 20;

/// One worker's way to one product.
#[derive(Clone)]
pub(super) struct Passage {
    mount: Rc<Mount>,
    limit: ConcurrencyLimit,
    /// Its connections are this worker's.
    forwarder: Rc<OnceCell<Forwarder>>,
}

impl Passage {
    pub(super) fn new(mount: Mount, limit: ConcurrencyLimit) -> Self {
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
        let permit = self.limit.enter()?;
        let headers = to_product(&request, &self.mount);
        if request.headers().contains_key(header::UPGRADE) {
            return self
                .upgrade((&request, body), &target, &headers, permit)
                .await;
        }
        let method = request.method().clone();
        let is_head = method == Method::HEAD;
        let too_large = Rc::new(Cell::new(false));
        let body = bounded(&request, body, &too_large)?;
        let sent = self.forwarder().send(method, &target, &headers, body).await;
        let answer = sent.map_err(|error| {
            if too_large.get() {
                return Problem::too_large(usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX));
            }
            self.failed(&error)
        })?;
        self.answer(answer, is_head, permit)
    }

    fn answer(
        &self,
        answer: Forwarded,
        is_head: bool,
        permit: Permit,
    ) -> Result<HttpResponse, Problem> {
        let status = StatusCode::from_u16(answer.status)
            .map_err(|_| self.gone("its answer has no status"))?;
        if status == StatusCode::UNAUTHORIZED && self.mount.token.is_some() {
            // Whoever is here has signed in: this is between the door and the product.
            return Err(self.gone("it does not take the platform's token"));
        }
        let length = answer.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let mut response = HttpResponse::build(status);
        for (name, value) in &from_product(&answer.headers, &self.mount) {
            response.append_header((name.clone(), value.clone()));
        }
        let is_empty = is_head
            || status.is_informational()
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if is_empty {
            return Ok(response.finish());
        }
        let mut body = Box::pin(answer.into_body());
        // The place is taken until the last byte.
        let body = futures_util::stream::poll_fn(move |task| {
            let _ = &permit;
            body.poll_next_unpin(task)
        });
        let body = body.map(|chunk| chunk.map_err(io::Error::other));
        Ok(match length {
            Some(length) => response.body(SizedStream::new(length, body)),
            None => response.streaming(body),
        })
    }

    /// Connects to the product first, so that one that is not there has a status.
    async fn upgrade(
        &self,
        (request, body): (&HttpRequest, web::Payload),
        target: &str,
        headers: &HeaderMap,
        permit: Permit,
    ) -> Result<HttpResponse, Problem> {
        let name = request.headers().get(header::UPGRADE);
        let is_socket = name.is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"));
        if !is_socket || request.method() != Method::GET {
            return Err(Problem::bad_request("only WebSockets are upgraded to here"));
        }
        let offered = protocols(request);
        let connecting = self.forwarder().web_socket(target, headers, &offered);
        let connected = connecting.await;
        let (chosen, sender, receiver) = connected.map_err(|error| self.failed(&error))?;
        let chosen: Vec<&str> = chosen.as_deref().into_iter().collect();
        let upgraded = actix_ws::handle_with_protocols(request, body, &chosen);
        let (response, session, messages) = upgraded.map_err(|error| {
            Problem::bad_request(format!("this is no beginning of a WebSocket: {error}"))
        })?;
        let messages = messages.max_frame_size(ForwardOptions::default().max_frame);
        actix_web::rt::spawn(async move {
            // The products end before the front door does, and their connections with them.
            let (_open, closing) = watch::channel(false);
            pass_frames((sender, receiver), session, messages, closing).await;
            drop(permit);
        });
        Ok(response)
    }

    fn failed(&self, error: &HttpError) -> Problem {
        let product = self.mount.product;
        match error {
            HttpError::Status { status: 404, .. } => {
                Problem::not_found("nothing is served at this path")
            }
            HttpError::Status { status, .. } => self.gone(&format!("it answered {status}")),
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
                self.gone("it cannot be reached; its log says why")
            }
        }
    }

    fn gone(&self, reason: &str) -> Problem {
        Problem::bad_gateway(format!("the {} is down: {reason}", self.mount.product))
            .kind("product-down", "Product down")
    }
}

fn refused(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::NotMounted => Problem::not_found(refusal.to_string()),
        Refusal::TooLong => Problem::new(StatusCode::URI_TOO_LONG, refusal.to_string()),
        Refusal::Absolute | Refusal::Ambiguous => Problem::bad_request(refusal.to_string()),
    }
}

/// The protocols that a page offers, without the one that carries a token: that is the door's.
fn protocols(request: &HttpRequest) -> Vec<String> {
    let values = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim);
    names
        .filter(|name| !name.is_empty() && !name.starts_with("bearer."))
        .map(str::to_owned)
        .collect()
}

/// The body of a request, refused where it is too large.
fn bounded(
    request: &HttpRequest,
    body: web::Payload,
    too_large: &Rc<Cell<bool>>,
) -> Result<ForwardBody<impl Stream<Item = io::Result<web::Bytes>> + use<>>, Problem> {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let limit = usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX);
    if length.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(Problem::too_large(limit).closing());
    }
    let (mut left, too_large) = (MAX_BODY_BYTES, Rc::clone(too_large));
    let chunks = body.map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        let taken = left.checked_sub(chunk.len() as u64);
        left = taken.ok_or_else(|| {
            too_large.set(true);
            io::Error::other("the body is larger than the front door takes")
        })?;
        Ok(chunk)
    });
    Ok(match length {
        Some(0) => ForwardBody::Empty,
        Some(length) => ForwardBody::Sized(length, chunks),
        None if headers.contains_key(header::TRANSFER_ENCODING) => ForwardBody::Chunked(chunks),
        None => ForwardBody::Empty,
    })
}
