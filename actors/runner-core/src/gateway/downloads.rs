//! Files of the run's repository at the forge's address for people: of releases, archives of
//! commits, and single files. A private repository's are for who may read it, so the job's token
//! counts there; all other pages are shown as to anybody.

use super::packages::CREDENTIALS;
use super::path::{MAX_PATH, check_names, has_odd_bytes, of_path, part_decoded};
use super::refusal::{CallRefusal, refuse};
use crate::workflow::{PermissionLevel, Permissions};

/// A file that is passed on with the runner's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeDownload<'a> {
    /// The tag of the release that it is of, as it stands in the path: one that is not published
    /// is for who may write.
    pub release: Option<&'a str>,
}

/// Decides on a page that is read, by its path behind the forge's own; nothing where it is no such
/// file of the run's repository.
///
/// # Errors
/// What is missing, or why the path is not passed on.
pub fn decide_download<'a>(
    path: &'a str,
    query: Option<&str>,
    repository: &str,
    permissions: &Permissions,
) -> Option<Result<ForgeDownload<'a>, CallRefusal>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let release = match parts.as_slice() {
        [_, _, "releases", "download", tag, _] => Some(*tag),
        [_, _, "archive", _, ..] | [_, _, "raw", "branch" | "tag" | "commit", _, _, ..] => None,
        _ => return None,
    };
    let own = format!("{}/{}", parts[0], parts[1]);
    if !own.eq_ignore_ascii_case(repository) {
        return None;
    }
    Some(checked(path, query, &parts).and_then(|()| {
        if permissions.allows("contents", PermissionLevel::Read) {
            return Ok(ForgeDownload { release });
        }
        refuse(format!(
            "the token of the job of {repository} may not do this: its `permissions` lack `contents: read`"
        ))
    }))
}

/// What could be read in two ways is refused.
fn checked(path: &str, query: Option<&str>, parts: &[&str]) -> Result<(), CallRefusal> {
    if path.len() > MAX_PATH || has_odd_bytes(path) {
        return refuse(of_path(
            "is too long, or has characters that must be written as %XX",
        ));
    }
    for part in parts {
        let decoded = part_decoded(part).and_then(|decoded| {
            check_names(&decoded)?;
            Ok(decoded)
        });
        let decoded = decoded.map_err(|reason| CallRefusal(of_path(reason)))?;
        if decoded.split('/').any(str::is_empty) {
            return refuse(of_path("holds an empty name"));
        }
    }
    let mut names = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let is_credential = |name: &str| CREDENTIALS.iter().any(|one| one.eq_ignore_ascii_case(name));
    match names.any(|(name, _)| is_credential(&name)) {
        true => refuse("the query names a token or a user: the token of the job is a header"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str, query: Option<&str>) -> Option<Result<Option<String>, String>> {
        let permissions = Permissions {
            all: None,
            scopes: vec![("contents".to_owned(), PermissionLevel::Read)],
            ..Permissions::default()
        };
        let found = decide_download(path, query, "acme/rocket", &permissions)?;
        let found = found.map(|it| it.release.map(str::to_owned));
        Some(found.map_err(|refused| refused.to_string()))
    }

    #[test]
    fn i17_files_of_the_own_repository_are_told_from_pages() {
        let release = |tag: &str| Some(Ok(Some(tag.to_owned())));
        for (path, expected) in [
            ("/acme/rocket/releases/download/v1/a.tgz", release("v1")),
            ("/Acme/Rocket/releases/download/a%2Fb/c", release("a%2Fb")),
            ("/acme/rocket/archive/main.tar.gz", Some(Ok(None))),
            ("/acme/rocket/archive/a/b.zip", Some(Ok(None))),
            ("/acme/rocket/raw/branch/main/a/b.txt", Some(Ok(None))),
            ("/acme/rocket/raw/commit/0123/a%20b", Some(Ok(None))),
            // Pages, and what the forges take no token for.
            ("/acme/rocket/media/branch/main/a", None),
            ("/acme/rocket/releases/tag/v1", None),
            ("/acme/rocket/releases", None),
            ("/acme/rocket/raw/branch/main", None),
            ("/acme/rocket", None),
            ("/acme/other/archive/main.zip", None),
            ("/attachments/0123", None),
        ] {
            assert_eq!(ask(path, None), expected, "{path}");
        }
    }

    #[test]
    fn i17_files_are_of_the_repository_that_their_path_names() {
        for (path, query) in [
            ("/acme/rocket/archive/../../other/archive/main.zip", None),
            ("/acme/rocket/archive/..%2f..%2fother/main.zip", None),
            ("/acme/rocket/archive/%2e%2e/x", None),
            ("/acme/rocket/archive//x", None),
            ("/acme/rocket/raw/branch/main/a\\..\\b", None),
            ("/acme/rocket/raw/branch/main/%252e%252e", None),
            ("/acme/rocket/archive/main.zip", Some("sudo=root")),
            ("/acme/rocket/archive/main.zip", Some("Token=x")),
        ] {
            let refused = ask(path, query);
            assert!(matches!(refused, Some(Err(_))), "{path}: {refused:?}");
        }
        let none = Permissions::default();
        let path = "/acme/rocket/archive/main.zip";
        let refused = decide_download(path, None, "acme/rocket", &none);
        let allowed = none.allows("contents", PermissionLevel::Read);
        assert_eq!(refused.unwrap().is_err(), !allowed);
    }
}
