//! The one middleware of an edge. Everything that every request needs happens here in one layer:
//! no boxed futures, and at `info` no formatting for an answer below 400.
//!
//! ```text
//! request ─▶ Exchange::begin ─▶ EdgeConfig::admit ─▶ handler ─▶ Exchange::finish ─▶ answer
//!            id, span, clock    host, origin, token   panics    problem, headers, metrics, log
//! ```

mod config;
mod exchange;
mod stream;

use std::future::{Future, Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::body::BoxBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::{Error, HttpMessage as _};
use pin_project_lite::pin_project;

use crate::problem::Problem;
use crate::strict::HttpConnection;

pub use config::{EdgeConfig, GuardedPath, REPLICA_KEY};
use config::{RequestAdmission, preflight};
use exchange::Exchange;

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
        let mut exchange = Exchange::start(&self.config, request.head());
        let connection = request.conn_data::<HttpConnection>().cloned();
        let admission =
            if connection.as_ref().is_some_and(HttpConnection::is_aside) && !is_health(&request) {
                Err(full_house())
            } else {
                self.config.admit(request.head())
            };
        let known = matches!(admission, Ok(RequestAdmission::Pass(_)))
            && self.config.wants_token(request.path());
        exchange.answering = connection.map(|connection| connection.start_request(known));
        let state = match admission {
            Ok(RequestAdmission::Pass(pass)) => {
                exchange.grant = pass.grant;
                exchange.credential = pass.credential;
                request.extensions_mut().insert(exchange.id.clone());
                let _entered = exchange.span.enter();
                match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
                    Ok(future) => State::Inner { future },
                    Err(panic) => State::Done {
                        outcome: Some(Err(exchange.panicked(&*panic))),
                    },
                }
            }
            Ok(RequestAdmission::Preflight(grant)) => {
                exchange.grant = Some(grant);
                State::Done {
                    outcome: Some(Ok(request.into_response(preflight()))),
                }
            }
            Ok(RequestAdmission::SignIn(form)) => State::Done {
                outcome: Some(Ok(request.into_response(form))),
            },
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

/// What is answered in a full house too.
fn is_health(request: &ServiceRequest) -> bool {
    ["/livez", "/readyz", "/health", "/healthz", "/metrics"].contains(&request.path())
}

fn full_house() -> Problem {
    Problem::unavailable("this server has as many connections as it takes", 1).closing()
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
