//! Keys that Gitea Actions and Forgejo Actions have beside GitHub's, and those that they take where
//! GitHub does not.

use super::dialect::Dialect;
use super::fields::MappingFields;
use super::permissions::{PermissionLevel, Permissions};
use super::reader::WorkflowReader;

impl WorkflowReader<'_> {
    /// The keys of a mapping, with those that only Gitea and Forgejo know.
    pub(super) fn with_own<'k>(&self, known: &[&'k str], own: &[&'k str]) -> Vec<&'k str> {
        match self.dialect {
            Dialect::GitHub => known.to_vec(),
            Dialect::Forge | Dialect::Gitea => [known, own].concat(),
        }
    }
}

/// `enable-email-notifications` is a boolean that changes nothing here.
pub(super) fn check_mails(reader: &WorkflowReader<'_>, fields: MappingFields<'_>) {
    let key = "enable-email-notifications";
    let Some(entry) = fields.entry(key).filter(|_| reader.dialect.is_forge()) else {
        return;
    };
    reader.at_key(key, || reader.boolean(&entry.value, key));
    let help = "who is told of a run is for the forge: it sends mails of the statuses it gets";
    reader.warn(entry.key_place, "this runner sends no mails", help);
}

/// `enable-openid-connect: true` is Forgejo's way to say `permissions: {id-token: write}`.
pub(super) fn with_id_token(
    reader: &WorkflowReader<'_>,
    fields: MappingFields<'_>,
    permissions: Option<Permissions>,
) -> Option<Permissions> {
    let key = "enable-openid-connect";
    if !reader.dialect.is_forge() {
        return permissions;
    }
    let asks = fields.read(reader, key, |node| reader.boolean(node, key));
    if asks != Some(true) {
        return permissions;
    }
    let mut permissions = permissions.unwrap_or_else(|| Permissions {
        over_defaults: true,
        ..Permissions::default()
    });
    let given = ("id-token".to_owned(), PermissionLevel::Write);
    permissions.scopes.retain(|(name, _)| *name != given.0);
    permissions.scopes.push(given);
    Some(permissions)
}

/// Whether a job that calls a workflow may have the key: without a meaning then.
pub(super) fn is_idle_beside_uses(reader: &WorkflowReader<'_>, key: &str) -> bool {
    reader.dialect.is_forge() && ["runs-on", "container"].contains(&key)
}
