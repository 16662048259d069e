//! Whether a call of the forge's API is passed on.

use config_core::quoted;

use super::body::names_workflow;
use super::endpoints::{PullKind, requirement};
use super::path::{decoded, parts};
use super::refusal::{CallRefusal, refuse};
use crate::workflow::{PermissionLevel, Permissions};

/// A call that is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeCall {
    /// Path below the API, as it came.
    pub path: String,
    /// What must be found out before.
    pub check: Option<PullCheck>,
}

/// The permission holds for pull requests only: whether it is one must be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullCheck {
    /// It is one when this call succeeds.
    Number(String),
    /// It is one's when the comment that this call gives says so.
    Comment(String),
}

/// Decides on a call of `path` (below the API, as it stands in the request line, without its query)
/// with the token of a job of `repository` that has these permissions.
///
/// # Errors
/// What is missing, or why nobody's token does this.
pub fn decide(
    method: &str,
    path: &str,
    repository: &str,
    permissions: &Permissions,
) -> Result<ForgeCall, CallRefusal> {
    let parts = parts(path)?;
    let passed = |check| {
        Ok(ForgeCall {
            path: path.to_owned(),
            check,
        })
    };
    let reads = matches!(method, "GET" | "HEAD");
    if reads && matches!(parts.as_slice(), ["rate_limit" | "meta" | "version"]) {
        return passed(None);
    }
    let ["repos", owner, name, rest @ ..] = parts.as_slice() else {
        return refuse(format!(
            "the token is of {repository} only: calls below /repos/{repository} are passed on"
        ));
    };
    if !format!("{owner}/{name}").eq_ignore_ascii_case(repository) {
        let asked = format!("{owner}/{name}");
        return refuse(format!(
            "the token is of {repository}, not of {}",
            quoted(&asked)
        ));
    }
    check_compared(rest, owner)?;
    let Some(required) = requirement(method, rest) else {
        return refuse(format!(
            "{method} of {} is nothing that the token of a job may do",
            quoted(path)
        ));
    };
    if !reads && names_workflow(&decoded(&rest.join("/"))) {
        return refuse("the token of a job writes no workflow files");
    }
    let has = |scope: &&&str| permissions.allows(scope, required.level);
    let granted: Vec<&&str> = required.scopes.iter().filter(has).collect();
    if required.scopes.is_empty()
        || granted
            .iter()
            .any(|scope| required.pull == PullKind::None || ***scope != *"pull-requests")
    {
        return passed(None);
    }
    let prefix = format!("/repos/{owner}/{name}");
    match (granted.is_empty(), required.pull) {
        (false, PullKind::Number) => {
            let number = rest.get(1).copied().unwrap_or_default();
            passed(Some(PullCheck::Number(format!("{prefix}/pulls/{number}"))))
        }
        (false, PullKind::Comment) => {
            let id = rest.get(2).copied().unwrap_or_default();
            let comment = format!("{prefix}/issues/comments/{id}");
            passed(Some(PullCheck::Comment(comment)))
        }
        _ => refuse(missing(required.scopes, required.level)),
    }
}

/// Branches that are compared are those of the repository: those of others would be read.
fn check_compared(rest: &[&str], owner: &str) -> Result<(), CallRefusal> {
    let ["compare", compared @ ..] = rest else {
        return Ok(());
    };
    let compared = decoded(&compared.join("/"));
    let of_another = |side: &str| {
        let mut parts = side.split(':');
        let (of, branch, more) = (parts.next(), parts.next(), parts.next());
        let is_own = of.is_some_and(|of| of.eq_ignore_ascii_case(owner));
        branch.is_some() && (!is_own || more.is_some())
    };
    match compared.split("..").any(of_another) {
        true => refuse("branches of other repositories are not compared"),
        false => Ok(()),
    }
}

