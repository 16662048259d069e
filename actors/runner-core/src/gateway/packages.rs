//! Registries of the forge with the token of a job: packages and images of the owner of its
//! repository, as far as `packages` of its permissions goes.

use config_core::quoted;

use super::path::{MAX_PATH, check_names, has_odd_bytes, of_path, part_decoded};
use super::refusal::{CallRefusal, refuse};
use crate::workflow::{PermissionLevel, Permissions};

/// Registries at `/api/packages/OWNER/…` that take a token and give none.
const KINDS: [&str; 22] = [
    "alpine",
    "alt",
    "arch",
    "cargo",
    "composer",
    "conan",
    "conda",
    "cran",
    "debian",
    "generic",
    "go",
    "helm",
    "maven",
    "npm",
    "nuget",
    "pub",
    "pypi",
    "rpm",
    "rubygems",
    "swift",
    "terraform",
    "vagrant",
];

/// Parts of a query by which Gitea and Forgejo take another token or another user.
pub const CREDENTIALS: [&str; 3] = ["access_token", "token", "sudo"];

/// A request of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageCall {
    /// It is passed on with the runner's token.
    Pass,
    /// It asks whether it may come in: it may.
    Welcome,
    /// It asks for a token of the registry's own, which would be one of the runner's account: it
    /// gets the job's again.
    OwnToken {
        /// As JSON, for clients of images; else as a text.
        json: bool,
    },
}

/// Decides on a request of a registry; `path` and `query` as they stand in the request line, below
/// the forge's own path.
///
/// # Errors
/// What is missing, or why nobody's token does this.
pub fn decide_packages(
    method: &str,
    path: &str,
    query: Option<&str>,
    repository: &str,
    permissions: &Permissions,
) -> Result<PackageCall, CallRefusal> {
    let parts = parts(path)?;
    let reads = matches!(method, "GET" | "HEAD");
    let owner = repository.split('/').next().unwrap_or_default();
    check_query(query, owner)?;
    let (asked, call) = match parts.as_slice() {
        ["v2"] if reads => return allowed(repository, permissions, true, PackageCall::Welcome),
        ["v2", "token"] if reads => {
            let call = PackageCall::OwnToken { json: true };
            return allowed(repository, permissions, true, call);
        }
        ["v2", owner, _, _, ..] => (*owner, PackageCall::Pass),
        [
            "api",
            "packages",
            owner,
            "conan",
            _,
            "users",
            "authenticate",
        ] => (*owner, PackageCall::OwnToken { json: false }),
        ["api", "packages", owner, kind, ..] if KINDS.contains(kind) => (*owner, PackageCall::Pass),
        ["api", "v1", "packages", owner, ..] => (*owner, PackageCall::Pass),
        _ => {
            return refuse(format!(
                "{method} of {} is nothing that the token of a job may do",
                quoted(path)
            ));
        }
    };
    if !asked.eq_ignore_ascii_case(owner) {
        return refuse(format!(
            "the token of the job reaches packages of {owner}, not of {}",
            quoted(asked)
        ));
    }
    allowed(repository, permissions, reads, call)
}

/// The parts of a path; the last is left out where the path ends with a slash.
fn parts(path: &str) -> Result<Vec<&str>, CallRefusal> {
    let wrong = |reason: &str| refuse(of_path(reason));
    let Some(rest) = path.strip_prefix('/') else {
        return wrong("begins with no slash");
    };
    if path.len() > MAX_PATH {
        return wrong("is too long");
    }
    if has_odd_bytes(rest) {
        return wrong("has characters that must be written as %XX");
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let parts: Vec<&str> = rest.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        if part.is_empty() {
            return wrong("has two slashes in a row");
        }
        let decoded = part_decoded(part).map_err(|reason| CallRefusal(of_path(reason)))?;
        check_names(&decoded).map_err(|reason| CallRefusal(of_path(reason)))?;
        // Owner and kind are written plainly; names behind them may hold a slash (npm).
        if at < 4 && part.contains('%') {
            return wrong("names its owner or registry with %XX");
        }
        if decoded.split('/').any(str::is_empty) {
            return wrong("holds an empty name");
        }
    }
    Ok(parts)
}

/// An image may bring layers of another one: only of the owner's.
fn check_query(query: Option<&str>, owner: &str) -> Result<(), CallRefusal> {
    let query = query.unwrap_or_default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if CREDENTIALS
            .iter()
            .any(|one| one.eq_ignore_ascii_case(&name))
        {
            return refuse(format!(
                "the query names `{name}`: the token of the job is a header"
            ));
        }
        if name.eq_ignore_ascii_case("from") {
            let of = value.split('/').next().unwrap_or_default();
            let is_plain = !value.split('/').any(|part| matches!(part, "" | "." | ".."));
            if !of.eq_ignore_ascii_case(owner) || !is_plain || value.contains(['%', '\\']) {
                return refuse(format!(
                    "the token of the job reaches packages of {owner}, not of {}",
                    quoted(&value)
                ));
            }
        }
    }
    Ok(())
}

