//! HTTP with bounds: every call has a deadline, every body a limit, every address a policy.
//!
//! ```text
//! Request ──HttpClient::call──▶ Response { status, headers, body }     whole, bounded, decompressed
//!         ──HttpClient::open──▶ StreamingResponse { status, headers, chunks }  as it comes, idle limit
//!                │
//!                ├─ names are resolved by the client, each address passes the AddressPolicy,
//!                │  and the connection goes to exactly that address (no second look-up)
//!                └─ redirects are followed by the client itself, if at all; secrets stay behind
//! ```
//!
//! What is guaranteed:
//! - **Deadlines.** [`HttpClient::call`] ends within [`Request::with_deadline`], whatever the
//!   peer does: look-up, connection, head and body count together. [`HttpClient::open`] keeps it
//!   for the head; after that each chunk has [`HttpOptions::idle`].
//! - **Bounds.** At most [`Request::with_max_body`] bytes of a body are held, counted after
//!   decompression, whatever `Content-Length` said. `gzip` is asked for and undone here.
//! - **Whole bodies.** A body that ends before its `Content-Length`, or before its last chunk, is
//!   [`HttpError::BadBody`], never a shorter body.
//! - **Dropping stops.** A call or stream that is dropped closes its connection.
//! - **Secrets.** Header values given as [`Secret`](config_core::Secret) never print, and never
//!   follow a redirect to another origin. Addresses in errors have no user, password or query.
//! - **Status codes are answers**: a call gives any status; [`Response::ok`] makes errors of those
//!   that are not 2xx.
//!
//! HTTP/1.1 only, over TCP, TLS (rustls, the system's certificates) or a Unix socket.

mod address;
mod client;
mod connect;
mod error;
mod failure;
mod gzip;
mod io;
mod options;
mod request;
mod response;
mod retry;
mod streaming;
mod tls;

pub use address::{AddressPolicy, AllowedAddress, AllowedAddressError};
pub use client::HttpClient;
pub(crate) use connect::ConnectOptions;
pub(crate) use error::redact_url;
pub use error::{CallPhase, HttpError};
pub(crate) use failure::failure;
pub use options::{HttpOptions, Redirects};
pub use request::{Method, Request};
pub use response::{Headers, Response};
pub use retry::{Retry, RetryDecision, RetryPolicy, jitter, retry_after};
pub use streaming::StreamingResponse;
pub use tls::{Tls, TlsError, TrustedRoots};