/// What a workflow would have to say.
fn missing(scopes: &[&str], level: PermissionLevel) -> String {
    let word = match level {
        PermissionLevel::Write => "write",
        PermissionLevel::Read | PermissionLevel::None => "read",
    };
    let scopes: Vec<String> = scopes
        .iter()
        .map(|scope| format!("`{scope}: {word}`"))
        .collect();
    format!(
        "Resource not accessible by integration: the job's `permissions` lack {} (pull requests from forks have no more than read; where a workflow names none, `token_permissions` of the runner counts)",
        scopes.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(scopes: &[(&str, PermissionLevel)]) -> Permissions {
        let scopes = scopes
            .iter()
            .map(|(scope, level)| ((*scope).to_owned(), *level));
        Permissions {
            all: None,
            scopes: scopes.collect(),
            ..Permissions::default()
        }
    }

    fn ask(call: &str, scopes: &[(&str, PermissionLevel)]) -> Result<ForgeCall, CallRefusal> {
        let (method, path) = call.split_once(' ').unwrap();
        decide(method, path, "acme/rocket", &permissions(scopes))
    }

    use PermissionLevel::{Read, Write};

    #[test]
    fn i17_calls_need_the_permission_that_github_documents() {
        for (call, scope, level) in [
            ("GET /repos/acme/rocket/issues", "issues", Read),
            ("POST /repos/acme/rocket/issues", "issues", Write),
            ("PATCH /repos/Acme/Rocket/issues/7", "issues", Write),
            ("POST /repos/acme/rocket/labels", "issues", Write),
            ("POST /repos/acme/rocket/pulls", "pull-requests", Write),
            (
                "GET /repos/acme/rocket/pulls/7/files",
                "pull-requests",
                Read,
            ),
            ("PUT /repos/acme/rocket/pulls/7/merge", "contents", Write),
            (
                "GET /repos/acme/rocket/contents/a%2Fb.txt",
                "contents",
                Read,
            ),
            (
                "PUT /repos/acme/rocket/contents/a%2Fb.txt",
                "contents",
                Write,
            ),
            (
                "GET /repos/acme/rocket/git/ref/heads%2Fmain",
                "contents",
                Read,
            ),
            ("POST /repos/acme/rocket/git/refs", "contents", Write),
            ("POST /repos/acme/rocket/releases", "contents", Write),
            ("POST /repos/acme/rocket/dispatches", "contents", Write),
            (
                "GET /repos/acme/rocket/commits/main/status",
                "statuses",
                Read,
            ),
            ("POST /repos/acme/rocket/statuses/abc", "statuses", Write),
            ("POST /repos/acme/rocket/check-runs", "checks", Write),
            (
                "GET /repos/acme/rocket/commits/abc/check-runs",
                "checks",
                Read,
            ),
            (
                "GET /repos/acme/rocket/commits/abc/pulls",
                "pull-requests",
                Read,
            ),
            (
                "GET /repos/acme/rocket/commits/feature%2Fx",
                "contents",
                Read,
            ),
            ("DELETE /repos/acme/rocket/actions/caches", "actions", Write),
            ("POST /repos/acme/rocket/deployments", "deployments", Write),
            ("GET /repos/acme/rocket/environments", "deployments", Read),
            ("POST /repos/acme/rocket/pages/builds", "pages", Write),
            (
                "POST /repos/acme/rocket/code-scanning/sarifs",
                "security-events",
                Write,
            ),
        ] {
            assert!(ask(call, &[(scope, level)]).is_ok(), "{call}");
            let refused = ask(call, &[("packages", Write)]).unwrap_err().to_string();
            assert!(refused.contains(scope), "{call}: {refused}");
            if level == Write {
                let refused = ask(call, &[(scope, Read)]).unwrap_err().to_string();
                assert!(refused.contains(": write`"), "{call}: {refused}");
            }
        }
    }

    #[test]
    fn i17_what_every_job_reads_and_what_all_permissions_are() {
        for call in [
            "GET /repos/acme/rocket",
            "GET /repos/acme/rocket/languages",
            "GET /rate_limit",
        ] {
            assert!(ask(call, &[]).is_ok(), "{call}");
        }
        let all = Permissions {
            all: Some(Write),
            scopes: Vec::new(),
            ..Permissions::default()
        };
        assert!(decide("POST", "/repos/acme/rocket/issues", "acme/rocket", &all).is_ok());
    }

    #[test]
    fn i17_pull_requests_are_issues_only_where_they_are_some() {
        let pulls = [("pull-requests", Write)];
        let comment = ask("POST /repos/acme/rocket/issues/7/comments", &pulls).unwrap();
        let number = PullCheck::Number("/repos/acme/rocket/pulls/7".to_owned());
        assert_eq!(comment.check, Some(number));
        let edit = ask("PATCH /repos/acme/rocket/issues/comments/9", &pulls).unwrap();
        let id = PullCheck::Comment("/repos/acme/rocket/issues/comments/9".to_owned());
        assert_eq!(edit.check, Some(id));
        let issues = [("issues", Write)];
        let plain = ask("POST /repos/acme/rocket/issues/7/comments", &issues).unwrap();
        assert_eq!(plain.check, None);
        assert!(ask("POST /repos/acme/rocket/issues", &pulls).is_err());
    }

    #[test]
    fn i17_nothing_but_the_own_repository_is_reached() {
        let all = Permissions {
            all: Some(Write),
            scopes: Vec::new(),
            ..Permissions::default()
        };
        for path in [
            "/repos/acme/other/issues",
            "/repos/acme/rocket/../other/issues",
            "/repos/acme/rocket/%2e%2e/other/issues",
            "/repos/acme/rocket/contents/..%2f..%2f..%2fother",
            "/repos/acme/rocket/contents/%252e%252e%252fother",
            "/repos/acme/rocket/contents/a%5c..%5cb",
            "/repos/acme%2frocket/issues",
            "/repos/acme/rocket%2f..%2fother/issues",
            "/repos/acme/rock%65t/issues",
            "/repos//acme/rocket/issues",
            "/repos/acme/rocket//issues",
            "//repos/acme/rocket/issues",
            "/repos/acme/rocket/./issues",
            "/repos/acme/rocket;x=1/issues",
            "/repos/acme/rocket\\..\\other",
            "/repos/acme/rocket/contents/%00",
            "/repositories/7/issues",
            "/user/repos",
            "/orgs/acme/repos",
            "/search/issues",
            "/graphql",
            "/repos/acme/rocket/hooks",
            "/repos/acme/rocket/keys",
            "/repos/acme/rocket/collaborators/x/../../hooks",
            "/repos/acme/rocket/actions/secrets",
            "/repos/acme/rocket/branches/main/protection",
            "/repos/acme/rocket/branches/release/1.0/protection",
            "/repos/acme/rocket/branches/release%2F1.0/protection",
            "/repos/acme/rocket/branches/main/%70rotection",
            "/repos/acme/rocket/pulls/1%2Fmerge",
            "/repos/acme/rocket/pulls/1/%6derge",
            "/repos/acme/rocket/git/tree%73",
            "/repos/acme/rocket/git%2Ftrees",
            "/repos/acme/rocket/environments/x%2Fsecrets",
            "/repos/acme/rocket/compare/main...stranger:main",
            "/repos/acme/rocket/compare/main...acme:secret:main",
            "/repos/acme/rocket/compare/main...stranger%3Amain",
            "/repos/acme/rocket/issues/7/dependencies",
            "/repos/acme/rocket/issues/7/dependencies/blocked_by",
            "/repos/acme/rocket/issues/7/blocks",
            "/repos/acme/rocket/issues/7/sub_issues",
            "/repos/acme/rocket/issues/7/parent",
            "/repos/acme/rocket/transfer",
            "repos/acme/rocket",
            "",
            "/",
        ] {
            assert!(decide("GET", path, "acme/rocket", &all).is_err(), "{path}");
        }
        for call in [
            "PATCH /repos/acme/rocket",
            "PATCH /repos/acme/rocket/branches/main",
            "PATCH /repos/acme/rocket/issues/7/comments/9",
            "POST /repos/acme/rocket/pulls/",
            "GET /repos/acme/rocket/forks",
            "POST /repos/acme/rocket/diffpatch",
            "POST /repos/acme/rocket/merge-upstream",
            "POST /repos/acme/rocket/branches/main/rename",
            "POST /repos/acme/rocket/branches/release/1.0/rename",
            "POST /repos/acme/rocket/issues/7/dependencies",
            "PATCH /repos/acme/rocket/code-scanning/default-setup",
            "PUT /repos/acme/rocket/pages",
            "POST /repos/acme/rocket/actions/runs/7/pending_deployments",
            "POST /repos/acme/rocket/actions/runs/7/approve",
            "DELETE /repos/acme/rocket",
            "PUT /repos/acme/rocket/topics",
            "PUT /repos/acme/rocket/collaborators/x",
        ] {
            let (method, path) = call.split_once(' ').unwrap();
            assert!(decide(method, path, "acme/rocket", &all).is_err(), "{call}");
        }
    }

    #[test]
    fn i17_workflow_files_are_written_by_nobody_s_token() {
        let write = [("contents", Write)];
        for path in [
            ".github%2Fworkflows%2Fci.yml",
            ".GITHUB/workflows/ci.yml",
            ".forgejo/workflows",
            ".gitea",
            "%20.github/workflows/ci.yml",
            "sub/.github/workflows/ci.yml",
        ] {
            let call = format!("PUT /repos/acme/rocket/contents/{path}");
            assert!(ask(&call, &write).is_err(), "{path}");
        }
        assert!(ask("PUT /repos/acme/rocket/contents/.github/labels.yml", &write).is_ok());
    }
}
