//! One request from its head to its answer: what is noted, added, counted and logged.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use actix_http::ConnectionType;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{RequestHead, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::{Error, HttpRequest, HttpResponse, ResponseError};
use prometheus::IntGauge;
use tracing::Span;

use super::EdgeConfig;
use super::stream::HeldBody;
use crate::escape::{EscapedText, LoggedTarget};
use crate::guard::credential::Credential;
use crate::headers::secure;
use crate::metrics::RouteMetrics;
use crate::problem::{PROBLEM_JSON, Problem, problem_of};
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::strict::{HttpConnection, ResponseGuard};

/// What the edge knows of one request until it is answered.
pub(super) struct Exchange {
    config: Arc<EdgeConfig>,
    pub(super) id: RequestId,
    /// Entered whenever the handler runs, so that its events carry the id.
    pub(super) span: Span,
    started: Instant,
    /// The other origin that may read the answer.
    pub(super) grant: Option<HeaderValue>,
    /// Keeps the connection until the answer is given; goes with its body.
    pub(super) answering: Option<ResponseGuard>,
    /// What opened the answer: one that streams ends with it.
    pub(super) credential: Option<Credential>,
    _in_flight: InFlight,
}

/// Shorter bodies are in the connection's buffer at once, in bytes.
const LONG: u64 = 32 * 1024;

/// Counts down however the request ends, a vanished client included.
struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Exchange {
    /// Notes the start of a request.
    pub(super) fn start(config: &Arc<EdgeConfig>, head: &RequestHead) -> Self {
        let given = head.headers().get(X_REQUEST_ID).and_then(RequestId::accept);
        let id = given.unwrap_or_else(RequestId::generate);
        let span = tracing::info_span!("http", request_id = %id);
        let in_flight = config.metrics.in_flight().clone();
        in_flight.inc();
        Self {
            config: Arc::clone(config),
            id,
            span,
            started: Instant::now(),
            grant: None,
            answering: None,
            credential: None,
            _in_flight: InFlight(in_flight),
        }
    }

    /// The error of a handler that panicked. The request is gone with it, so this is an error value
    /// that renders the whole answer.
    pub(super) fn panicked(&self, panic: &(dyn Any + Send)) -> Error {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.config.metrics.panics().inc();
        tracing::error!(
            event = "http.panic",
            panic = %EscapedText(text.unwrap_or("(no text)")),
            "a handler panicked"
        );
        Problem::internal().closing().into()
    }

    /// Completes the answer, whatever came out of the handler.
    pub(super) fn finish(
        &mut self,
        outcome: Result<ServiceResponse, Error>,
    ) -> Result<ServiceResponse, Error> {
        match outcome {
            Ok(answer) => Ok(self.complete(answer)),
            Err(error) => {
                let problem = problem_of(&HttpResponse::from_error(error));
                let mut response = problem
                    .unwrap_or_else(Problem::internal)
                    .respond(Some(&self.id));
                self.stamp(response.headers_mut());
                self.config
                    .metrics
                    .unmatched()
                    .observe(response.status(), self.started.elapsed());
                self.log_failure(None, response.status());
                Err(EarlyAnswer(RefCell::new(Some(response))).into())
            }
        }
    }

    fn complete(&mut self, answer: ServiceResponse) -> ServiceResponse {
        let mut answer = self.as_problem(answer);
        self.stamp(answer.headers_mut());
        end_unread(&mut answer);
        let status = answer.status();
        let request = answer.request();
        let metrics = request.app_data::<RouteMetrics>();
        let metrics = metrics.unwrap_or(self.config.metrics.unmatched());
        metrics.observe(status, self.started.elapsed());
        self.log(request, status);
        self.held(answer)
    }

    /// A long answer is under way until its last byte was given to the connection, and a stream
    /// ends with what opened it.
    fn held(&mut self, answer: ServiceResponse) -> ServiceResponse {
        let (long, streams) = match answer.response().body().size() {
            BodySize::None => (false, false),
            BodySize::Sized(bytes) => (bytes > LONG, false),
            BodySize::Stream => (true, true),
        };
        let answering = self.answering.take_if(|_| long);
        let credential = self.credential.take_if(|_| streams);
        if answering.is_none() && credential.is_none() {
            return answer;
        }
        answer.map_body(|head, body| {
            BoxBody::new(HeldBody::new(body, answering, credential, &head.headers))
        })
    }

    /// Gives every failed answer a problem body with the id of the request.
    fn as_problem(&self, answer: ServiceResponse) -> ServiceResponse {
        if answer.status().as_u16() < 400 {
            return answer;
        }
        let Some(problem) = problem_of(answer.response()) else {
            return answer;
        };
        answer.map_body(|head, _| {
            head.headers
                .insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
            problem.body(Some(&self.id))
        })
    }

    fn stamp(&self, headers: &mut HeaderMap) {
        secure(headers, &self.config.content_security_policy);
        headers.insert(X_REQUEST_ID, self.id.header());
        if let Some(origin) = &self.grant {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
    }

    /// The access log: `debug` for what went well, so that it costs nothing at `info`.
    fn log(&self, request: &HttpRequest, status: StatusCode) {
        if status.as_u16() >= 400 {
            self.log_failure(Some(request), status);
        } else if tracing::enabled!(tracing::Level::DEBUG) {
            tracing::debug!(
                event = "http.request",
                request_id = %self.id,
                method = %request.method(),
                path = %LoggedTarget { path: request.path(), query: request.uri().query() },
                status = status.as_u16(),
                ms = self.milliseconds(),
            );
        }
    }

    fn log_failure(&self, request: Option<&HttpRequest>, status: StatusCode) {
        tracing::info!(
            event = "http.request",
            request_id = %self.id,
            method = request.map(|request| tracing::field::display(request.method())),
            path = request.map(|request| tracing::field::display(LoggedTarget { path: request.path(), query: request.uri().query() })),
            status = status.as_u16(),
            ms = self.milliseconds(),
        );
    }

    fn milliseconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1_000.0
    }
}

/// Ends the connection after an answer that did not wait for the whole of a chunked body.
fn end_unread(answer: &mut ServiceResponse) {
    let request = answer.request();
    if !request.headers().contains_key(header::TRANSFER_ENCODING) {
        return;
    }
    if let Some(connection) = request
        .conn_data::<HttpConnection>()
        .filter(|it| it.is_inside_body())
    {
        connection.end();
        answer
            .response_mut()
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
}

/// An answer that had to become an error: it was made where no request was left to hang it on.
#[derive(Debug)]
struct EarlyAnswer(RefCell<Option<HttpResponse>>);

impl std::fmt::Display for EarlyAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request was answered with an error")
    }
}

impl ResponseError for EarlyAnswer {
    fn error_response(&self) -> HttpResponse {
        self.0
            .take()
            .unwrap_or_else(|| Problem::internal().respond(None))
    }
}
