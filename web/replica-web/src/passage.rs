//! One request on its way from a standby to the leader, and the answer back, both bodies as they
//! come: a log that is followed is followed across processes.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use actix_web::body::SizedStream;
use actix_web::http::header;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{ConcurrencyLimit, Permit, Problem, REPLICA_KEY, Routes};
use futures_util::{Stream, StreamExt as _};
use http_clients::forward::{ForwardBody, ForwardOptions, Forwarded, Forwarder};
use http_clients::http::HttpError;
use replica_actors::RoleControl;
use replica_core::{ForwardRefusal, forward_target};

use crate::headers::{from_leader, to_leader};

/// Largest body of a request that is passed on: pages send forms and texts.
const MAX_BODY_BYTES: u64 = 64 << 20;
/// Requests that are passed on at once, followed logs among them.
const PASSAGES: usize = 512;

/// What is passed on, and how.
#[derive(Debug, Clone, Default)]
pub struct PassageOptions {
    /// What the path is put below at the leader.
    pub prefix: &'static str,
    /// This process has judged who asks; the leader is not to ask again.
    pub as_operator: bool,
}

/// The way from a standby to whoever leads. Clones share the limit.
#[derive(Clone)]
pub struct LeaderPassage {
    control: RoleControl,
    options: PassageOptions,
    limit: ConcurrencyLimit,
}

/// One worker's connections to the leader that it found last.
type KnownForwarder = Rc<RefCell<Option<Forwarder>>>;

impl LeaderPassage {
    /// The way to whoever `control` sees leading.
    #[must_use]
    pub fn new(control: &RoleControl, options: PassageOptions) -> Self {
        Self {
            control: control.clone(),
            options,
            limit: ConcurrencyLimit::new(PASSAGES, 1),
        }
    }

    /// Adds it for every path that has no route of its own.
    #[must_use]
    pub fn add(&self, routes: Routes) -> Routes {
        let known = KnownForwarder::default();
        let methods = [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ];
        methods.into_iter().fold(routes, |routes, method| {
            let (passage, known) = (self.clone(), Rc::clone(&known));
            let route = web::route().to(move |request: HttpRequest, body: web::Payload| {
                let (passage, known) = (passage.clone(), Rc::clone(&known));
                async move { passage.pass(&known, request, body).await }
            });
            routes.route(method, "/{rest:.*}", route)
        })
    }

    async fn pass(
        &self,
        known: &KnownForwarder,
        request: HttpRequest,
        body: web::Payload,
    ) -> Result<HttpResponse, Problem> {
        let permit = self.limit.enter()?;
        let sight = self.control.sight();
        let is_forwarded = request.headers().contains_key(REPLICA_KEY);
        let leader = sight.leader.as_ref().filter(|leader| leader.is_locked);
        let leader = leader.map(|leader| (leader.address.as_str(), leader.forward_key.as_str()));
        let own = self.control.own_address();
        let target = forward_target(leader, own, is_forwarded).map_err(refused)?;
        let headers = to_leader(&request, target.key, self.options.as_operator);
        let forwarder = forwarder(known, target.address).await?;
        let path = request.uri().path_and_query();
        let path = path.map_or("/", |path| path.as_str());
        let path = format!("{}{path}", self.options.prefix);
        let method = request.method().clone();
        let is_head = method == Method::HEAD;
        let too_large = Rc::new(Cell::new(false));
        let body = bounded(&request, body, &too_large)?;
        let sent = forwarder.send(method, &path, &headers, body).await;
        let answer = sent.map_err(|error| {
            if too_large.get() {
                return Problem::too_large(usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX));
            }
            failed(&error)
        })?;
        answered(answer, is_head, permit)
    }
}

/// Connections to the address; those to another leader are given up.
async fn forwarder(known: &KnownForwarder, address: &str) -> Result<Forwarder, Problem> {
    let address = resolved(address).await?;
    let kept = known.borrow().clone();
    if let Some(kept) = kept.filter(|kept| kept.address() == address) {
        return Ok(kept);
    }
    let options = ForwardOptions {
        keep_host: true,
        ..ForwardOptions::default()
    };
    let new = Forwarder::new(address, options);
    *known.borrow_mut() = Some(new.clone());
    Ok(new)
}

async fn resolved(address: &str) -> Result<SocketAddr, Problem> {
    if let Ok(address) = address.parse() {
        return Ok(address);
    }
    let found = tokio::net::lookup_host(address).await;
    let first = found.ok().and_then(|mut found| found.next());
    first.ok_or_else(|| {
        unreachable_leader(format!(
            "the name {address}, under which the leading process is reached, has no address here"
        ))
    })
}

fn refused(refusal: ForwardRefusal) -> Problem {
    let seconds = match refusal {
        ForwardRefusal::NoAddress => 30,
        _ => 1,
    };
    Problem::unavailable(refusal.to_string(), seconds).kind("no-leader", "No leader")
}

fn failed(error: &HttpError) -> Problem {
    match error {
        HttpError::TimedOut { .. } => {
            Problem::gateway_timeout("the leading process does not answer in time")
        }
        HttpError::BadRequest { .. } => Problem::bad_request("the body of the request broke off"),
        error => {
            tracing::info!(event = "replica.leader_unreachable", %error);
            unreachable_leader(
                "the leading process cannot be reached from this one; try again".to_owned(),
            )
        }
    }
}

fn unreachable_leader(detail: String) -> Problem {
    Problem::unavailable(detail, 2).kind("no-leader", "No leader")
}

fn answered(answer: Forwarded, is_head: bool, permit: Permit) -> Result<HttpResponse, Problem> {
    let status = StatusCode::from_u16(answer.status)
        .map_err(|_| Problem::bad_gateway("the answer of the leading process has no status"))?;
    let length = answer.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let mut response = HttpResponse::build(status);
    for (name, value) in &from_leader(&answer.headers) {
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
            io::Error::other("the body is larger than is passed on")
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
