//! Webhooks of a forge: forge-core's signatures and events behind the [`SignedBody`] extractor.
//!
//! [`SignedBody`]: crate::SignedBody

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use forge_core::{
    Delivery, DeliveryError, EventError, ParseOptions, SecretAge, SecretBook, VerifiedBy,
    WebhookHeaders,
};

use crate::log_gate::LogGate;
use crate::problem::Problem;
use crate::signed::VerifyBody;

/// Verifies bodies by the secrets of a [`SecretBook`].
#[derive(Clone)]
pub struct ForgeVerifier {
    secrets: Source,
    options: ParseOptions,
    gate: Arc<LogGate>,
}

/// Gives the secrets in force.
type Source = Arc<dyn Fn() -> Arc<SecretBook> + Send + Sync>;

/// A webhook whose signature holds.
#[derive(Debug)]
pub struct Webhook {
    /// The JSON that was signed: the body, or that of its form field `payload`.
    pub body: Bytes,
    /// The headers that matter; not covered by the signature.
    pub headers: WebhookHeaders,
    /// Which header and which of the secrets it was.
    pub verified_by: VerifiedBy,
    /// The event in it, or why there is none to be read.
    pub delivery: Result<Delivery, EventError>,
}

impl ForgeVerifier {
    /// A verifier with these secrets; events are read by `options`.
    pub fn new(secrets: SecretBook, options: ParseOptions) -> Self {
        let secrets = Arc::new(secrets);
        Self::following(move || Arc::clone(&secrets), options)
    }

    /// A verifier that asks `secrets` for each body, so that a changed configuration takes effect
    /// with the next one.
    pub fn following(
        secrets: impl Fn() -> Arc<SecretBook> + Send + Sync + 'static,
        options: ParseOptions,
    ) -> Self {
        Self {
            secrets: Arc::new(secrets),
            options,
            gate: Arc::default(),
        }
    }

    /// A sender that still signs with the secret that is being replaced: told once a second.
    fn log_old_secret(&self, by: VerifiedBy) {
        if by.secret == SecretAge::Current {
            return;
        }
        if let Some(suppressed) = self.gate.admit(None, Instant::now()) {
            tracing::info!(
                event = "http.previous_secret",
                suppressed,
                "a webhook was signed with the secret that is being replaced"
            );
        }
    }
}

impl fmt::Debug for ForgeVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgeVerifier").finish_non_exhaustive()
    }
}

impl VerifyBody for ForgeVerifier {
    type Verified = Webhook;

    /// A body that names a repository which the secret may not speak for is refused like a bad
    /// signature.
    fn verify(&self, headers: &HeaderMap, body: Bytes) -> Result<Webhook, Cow<'static, str>> {
        let all = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        let headers = WebhookHeaders::collect(all);
        let text = |error: &dyn std::error::Error| Cow::Owned(error.to_string());
        let secrets = (self.secrets)();
        let verified = secrets
            .verify(&headers, &body)
            .map_err(|error| text(&error))?;
        let verified_by = verified.verified_by();
        let delivery = match verified.delivery(&headers, self.options) {
            Ok(delivery) => Ok(delivery),
            Err(DeliveryError::Event(error)) => Err(error),
            Err(error @ DeliveryError::OtherRepository { .. }) => return Err(text(&error)),
        };
        let json = match verified.json() {
            Cow::Borrowed(_) => None,
            Cow::Owned(json) => Some(Bytes::copy_from_slice(json)),
        };
        self.log_old_secret(verified_by);
        Ok(Webhook {
            body: json.unwrap_or(body),
            headers,
            verified_by,
            delivery,
        })
    }
}

impl Webhook {
    /// The event.
    ///
    /// # Errors
    /// A 400 problem that says what cannot be read.
    pub fn into_delivery(self) -> Result<Delivery, Problem> {
        self.delivery.map_err(|error| {
            Problem::bad_request(error.to_string()).kind("unreadable-event", "Unreadable event")
        })
    }
}
