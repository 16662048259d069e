//! What every HTTP edge of the platform shares: errors, request ids, limits, signed bodies, guards,
//! health, metrics.
//!
//! ```text
//!  TCP ─▶ strict::StrictStream ─▶ actix-http ─▶ Edge (one middleware) ─▶ Routes ─▶ handler
//!         bare LF, read bound      framing       id, host, origin, token,           │
//!                                                panic, metrics, log, headers       ▼
//!                                                                            Problem or answer
//! ```
//!
//! An [`EdgeServer`] is put together from [`Routes`], one [`Edge`] around the application and
//! [`serve`]; a handler takes [`ApiJson`] or [`SignedBody`] and fails with [`Problem`].

mod admin;
mod application;
mod assets;
mod body;
mod coding;
mod connections;
mod edge;
mod escape;
pub mod figures;
mod forge;
mod forge_schema;
pub mod guard;
mod headers;
mod health;
mod json;
mod limit;
mod log_gate;
pub mod logging;
mod metrics;
mod openapi;
mod prepared;
mod problem;
mod process_figures;
mod range;
pub mod relay;
pub mod replica;
mod request_id;
mod routes;
mod serve;
mod server;
mod session;
mod sign_in;
mod signed;
mod strict;
mod ui;
mod unanswered;
pub mod visible;
mod vm_hosts;

pub use admin::{actor_events, actor_tree};
pub use application::{APPLICATION_PATHS, ApplicationParts, application_shell};
pub use assets::Asset;
pub use body::{BodyError, BodyLimits, read_body};
pub use edge::{Edge, EdgeConfig, EdgeService, GuardedPath, REPLICA_KEY};
pub use escape::EscapedText;
pub use forge::{ForgeVerifier, Webhook};
pub use forge_schema::WebhookBody;
pub use headers::STRICT_CSP;
pub use health::{CheckReport, HealthChecks, Readiness, livez, metrics_text, readyz};
pub use json::{ApiJson, JsonText};
pub use limit::{ConcurrencyLimit, Permit};
pub use log_gate::LogGate;
pub use metrics::{Metrics, RouteMetrics};
pub use openapi::{ApiCoverage, coverage, share_problem};
pub use prepared::PreparedServer;
pub use problem::{FieldError, PROBLEM_JSON, Problem, ProblemDocument};
pub use range::{ByteRange, byte_range};
pub use request_id::RequestId;
pub use routes::Routes;
pub use serve::{
    BindError, ServeOptions, bind, open_files, serve, serve_opened, shutdown_signal, stop_accepting,
};
pub use server::EdgeServer;
pub use sign_in::{SIGN_IN_STYLE, SignIn, SignInAttempts, SignInSessions};
pub use signed::{SignedBody, SignedBodyConfig, VerifyBody};
pub use strict::EdgeStream;
pub use unanswered::ask_problem;
pub use vm_hosts::{CordonQuery, host_named, host_stored};
