//! Secrets of one start: made here, told to the platform by its environment, kept in no file and no
//! argument.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use scripted_peers::Reply;

use super::http;

/// What the platform and the sample's forge tell each other apart from strangers by.
#[derive(Clone)]
pub(super) struct DemoSecrets {
    /// What webhooks are signed with.
    pub(super) webhook: String,
    /// The platform's token at the forge.
    pub(super) forge: String,
    /// The operators' token.
    pub(super) admin: String,
}

impl DemoSecrets {
    /// New ones.
    pub(super) fn new() -> Self {
        Self {
            webhook: random(),
            forge: random(),
            admin: random(),
        }
    }

    /// The variables that tell the platform.
    pub(super) fn variables(&self) -> [(&'static str, &str); 5] {
        [
            ("FORGE_WEBHOOK_SECRET", &self.webhook),
            ("FORGE_TOKEN", &self.forge),
            ("ORCH_WEBHOOK_SECRET", &self.webhook),
            ("ORCH_FORGE_TOKEN", &self.forge),
            ("ORCH_ADMIN_TOKEN", &self.admin),
        ]
    }

    /// Sends a signed webhook, as a forge would, with the number of its delivery where it has one.
    ///
    /// # Errors
    /// When nothing answers.
    pub(super) fn post(
        &self,
        to: SocketAddr,
        event: &str,
        delivery: Option<&str>,
        body: &str,
    ) -> Result<Reply> {
        let signature = self.sign(body)?;
        let mut headers = vec![
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
            ("X-Hub-Signature-256", signature.as_str()),
            ("X-GitHub-Event", event),
        ];
        headers.extend(delivery.map(|id| ("X-GitHub-Delivery", id)));
        http::send(to, "POST /webhook", &headers, body)
    }

    /// The signature of a webhook.
    ///
    /// # Errors
    /// Never: the secret is not empty.
    pub(super) fn sign(&self, body: &str) -> Result<String> {
        Ok(forge_core::sign(&self.webhook, body.as_bytes())
            .context("the secret is empty")?
            .hub())
    }
}

/// 122 random bits in 32 hexadecimal digits.
pub(super) fn random() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_new_each_time_and_sign() {
        let (one, two) = (DemoSecrets::new(), DemoSecrets::new());
        assert_ne!(one.webhook, two.webhook);
        assert_ne!(one.webhook, one.admin);
        assert_eq!(one.forge.len(), 32);
        let signature = one.sign("{}").expect("a signature");
        assert!(signature.starts_with("sha256="), "{signature}");
        assert_ne!(signature, two.sign("{}").expect("a signature"));
    }
}
