//! `permissions`.

use super::reader::Reader;
use super::types::Refusal;
use crate::source_location::SourceLocation;
use crate::yaml::{Node, NodeData};

/// Scopes that have only one level beside `none` (page "Workflow syntax", `permissions`).
const ONE_LEVEL: [(&str, &str); 4] = [
    ("id-token", "write"),
    ("copilot-requests", "write"),
    ("models", "read"),
    ("vulnerability-alerts", "read"),
];

/// `permissions`: no token ever enters the machine, so less is given than asked for; only what a
/// job cannot do without is refused.
pub(super) fn permissions(
    reader: &Reader<'_>,
    file: &str,
    node: &Node,
    refusals: &mut Vec<Refusal>,
) {
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
    if let NodeData::Scalar { text, .. } = &node.data {
        if !node.is_null() && !["read-all", "write-all"].contains(&text.as_str()) {
            reader.error_help(
                node.place,
                "unknown permissions",
                "read-all, write-all or a mapping",
            );
        }
        return;
    }
    let Some(fields) = reader.fields(node, "permissions", &SCOPES) else {
        return;
    };
    for scope in SCOPES {
        let Some(entry) = fields.entry(scope) else {
            continue;
        };
        let Some(level) = reader.plain(&entry.value, scope) else {
            continue;
        };
        check_level(reader, scope, &level, entry.value.place);
        if scope == "id-token" && level == "write" {
            let reason = "there is no OpenID Connect provider that would sign the token";
            refusals.push(Refusal::new(
                "id-token: write",
                reason,
                file,
                entry.key_place,
            ));
        }
    }
}

fn check_level(reader: &Reader<'_>, scope: &str, level: &str, place: SourceLocation) {
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
