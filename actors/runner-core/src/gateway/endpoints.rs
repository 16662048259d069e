//! Which permission an endpoint of a repository needs (GitHub's page "Permissions required for
//! GitHub Apps", and the same endpoints of Gitea and Forgejo). What is not here is not to be had.

use super::path::decoded;
use crate::workflow::PermissionLevel;

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Requirement {
    /// Any of these scopes; none: every job has it.
    pub(super) scopes: &'static [&'static str],
    pub(super) level: PermissionLevel,
    /// Where `pull-requests` does only for what belongs to one.
    pub(super) pull: PullKind,
}

/// How an issue's endpoint names what may be a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PullKind {
    /// It does not.
    None,
    /// By its number.
    Number,
    /// By a comment's id.
    Comment,
}

const LINKS: [&str; 6] = [
    "blocks",
    "dependencies",
    "parent",
    "sub_issue",
    "sub_issues",
    "transfer",
];
const DECISIONS: [&str; 3] = [
    "approve",
    "deployment_protection_rule",
    "pending_deployments",
];
const ISSUES: &[&str] = &["issues", "pull-requests"];

/// What a call of a repository's endpoint needs; `path` is what stands behind `owner/name`.
/// `None`: no job's token has it.
pub(super) fn requirement(method: &str, path: &[&str]) -> Option<Requirement> {
    let reads = matches!(method, "GET" | "HEAD");
    let level = if reads {
        PermissionLevel::Read
    } else {
        PermissionLevel::Write
    };
    let plain = |scopes| {
        Some(Requirement {
            scopes,
            level,
            pull: PullKind::None,
        })
    };
    let only_read = |scopes| if reads { plain(scopes) } else { None };
    let Some(first) = path.first() else {
        return only_read(&[]);
    };
    let second = path.get(1).copied().unwrap_or_default();
    let third = path.get(2).copied().unwrap_or_default();
    match *first {
        // These reach into other repositories.
        "issues" if path.iter().any(|part| LINKS.contains(part)) => None,
        // An older way, of which the issue is not looked at.
        "issues" if third == "comments" && path.len() > 3 => None,
        "issues" => issues(level, second, third),
        "labels" | "milestones" => plain(ISSUES),
        "assignees" => only_read(ISSUES),
        "pulls" if third == "merge" && !reads => plain(&["contents"]),
        "pulls" => plain(&["pull-requests"]),
        "contents" | "git" | "compare" | "merges" | "readme" | "tarball" | "zipball"
        | "releases" | "comments" | "license" | "codeowners" | "raw" | "archive" | "media"
        | "editorconfig" | "dispatches" | "dependency-graph" => plain(&["contents"]),
        // Rules of protection are the administrator's, for names with slashes as well.
        // A rename, at Gitea and Forgejo.
        "branches" if method == "PATCH" => None,
        "branches" | "tags" if path.iter().any(|part| is_rule(part)) => None,
        "branches" | "tags" => plain(&["contents"]),
        "commits" => only_commit(path.last().copied().unwrap_or_default(), plain),
        "statuses" => plain(&["statuses"]),
        "check-runs" | "check-suites" => plain(&["checks"]),
        "deployments" => plain(&["deployments"]),
        "environments" if second.is_empty() || third.is_empty() => {
            only_read(&["actions", "deployments"])
        }
        // Who decides on protected environments is no job.
        "actions" if !reads && path.iter().any(|part| DECISIONS.contains(part)) => None,
        "actions" => match second {
            "artifacts" | "cache" | "caches" | "jobs" | "runs" | "workflows" | "tasks" => {
                plain(&["actions"])
            }
            _ => None,
        },
        "pages" if second.is_empty() => only_read(&["pages"]),
        "pages" => plain(&["pages"]),
        "attestations" => plain(&["attestations"]),
        "code-scanning" if second == "default-setup" => only_read(&["security-events"]),
        "code-scanning" => plain(&["security-events"]),
        "dependabot" if second == "alerts" => plain(&["vulnerability-alerts"]),
        "projects" => plain(&["repository-projects"]),
        "discussions" => plain(&["discussions"]),
        "collaborators" | "contributors" | "languages" | "topics" | "stargazers"
        | "subscribers" | "events" | "stats" | "activity" | "rules" | "rulesets" | "community"
        | "issue_templates" | "issue_config" => only_read(&[]),
        _ => None,
    }
}

fn is_rule(part: &str) -> bool {
    let decoded = decoded(part);
    let last = decoded.rsplit('/').next();
    matches!(last, Some("protection" | "rename"))
}

fn issues(level: PermissionLevel, second: &str, third: &str) -> Option<Requirement> {
    let pull = match (second, third) {
        ("comments", id) if !id.is_empty() => PullKind::Comment,
        (number, _) if number.parse::<u64>().is_ok() => PullKind::Number,
        _ => PullKind::None,
    };
    let scopes = if pull == PullKind::None {
        &["issues"]
    } else {
        ISSUES
    };
    Some(Requirement {
        scopes,
        level,
        pull,
    })
}

fn only_commit(
    last: &str,
    plain: impl Fn(&'static [&'static str]) -> Option<Requirement>,
) -> Option<Requirement> {
    match last {
        "status" | "statuses" => plain(&["statuses"]),
        "check-runs" | "check-suites" => plain(&["checks"]),
        "pulls" => plain(&["pull-requests"]),
        _ => plain(&["contents"]),
    }
}
