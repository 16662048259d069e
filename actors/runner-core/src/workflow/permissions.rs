//! `permissions`.

use serde::Serialize;

use super::reader::WorkflowReader;
use crate::source_location::SourceLocation;
use crate::yaml::{NodeData, YamlNode};

/// Scopes that have only one level beside `none` (page "Workflow syntax", `permissions`).
const ONE_LEVEL: [(&str, &str); 4] = [
    ("id-token", "write"),
    ("copilot-requests", "write"),
    ("models", "read"),
    ("vulnerability-alerts", "read"),
];

/// All scopes.
const SCOPES: [&str; 20] = [
    "actions",
    "artifact-metadata",
    "attestations",
    "checks",
    "contents",
    "deployments",
    "discussions",
    "id-token",
    "issues",
    "models",
    "packages",
    "pages",
    "pull-requests",
    "repository-projects",
    "security-events",
    "statuses",
    "vulnerability-alerts",
    "code-quality",
    "copilot-requests",
    "drives",
];

/// What a workflow or job may do; what is not named is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Permissions {
    /// `read-all`, `write-all`: every scope.
    pub all: Option<PermissionLevel>,
    /// Scopes and their levels.
    pub scopes: Vec<(String, PermissionLevel)>,
    /// They stand beside what a job has whose file says nothing.
    #[serde(skip)]
    pub over_defaults: bool,
    /// Nobody has named them: they are what a job has whose file says nothing.
    #[serde(skip)]
    pub is_default: bool,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionLevel {
    /// Nothing.
    None,
    /// To look.
    Read,
    /// To change.
    Write,
}

impl PermissionLevel {
    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl Permissions {
    /// What a job has whose file says nothing: GitHub's restricted default.
    #[must_use]
    pub fn restricted() -> Self {
        let scopes = ["contents", "packages"];
        Self {
            all: None,
            scopes: scopes
                .map(|scope| (scope.to_owned(), PermissionLevel::Read))
                .to_vec(),
            is_default: true,
            ..Self::default()
        }
    }

    /// What a job has whose file says nothing, where the operator lets tokens write: everything but
    /// identity tokens, which a file asks for by name.
    #[must_use]
    pub fn permissive() -> Self {
        Self {
            all: Some(PermissionLevel::Write),
            scopes: vec![("id-token".to_owned(), PermissionLevel::None)],
            is_default: true,
            ..Self::default()
        }
    }

    /// What a file names, over `defaults` where it names nothing or stands beside them.
    #[must_use]
    pub fn or_defaults(named: Option<Self>, defaults: &Self) -> Self {
        match named {
            Some(named) if named.over_defaults => {
                let mut over = defaults.clone();
                over.scopes
                    .retain(|(name, _)| named.scopes.iter().all(|(own, _)| own != name));
                over.scopes.extend(named.scopes);
                over
            }
            Some(named) => named,
            None => defaults.clone(),
        }
    }

    /// The same with no scope above what `most` has.
    #[must_use]
    pub fn intersect(&self, most: &Self) -> Self {
        self.map_levels(|scope, level| level.min(most.level(scope)))
    }

    /// The same without anything that changes something.
    #[must_use]
    pub fn read_only(&self) -> Self {
        self.map_levels(|_, level| level.min(PermissionLevel::Read))
    }

    /// The scopes in which this is more than `most` has, with its levels and with those:
    /// `contents: write`, `contents: read`. Both are empty where there is none.
    #[must_use]
    pub fn beyond(&self, most: &Self) -> (String, String) {
        let more: Vec<&str> = SCOPES
            .into_iter()
            .filter(|scope| self.level(scope) > most.level(scope))
            .collect();
        let written = |of: &Self| {
            let levels = more
                .iter()
                .map(|scope| format!("{scope}: {}", of.level(scope).name()));
            levels.collect::<Vec<String>>().join(", ")
        };
        (written(self), written(most))
    }

    fn map_levels(&self, change: impl Fn(&str, PermissionLevel) -> PermissionLevel) -> Self {
        let scopes = SCOPES.map(|scope| (scope.to_owned(), change(scope, self.level(scope))));
        Self {
            all: None,
            scopes: scopes.to_vec(),
            ..Self::default()
        }
    }

    fn level(&self, scope: &str) -> PermissionLevel {
        let named = self.scopes.iter().find(|(name, _)| name == scope);
        let given = named.map(|(_, level)| *level).or(self.all);
        given.unwrap_or(PermissionLevel::None)
    }

    /// Whether a scope is allowed as much as this.
    #[must_use]
    pub fn allows(&self, scope: &str, level: PermissionLevel) -> bool {
        self.level(scope) >= level
    }
}

/// Reads `permissions`.
pub(super) fn permissions(reader: &WorkflowReader<'_>, node: &YamlNode) -> Permissions {
    let mut permissions = Permissions::default();
    if let NodeData::Scalar { text, .. } = &node.data {
        if node.is_null() {
            reader.error_help(
                node.place,
                "permissions is empty",
                "`{}` takes all away; else read-all, write-all or a mapping",
            );
        } else if !["read-all", "write-all"].contains(&text.as_str()) {
            reader.error_help(
                node.place,
                "unknown permissions",
                "read-all, write-all or a mapping",
            );
        }
        permissions.all = match text.as_str() {
            "write-all" => Some(PermissionLevel::Write),
            "read-all" => Some(PermissionLevel::Read),
            _ => None,
        };
        return permissions;
    }
    let Some(fields) = reader.fields(node, "permissions", &SCOPES) else {
        return permissions;
    };
    for scope in SCOPES {
        let Some(entry) = fields.entry(scope) else {
            continue;
        };
        let Some(level) = reader.plain(&entry.value, scope) else {
            continue;
        };
        check_level(reader, scope, &level, entry.value.place);
        let level = match level.as_str() {
            "write" => PermissionLevel::Write,
            "read" => PermissionLevel::Read,
            _ => PermissionLevel::None,
        };
        permissions.scopes.push((scope.to_owned(), level));
    }
    permissions
}

fn check_level(reader: &WorkflowReader<'_>, scope: &str, level: &str, place: SourceLocation) {
    if !["read", "write", "none"].contains(&level) {
        reader.error_help(place, "unknown permission", "read, write or none");
        return;
    }
    let only = ONE_LEVEL.iter().find(|(name, _)| *name == scope);
    if let Some((_, only)) = only.filter(|(_, only)| level != *only && level != "none") {
        let message = format!("{scope} has no level `{level}`");
        reader.warn(place, message, format!("{only} or none"));
    }
}
