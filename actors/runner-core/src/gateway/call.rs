//! Whether a call of the forge's API is passed on.

use config_core::quoted;
use serde_json::Value;

use super::endpoints::{PullKind, requirement};
use crate::workflow::{PermissionLevel, Permissions, WORKFLOW_DIRECTORIES};

/// Longest path of a call.
const MAX_PATH: usize = 4096;

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

/// Why a call is not passed on, for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CallRefusal(pub String);

fn refuse<T>(reason: impl Into<String>) -> Result<T, CallRefusal> {
    Err(CallRefusal(reason.into()))
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
        "Resource not accessible by integration: the job's `permissions` lack {} (pull requests from forks have no more than read)",
        scopes.join(" or ")
    )
}

/// The parts of a path; what a server could read in two ways is refused.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, CallRefusal> {
    let wrong = |reason: &str| refuse(format!("the path of the call {reason}"));
    if path.len() > MAX_PATH {
        return wrong("is too long");
    }
    let Some(rest) = path.strip_prefix('/') else {
        return wrong("begins with no slash");
    };
    let odd = |byte: u8| byte <= b' ' || byte >= 0x7f || b"\\;?#".contains(&byte);
    if rest.bytes().any(odd) {
        return wrong("has characters that must be written as %XX");
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let parts: Vec<&str> = rest.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        if part.is_empty() {
            return wrong("has two slashes in a row");
        }
        // Owner, name and what comes first behind them are written plainly.
        if at < 5 && at != 4 && part.contains('%') {
            return wrong("names its repository or endpoint with %XX");
        }
        let decoded = decoded(part);
        if decoded
            .bytes()
            .any(|byte| byte < b' ' || byte == b'\\' || byte == 0x7f)
        {
            return wrong("holds control characters");
        }
        if decoded.split('/').any(|inner| matches!(inner, "." | "..")) {
            return wrong("holds `.` or `..`");
        }
        // Decoded once more by somebody, it would be another path.
        if has_escape(&decoded) {
            return wrong("is written with %XX twice");
        }
    }
    Ok(parts)
}

/// The text with each `%XX` taken as its byte.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let escape = (*first == b'%').then(|| more.get(..2)).flatten();
        let escape = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn has_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit))
}

/// Refuses a body that writes a workflow file: whoever may write contents may not, by that, decide
/// what is run with secrets.
///
/// # Errors
/// When it names one.
pub fn check_body(path: &str, body: &[u8]) -> Result<(), CallRefusal> {
    let writes =
        path.contains("/git/trees") || path.contains("/contents") || path.contains("/diffpatch");
    if !writes {
        return Ok(());
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return refuse("the body is no JSON");
    };
    if names_workflow_in(&body) {
        return refuse("the token of a job writes no workflow files");
    }
    Ok(())
}

fn names_workflow_in(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|(key, value)| match value {
            Value::String(text) if matches!(key.as_str(), "path" | "from_path") => {
                names_workflow(&format!("/{text}"))
            }
            value => names_workflow_in(value),
        }),
        Value::Array(values) => values.iter().any(names_workflow_in),
        _ => false,
    }
}

/// Whether a path is a folder of workflows, one above it or something below it.
fn names_workflow(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    WORKFLOW_DIRECTORIES.iter().any(|folder| {
        let (top, _) = folder.split_once('/').unwrap_or((folder, ""));
        let at = parts.iter().position(|part| *part == top);
        at.is_some_and(|at| matches!(parts.get(at + 1), None | Some(&"workflows")))
    })
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
            "/repos/acme/rocket/transfer",
            "repos/acme/rocket",
            "",
            "/",
        ] {
            assert!(decide("GET", path, "acme/rocket", &all).is_err(), "{path}");
        }
        for call in [
            "PATCH /repos/acme/rocket",
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
        ] {
            let call = format!("PUT /repos/acme/rocket/contents/{path}");
            assert!(ask(&call, &write).is_err(), "{path}");
        }
        assert!(ask("PUT /repos/acme/rocket/contents/.github/labels.yml", &write).is_ok());
        let trees = "/repos/acme/rocket/git/trees";
        for body in [
            r#"{"tree": [{"path": ".github/workflows/x.yml", "content": ""}]}"#,
            r#"{"tree": [{"path": ".github", "sha": "abc"}]}"#,
            "not JSON",
        ] {
            assert!(check_body(trees, body.as_bytes()).is_err(), "{body}");
        }
        let harmless = r#"{"tree": [{"path": "docs/.github.md"}], "base_tree": "abc"}"#;
        assert!(check_body(trees, harmless.as_bytes()).is_ok());
        assert!(check_body("/repos/acme/rocket/issues", b"anything").is_ok());
    }
}
