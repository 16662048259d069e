//! The one middleware of an edge. Everything that every request needs happens here in one layer:
//! no boxed futures, and at `info` no formatting for an answer below 400.

use std::any::Any;
use std::future::{Future, Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_http::ConnectionType;
use actix_web::body::BoxBody;
use actix_web::dev::{RequestHead, Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpMessage as _, HttpRequest, HttpResponse, ResponseError};
use pin_project_lite::pin_project;
use prometheus::IntGauge;
use tracing::Span;

use crate::escape::{Escaped, Target};
use crate::guard::{
    ApiToken, HostPolicy, HostRefusal, OriginPolicy, OriginVerdict, PublicPaths, RequestSource,
};
use crate::headers::{STRICT_CSP, secure};
use crate::metrics::{Metrics, RouteMetrics};
use crate::problem::{PROBLEM_JSON, Problem, problem_of};
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::strict::Connection;

/// What the edge of one server allows.
#[derive(Debug, Clone)]
pub struct EdgeConfig {
    /// The hosts it answers for.
    pub hosts: HostPolicy,
    /// The other origins that may use it from a browser.
    pub origins: OriginPolicy,
    /// The token it wants; `None` on loopback (see [`exposure`](crate::guard::exposure)).
    pub token: Option<ApiToken>,
    /// What needs no token.
    pub public: PublicPaths,
    /// Where it counts.
    pub metrics: Metrics,
    /// The Content-Security-Policy of answers that do not set their own.
    pub content_security_policy: HeaderValue,
}

impl EdgeConfig {
    /// Answers for `hosts`, grants no other origin, wants no token, and has the strict policy.
    pub fn new(hosts: HostPolicy, metrics: &Metrics) -> Self {
        Self {
            hosts,
            origins: OriginPolicy::default(),
            token: None,
            public: PublicPaths::default(),
            metrics: metrics.clone(),
            content_security_policy: HeaderValue::from_static(STRICT_CSP),
        }
    }
}

/// The middleware: `App::new().wrap(edge.clone())`, outermost. Clones share the configuration.
#[derive(Debug, Clone)]
pub struct Edge(Arc<EdgeConfig>);

impl Edge {
    /// An edge of this configuration.
    pub fn new(config: EdgeConfig) -> Self {
        Self(Arc::new(config))
    }
}

impl<S> Transform<S, ServiceRequest> for Edge
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type InitError = ();
    type Transform = EdgeService<S>;
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(EdgeService {
            service,
            config: Arc::clone(&self.0),
        }))
    }
}

/// The middleware in front of one application.
#[derive(Debug)]
pub struct EdgeService<S> {
    service: S,
    config: Arc<EdgeConfig>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = EdgeFuture<S::Future>;

    actix_web::dev::forward_ready!(service);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let mut exchange = Exchange::begin(&self.config, request.head());
        let state = match self.config.admit(request.head()) {
            Ok(Admission::Pass(grant)) => {
                exchange.grant = grant;
                request.extensions_mut().insert(exchange.id.clone());
                let _entered = exchange.span.enter();
                match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
                    Ok(future) => State::Inner { future },
                    Err(panic) => State::Done {
                        outcome: Some(Err(exchange.panicked(&*panic))),
                    },
                }
            }
            Ok(Admission::Preflight(grant)) => {
                exchange.grant = Some(grant);
                State::Done {
                    outcome: Some(Ok(request.into_response(preflight()))),
                }
            }
            Err(problem) => {
                let answer = problem.respond(Some(&exchange.id));
                State::Done {
                    outcome: Some(Ok(request.into_response(answer))),
                }
            }
        };
        EdgeFuture { state, exchange }
    }
}

pin_project! {
    /// One request on its way through the edge.
    pub struct EdgeFuture<F> {
        #[pin]
        state: State<F>,
        exchange: Exchange,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Inner { #[pin] future: F },
        Done { outcome: Option<Result<ServiceResponse, Error>> },
    }
}

impl<F> Future for EdgeFuture<F>
where
    F: Future<Output = Result<ServiceResponse, Error>>,
{
    type Output = Result<ServiceResponse, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = match this.state.project() {
            StateProjection::Inner { future } => {
                let _entered = this.exchange.span.enter();
                match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(outcome)) => outcome,
                    Err(panic) => Err(this.exchange.panicked(&*panic)),
                }
            }
            StateProjection::Done { outcome } => outcome
                .take()
                .unwrap_or_else(|| Err(Problem::internal().into())),
        };
        Poll::Ready(this.exchange.finish(outcome))
    }
}

