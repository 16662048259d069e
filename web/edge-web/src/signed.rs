//! Signed webhook bodies: the signature is checked over the raw bytes, before anything is parsed.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;

use crate::body::{BodyLimits, read_body};
use crate::log_gate::LogGate;
use crate::metrics::Metrics;
use crate::problem::Problem;

/// Checks the signature of a raw body.
pub trait VerifyBody: Send + Sync + 'static {
    /// What is known of a body whose signature holds.
    type Verified: 'static;

    /// Takes a raw body whose signature, found in `headers`, holds. The comparison must take
    /// constant time, and nothing of the body may be believed before it.
    ///
    /// # Errors
    /// The reason, for the log and never for the client. It must not quote the signature.
    fn verify(&self, headers: &HeaderMap, body: Bytes)
    -> Result<Self::Verified, Cow<'static, str>>;
}

/// What [`SignedBody`] needs; put into the application's data. Clones share it.
pub struct SignedBodyConfig<V>(Arc<Verification<V>>);

/// How bodies are verified, limited and counted.
struct Verification<V> {
    verifier: V,
    limits: BodyLimits,
    gate: LogGate,
    metrics: Metrics,
}

impl<V: VerifyBody> SignedBodyConfig<V> {
    /// Bodies within `limits` whose signature `verifier` confirms; both outcomes are counted.
    pub fn new(verifier: V, limits: BodyLimits, metrics: &Metrics) -> Self {
        let (gate, metrics) = (LogGate::default(), metrics.clone());
        Self(Arc::new(Verification {
            verifier,
            limits,
            gate,
            metrics,
        }))
    }

    /// Refuses a request as if its signature did not hold: counted, logged once a second per
    /// source, and the same answer whatever the reason, so that there is nothing to probe with.
    pub fn refuse(&self, request: &HttpRequest, reason: &str) -> Problem {
        self.0.metrics.bad_signatures().inc();
        let source = request.peer_addr().map(|peer| peer.ip());
        if let Some(suppressed) = self.0.gate.admit(source, Instant::now()) {
            tracing::warn!(
                event = "http.bad_signature",
                source = source.map(tracing::field::display),
                reason,
                suppressed,
                "a signed body was refused"
            );
        }
        Problem::forbidden("the signature of the body does not hold")
            .kind("invalid-signature", "Invalid signature")
    }

    async fn receive(
        &self,
        request: &HttpRequest,
        payload: Payload,
    ) -> Result<V::Verified, Problem> {
        let body = read_body(request, payload, self.0.limits).await?;
        match self.0.verifier.verify(request.headers(), body) {
            Ok(verified) => {
                self.0.metrics.good_signatures().inc();
                Ok(verified)
            }
            Err(reason) => Err(self.refuse(request, &reason)),
        }
    }
}

impl<V> Clone for SignedBodyConfig<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> fmt::Debug for SignedBodyConfig<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedBodyConfig")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

/// What the verifier `V` made of a body whose signature holds. Its content type decides nothing:
/// forges send JSON and forms, and tools often name another type than they send.
///
/// Refused in this order: a content coding (415), a declared
/// length over the limit (413), more bytes than the limit (413), the deadline (408), a signature
/// that does not hold (403).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBody<V: VerifyBody>(pub V::Verified);

impl<V: VerifyBody> FromRequest for SignedBody<V> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let Some(config) = request.app_data::<SignedBodyConfig<V>>() else {
                tracing::error!(
                    event = "http.failed",
                    "no SignedBodyConfig in the application's data"
                );
                return Err(Problem::internal());
            };
            config.receive(&request, payload).await.map(Self)
        })
    }
}
