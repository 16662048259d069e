//! What webhooks are signed with: one secret for all repositories, and those of projects that have
//! their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use config_core::{ConfigItem, ObjectFields, PlainKind, SECRET, Secret, ValueError};
use forge_core::{EmptySecret, ProjectId, SecretBook, WebhookSecrets};

use super::model::{Project, ProjectSecrets, WebhookConfig};

/// A secret that webhooks are signed with.
pub(super) fn webhook_secret(item: &ConfigItem<'_>) -> Option<Secret<String>> {
    const MIN: usize = 16;
    let secret = item.secret()?;
    if secret.expose().trim().len() < MIN {
        let error = ValueError::new(format!("the secret has fewer than {MIN} characters"));
        item.error(error.help("make one with `openssl rand -hex 32`"));
        return None;
    }
    Some(secret)
}

/// The same as a kind.
pub(super) const WEBHOOK_SECRET: PlainKind<Secret<String>> = PlainKind {
    read: webhook_secret,
    ..SECRET
};

/// The secrets of a project's own webhook.
pub(super) fn project_secrets(fields: &ObjectFields<'_>) -> Option<ProjectSecrets> {
    let secret = fields.optional("webhook_secret", webhook_secret);
    let previous = fields.optional("previous_webhook_secret", webhook_secret);
    if fields.contains("previous_webhook_secret") && fields.is_absent("webhook_secret") {
        let message = "`previous_webhook_secret` has no effect without `webhook_secret`";
        fields.error_at("previous_webhook_secret", message);
    }
    Some(ProjectSecrets {
        secret: secret?,
        previous,
    })
}

/// What webhooks are verified with.
pub(super) fn book(
    webhook: &WebhookConfig,
    projects: &BTreeMap<ProjectId, Project>,
) -> Result<Arc<SecretBook>, EmptySecret> {
    let secrets = |current: &Secret<String>, previous: Option<&Secret<String>>| {
        let secrets = WebhookSecrets::new(current.expose())?;
        match previous {
            Some(previous) => secrets.with_previous(previous.expose()),
            None => Ok(secrets),
        }
    };
    let shared = secrets(&webhook.secret, webhook.previous_secret.as_ref())?;
    let mut book = SecretBook::shared(shared);
    for project in projects.values() {
        if let Some(own) = &project.webhook {
            let own = secrets(&own.secret, own.previous.as_ref())?;
            book = book.with_repository(project.repository.clone(), own);
        }
    }
    Ok(Arc::new(book))
}