fn allowed(
    repository: &str,
    permissions: &Permissions,
    reads: bool,
    call: PackageCall,
) -> Result<PackageCall, CallRefusal> {
    let (level, word) = match reads {
        true => (PermissionLevel::Read, "read"),
        false => (PermissionLevel::Write, "write"),
    };
    if permissions.allows("packages", level) {
        return Ok(call);
    }
    refuse(format!(
        "the token of the job of {repository} may not do this: its `permissions` lack `packages: {word}` (pull requests from forks have no more than read; where a workflow names none, `token_permissions` of the runner counts)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionLevel::{Read, Write};

    fn ask(call: &str, level: PermissionLevel) -> Result<PackageCall, CallRefusal> {
        let (method, target) = call.split_once(' ').unwrap();
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let permissions = Permissions {
            all: None,
            scopes: vec![("packages".to_owned(), level)],
            ..Permissions::default()
        };
        decide_packages(method, path, query, "acme/rocket", &permissions)
    }

    #[test]
    fn i17_packages_of_the_owner_need_their_permission() {
        for (call, level) in [
            ("GET /api/packages/acme/generic/tool/1.0/tool.tgz", Read),
            ("PUT /api/packages/Acme/generic/tool/1.0/tool.tgz", Write),
            ("GET /api/packages/acme/npm/@acme%2ftool", Read),
            ("PUT /api/packages/acme/npm/%40acme%2Ftool", Write),
            ("GET /api/packages/acme/pypi/simple/", Read),
            ("POST /api/packages/acme/pypi", Write),
            ("PUT /api/packages/acme/nuget/", Write),
            ("DELETE /api/v1/packages/acme/container/tool/1", Write),
            ("POST /v2/acme/tool/blobs/uploads/", Write),
            (
                "POST /v2/acme/tool/blobs/uploads/?mount=sha256:a&from=Acme/base",
                Write,
            ),
            ("PATCH /v2/acme/a/b/blobs/uploads/7?_state=x", Write),
            ("HEAD /v2/acme/tool/manifests/latest", Read),
        ] {
            assert_eq!(ask(call, level), Ok(PackageCall::Pass), "{call}");
            let less = if level == Write {
                Read
            } else {
                PermissionLevel::None
            };
            let refused = ask(call, less).unwrap_err().to_string();
            assert!(refused.contains("lack `packages: "), "{call}: {refused}");
        }
        let json = PackageCall::OwnToken { json: true };
        assert_eq!(
            ask("GET /v2/token?scope=repository:other/x:pull", Read),
            Ok(json)
        );
        assert_eq!(ask("GET /v2/", Read), Ok(PackageCall::Welcome));
        let text = PackageCall::OwnToken { json: false };
        let conan = "GET /api/packages/acme/conan/v2/users/authenticate";
        assert_eq!(ask(conan, Read), Ok(text));
    }

    #[test]
    fn i17_packages_of_others_are_not_reached() {
        for call in [
            "GET /api/packages/other/generic/tool/1.0/tool.tgz",
            "GET /api/packages/acme/../other/generic/tool/1.0/tool.tgz",
            "GET /api/packages/acme/%2e%2e/other/generic/x",
            "GET /api/packages/acme/generic/..%2f..%2fother%2fgeneric/x",
            "GET /api/packages/acme/npm/..%2f..%2fother",
            "GET /api/packages/acme/npm/%252e%252e%252fother",
            "GET /api/packages/acme%2f..%2fother/generic/x/1/y",
            "GET /api/packages/acme/generic%2f..%2f..%2fother/x",
            "GET /api/packages/acme//other/generic/x",
            "GET /api/packages/acme/generic\\..\\x",
            "GET /api/packages/acme/generic/a%5c..%5cb",
            "GET /api/packages/acme;x/generic/a",
            "GET /api/packages/acme/chef/api/v1/users",
            "GET /api/packages/acme/generic/x/1/y?sudo=root",
            "GET /api/packages/acme/generic/x/1/y?Access_Token=x",
            "GET /api/v1/packages/other",
            "GET /v2/_catalog",
            "GET /v2/other/tool/manifests/latest",
            "POST /v2/acme/tool/blobs/uploads/?mount=sha256:a&from=other/tool",
            "POST /v2/acme/tool/blobs/uploads/?mount=sha256:a&from=acme/../other/tool",
            "POST /v2/acme/tool/blobs/uploads/?mount=sha256:a&FROM=other/tool",
            "POST /v2/token",
            "POST /v2/",
            "GET /v2/acme",
        ] {
            assert!(ask(call, Write).is_err(), "{call}");
        }
    }
}