/// What the edge knows of one request until it is answered.
struct Exchange {
    config: Arc<EdgeConfig>,
    id: RequestId,
    span: Span,
    started: Instant,
    grant: Option<HeaderValue>,
    _in_flight: InFlight,
}

/// Counts down however the request ends, a vanished client included.
struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

enum Admission {
    Pass(Option<HeaderValue>),
    Preflight(HeaderValue),
}

impl EdgeConfig {
    /// Host, origin, token: in this order, as each tells a stranger less than the next.
    fn admit(&self, head: &RequestHead) -> Result<Admission, Problem> {
        self.hosts.check(head).map_err(|refusal| match refusal {
            HostRefusal::Malformed => Problem::bad_request(refusal.to_string()).closing(),
            HostRefusal::Foreign => Problem::misdirected(refusal.to_string()).closing(),
        })?;
        let grant = match self.origins.judge(&RequestSource::of(head)) {
            OriginVerdict::Own => None,
            OriginVerdict::Granted(origin) => Some(origin),
            OriginVerdict::Refused => return Err(foreign_origin()),
        };
        if let Some(origin) = &grant
            && head.method == Method::OPTIONS
            && head
                .headers()
                .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        {
            return Ok(Admission::Preflight(origin.clone()));
        }
        if let Some(token) = &self.token
            && !self.public.contains(head.uri.path())
        {
            let given = head.headers().get(header::AUTHORIZATION);
            if !given.is_some_and(|value| token.matches(value.as_bytes())) {
                return Err(Problem::unauthorized(
                    "this server wants Authorization: Bearer <token>",
                ));
            }
        }
        Ok(Admission::Pass(grant))
    }
}

fn foreign_origin() -> Problem {
    Problem::forbidden("requests from pages of other origins are not allowed here")
        .kind("foreign-origin", "Foreign origin")
}

/// The answer to the preflight of a configured origin (the grant itself is added at the end).
fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "GET, HEAD, POST, PUT, DELETE",
        ))
        .insert_header((
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, if-match, if-none-match, x-request-id",
        ))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, "600"))
        .finish()
}

impl Exchange {
    fn begin(config: &Arc<EdgeConfig>, head: &RequestHead) -> Self {
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
            _in_flight: InFlight(in_flight),
        }
    }

    /// The error of a handler that panicked. The request is gone with it, so this is an error value
    /// that renders the whole answer.
    fn panicked(&self, panic: &(dyn Any + Send)) -> Error {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.config.metrics.panics().inc();
        tracing::error!(
            event = "http.panic",
            panic = %Escaped(text.unwrap_or("(no text)")),
            "a handler panicked"
        );
        Problem::internal().closing().into()
    }

    fn finish(&self, outcome: Result<ServiceResponse, Error>) -> Result<ServiceResponse, Error> {
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
                Err(Answered(std::cell::RefCell::new(Some(response))).into())
            }
        }
    }

    fn complete(&self, answer: ServiceResponse) -> ServiceResponse {
        let mut answer = self.as_problem(answer);
        self.stamp(answer.headers_mut());
        end_unread(&mut answer);
        let status = answer.status();
        let request = answer.request();
        let metrics = request.app_data::<RouteMetrics>();
        let metrics = metrics.unwrap_or(self.config.metrics.unmatched());
        metrics.observe(status, self.started.elapsed());
        self.log(request, status);
        answer
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
                path = %Target { path: request.path(), query: request.uri().query() },
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
            path = request.map(|request| tracing::field::display(Target { path: request.path(), query: request.uri().query() })),
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
        .conn_data::<Connection>()
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
struct Answered(std::cell::RefCell<Option<HttpResponse>>);

impl std::fmt::Display for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request was answered with an error")
    }
}

impl ResponseError for Answered {
    fn error_response(&self) -> HttpResponse {
        self.0
            .take()
            .unwrap_or_else(|| Problem::internal().respond(None))
    }
}
