//! Signed webhook bodies: the signature is checked over the raw bytes, before anything is parsed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;

use crate::body::{BodyLimits, read_body};
use crate::json::require_json;
use crate::log_gate::LogGate;
use crate::metrics::Metrics;
use crate::problem::Problem;

/// Checks the signature of a raw body; a closure will do.
pub trait VerifyBody: Send + Sync + 'static {
    /// Whether `headers` carry a valid signature of `body`. The comparison must take constant time.
    ///
    /// # Errors
    /// The reason, for the log and never for the client. It must not quote the signature.
    fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), &'static str>;
}

impl<F> VerifyBody for F
where
    F: Fn(&HeaderMap, &[u8]) -> Result<(), &'static str> + Send + Sync + 'static,
{
    fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), &'static str> {
        self(headers, body)
    }
}

/// What [`SignedBody`] needs; put into the application's data. Clones share it.
#[derive(Clone)]
pub struct SignedBodyConfig {
    verifier: Arc<dyn VerifyBody>,
    limits: BodyLimits,
    gate: Arc<LogGate>,
    metrics: Metrics,
}

impl SignedBodyConfig {
    /// Bodies within `limits` whose signature `verifier` confirms; refusals are counted in `metrics`.
    pub fn new(verifier: impl VerifyBody, limits: BodyLimits, metrics: &Metrics) -> Self {
        Self {
            verifier: Arc::new(verifier),
            limits,
            gate: Arc::new(LogGate::default()),
            metrics: metrics.clone(),
        }
    }

    /// Counts and (once a second per source) logs a refusal.
    fn refuse(&self, request: &HttpRequest, reason: &'static str) -> Problem {
        self.metrics.bad_signatures().inc();
        let source = request.peer_addr().map(|peer| peer.ip());
        if let Some(suppressed) = self.gate.admit(source, Instant::now()) {
            tracing::warn!(
                event = "http.bad_signature",
                source = source.map(tracing::field::display),
                reason,
                suppressed,
                "a signed body was refused"
            );
        }
        // One answer for all causes: nothing to probe with.
        Problem::forbidden("the signature of the body does not hold")
            .kind("invalid-signature", "Invalid signature")
    }
}

impl std::fmt::Debug for SignedBodyConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedBodyConfig")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A JSON body with a valid signature, as the bytes that were signed; not parsed yet.
///
/// Refused in this order: a content coding (415), a content type other than JSON (415), a declared
/// length over the limit (413), more bytes than the limit (413), the deadline (408), a signature
/// that does not hold (403).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBody(pub Bytes);

impl FromRequest for SignedBody {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let Some(config) = request.app_data::<SignedBodyConfig>() else {
                tracing::error!(
                    event = "http.failed",
                    "no SignedBodyConfig in the application's data"
                );
                return Err(Problem::internal());
            };
            require_json(request.headers())?;
            let body = read_body(&request, payload, config.limits).await?;
            match config.verifier.verify(request.headers(), &body) {
                Ok(()) => Ok(Self(body)),
                Err(reason) => Err(config.refuse(&request, reason)),
            }
        })
    }
}
