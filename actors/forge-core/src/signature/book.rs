//! Secrets of their own for single repositories.
//!
//! The body names the repository, but must not be read before its signature holds. So a body is
//! checked against every secret, the scope of the secret that fits is remembered, and the
//! repository the parsed body names has to lie within it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::header::SignatureError;
use super::secrets::{VerifiedBy, WebhookSecrets};
use crate::form::json_of;
use crate::{BodyDigest, Delivery, DeliveryError, ParseOptions, RepoName, WebhookHeaders};

/// All secrets of a receiver: one shared by most repositories, and those of repositories that have
/// their own. It cannot be empty.
///
/// A repository with a secret of its own accepts that one only; the shared secret does not open it.
/// A wrong signature costs one HMAC of the body for each secret in the book.
#[derive(Debug, Clone)]
pub struct SecretBook {
    shared: Option<WebhookSecrets>,
    own: BTreeMap<RepoName, WebhookSecrets>,
}

impl SecretBook {
    /// One secret for every repository.
    pub fn shared(secrets: WebhookSecrets) -> Self {
        Self {
            shared: Some(secrets),
            own: BTreeMap::new(),
        }
    }

    /// A secret for one repository; no other repository is accepted.
    pub fn for_repository(repository: RepoName, secrets: WebhookSecrets) -> Self {
        Self {
            shared: None,
            own: BTreeMap::from([(repository, secrets)]),
        }
    }

    /// Adds or replaces one repository's own secret.
    #[must_use]
    pub fn with_repository(mut self, repository: RepoName, secrets: WebhookSecrets) -> Self {
        self.own.insert(repository, secrets);
        self
    }

    /// What tells these secrets from others without telling them. Weak ones could be guessed by
    /// it: it is not to be shown either.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let shared = self.shared.iter().map(WebhookSecrets::name);
        let own = self.own.iter();
        let own = own.map(|(repository, secrets)| format!("{repository} {}", secrets.name()));
        shared.chain(own).collect::<Vec<_>>().join("\n")
    }

    /// Checks a request's signature over its raw body. Every error means 403.
    pub fn verify<'a>(
        &'a self,
        headers: &WebhookHeaders,
        raw_body: &'a [u8],
    ) -> Result<VerifiedBody<'a>, SignatureError> {
        let (header, digest) = headers.signatures().digest()?;
        let signer = |secrets| Some((secrets, WebhookSecrets::signer(secrets, raw_body, &digest)?));
        let shared = self.shared.as_ref().and_then(signer);
        let fits = |(name, secrets)| Some((name, signer(secrets)?));
        let own: Vec<_> = self.own.iter().filter_map(fits).collect();
        let (secrets, secret) = shared
            .or(own.first().map(|(_, signed)| *signed))
            .ok_or(SignatureError::Mismatch)?;
        Ok(VerifiedBody {
            book: self,
            json: json_of(raw_body),
            by: VerifiedBy { header, secret },
            digest: secrets.digest_of(raw_body, secret, &digest),
            shared: shared.is_some(),
            repositories: own.into_iter().map(|(name, _)| name).collect(),
        })
    }
}

/// A raw body whose signature holds, and what that signature may speak for. Only
/// [`SecretBook::verify`] makes one.
#[derive(Debug)]
pub struct VerifiedBody<'a> {
    book: &'a SecretBook,
    json: Cow<'a, [u8]>,
    by: VerifiedBy,
    digest: BodyDigest,
    shared: bool,
    repositories: Vec<&'a RepoName>,
}

impl VerifiedBody<'_> {
    /// What the signature was made with.
    pub fn verified_by(&self) -> VerifiedBy {
        self.by
    }

    /// The JSON: the body as it came, or that of its form field `payload`.
    pub fn json(&self) -> &Cow<'_, [u8]> {
        &self.json
    }

    /// Whether the secret that signed this body may speak for `repository`.
    pub fn permits(&self, repository: &RepoName) -> bool {
        if self.book.own.contains_key(repository) {
            return self.repositories.contains(&repository);
        }
        self.shared
    }

    /// Reads the delivery, and refuses one that names a repository outside the secret's scope.
    pub fn delivery(
        &self,
        headers: &WebhookHeaders,
        options: ParseOptions,
    ) -> Result<Delivery, DeliveryError> {
        let delivery = Delivery::parse(headers, &self.json, self.digest, options)?;
        match delivery.event.repository() {
            Some(name) if !self.permits(name) => Err(DeliveryError::OtherRepository {
                repository: name.clone(),
            }),
            _ => Ok(delivery),
        }
    }
}
