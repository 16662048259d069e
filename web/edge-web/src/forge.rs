//! Webhooks of a forge: forge-core's signatures and events behind the [`SignedBody`] extractor.
//!
//! [`SignedBody`]: crate::SignedBody

use std::borrow::Cow;

use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use forge_core::{
    Delivery, DeliveryError, EventError, ParseOptions, SecretBook, VerifiedBy, WebhookHeaders,
};

use crate::problem::Problem;
use crate::signed::VerifyBody;

/// Verifies bodies by the secrets of a [`SecretBook`].
#[derive(Debug, Clone)]
pub struct ForgeVerifier {
    secrets: SecretBook,
    options: ParseOptions,
}

/// A webhook whose signature holds.
#[derive(Debug)]
pub struct Webhook {
    /// The bytes that were signed.
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
        Self { secrets, options }
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
        let verified = self
            .secrets
            .verify(&headers, &body)
            .map_err(|error| text(&error))?;
        let verified_by = verified.verified_by();
        let delivery = match verified.delivery(&headers, self.options) {
            Ok(delivery) => Ok(delivery),
            Err(DeliveryError::Event(error)) => Err(error),
            Err(error @ DeliveryError::OtherRepository { .. }) => return Err(text(&error)),
        };
        Ok(Webhook {
            body,
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
