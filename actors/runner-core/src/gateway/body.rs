//! What the body of a call may say.

use std::collections::HashSet;

use config_core::quoted;
use serde_json::{Map, Value};

use super::answers::is_of_releases;
use super::refusal::{CallRefusal, refuse};
use super::release_file::ADDRESSES;
use crate::workflow::WORKFLOW_DIRECTORIES;

/// Keys that name a file of the repository.
const PATHS: [&str; 2] = ["path", "from_path"];

/// Reads the body of a call of `repository`: it is to be sent as what is given back, so that nobody
/// reads it otherwise. `path` is that of the call.
///
/// # Errors
/// It is no JSON, or it names a workflow file, or another repository: whoever may write contents
/// may not, by that, decide what is run with secrets.
pub fn checked_body(path: &str, repository: &str, body: &[u8]) -> Result<Value, CallRefusal> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return refuse(
            "the body is no JSON: send an object of JSON, such as `{\"title\": \"…\"}`; forms are not taken",
        );
    };
    // What people send to their own workflows may be called as they like.
    if !path.ends_with("/dispatches") {
        check_keys(&body)?;
    }
    if is_of_releases(path) {
        check_addresses(&body)?;
    }
    let writes_files = path.contains("/git/trees") || path.contains("/contents");
    if writes_files {
        check_paths(&body)?;
    }
    if path.ends_with("/pulls")
        && let Value::Object(pull) = &body
    {
        check_head(pull, repository)?;
    }
    Ok(body)
}

/// The text of a key; servers read keys in any case.
pub(super) fn text_of<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    let mut found = object.iter();
    let found = found.find(|(name, value)| name.eq_ignore_ascii_case(key) && value.is_string());
    found.and_then(|(_, value)| value.as_str())
}

/// Files of releases are files: of an address the forge would say that it is one (Forgejo).
fn check_addresses(value: &Value) -> Result<(), CallRefusal> {
    let Value::Object(object) = value else {
        return Ok(());
    };
    match object.keys().find(|key| is_address_key(key)) {
        Some(key) => refuse(format!(
            "{} is an address in place of a file, which the token of a job does not set",
            quoted(key)
        )),
        None => Ok(()),
    }
}

/// Whether a key puts an address in place of a release's file.
#[must_use]
pub fn is_address_key(key: &str) -> bool {
    ADDRESSES.iter().any(|one| one.eq_ignore_ascii_case(key))
}

/// A pull request is of a branch of the repository: its changes would show another one.
fn check_head(pull: &Map<String, Value>, repository: &str) -> Result<(), CallRefusal> {
    let owner = repository.split('/').next().unwrap_or_default();
    let named = text_of(pull, "head").unwrap_or_default();
    let elsewhere = named
        .split_once(':')
        .is_some_and(|(of, _)| !of.eq_ignore_ascii_case(owner));
    let repo = text_of(pull, "head_repo").unwrap_or_default();
    let name = repository.rsplit('/').next().unwrap_or_default();
    let is_own = [repository, name, ""]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(repo));
    if elsewhere || !is_own {
        return refuse(format!(
            "the token is of {repository}: a pull request of another repository is not made"
        ));
    }
    Ok(())
}

/// Servers read keys in any case, and take the last of several: each is there once.
fn check_keys(value: &Value) -> Result<(), CallRefusal> {
    match value {
        Value::Object(object) => {
            let mut seen = HashSet::new();
            for (key, value) in object {
                // Some letters beyond ASCII are read as if they were within it.
                if !key.is_ascii() || !seen.insert(key.to_ascii_lowercase()) {
                    let key = quoted(key);
                    return refuse(format!("the key {key} of the body can be read in two ways"));
                }
                check_keys(value)?;
            }
            Ok(())
        }
        Value::Array(values) => values.iter().try_for_each(check_keys),
        _ => Ok(()),
    }
}

fn check_paths(value: &Value) -> Result<(), CallRefusal> {
    match value {
        Value::Object(object) => object.iter().try_for_each(|(key, value)| match value {
            Value::String(text) if PATHS.iter().any(|path| path.eq_ignore_ascii_case(key)) => {
                check_path(text)
            }
            value => check_paths(value),
        }),
        Value::Array(values) => values.iter().try_for_each(check_paths),
        _ => Ok(()),
    }
}

/// Whether a file may be written: what servers read in several ways is not.
fn check_path(path: &str) -> Result<(), CallRefusal> {
    let inner = path.strip_prefix('/').unwrap_or(path);
    let is_odd = |part: &str| matches!(part, "." | "..") || part.trim() != part;
    if inner.split('/').any(is_odd) || inner.contains('\\') || inner.contains("//") {
        return refuse(format!("the path {} is not plain", quoted(path)));
    }
    match names_workflow(path) {
        true => refuse("the token of a job writes no workflow files"),
        false => Ok(()),
    }
}

/// Whether a path is a folder of workflows, one above it or something below it, wherever it
/// stands: a folder may be put elsewhere by its id.
pub(super) fn names_workflow(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let parts: Vec<&str> = path
        .split(['/', '\\'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let tops = WORKFLOW_DIRECTORIES.map(|folder| folder.split('/').next().unwrap_or(folder));
    (0..parts.len()).any(|at| {
        tops.contains(&parts[at]) && matches!(parts.get(at + 1), None | Some(&"workflows"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, body: &str) -> Result<Value, CallRefusal> {
        checked_body(path, "acme/rocket", body.as_bytes())
    }

    #[test]
    fn i17_no_way_of_writing_a_path_writes_a_workflow_file() {
        let trees = "/repos/acme/rocket/git/trees";
        for path in [
            ".github/workflows/x.yml",
            ".github",
            "/.github/workflows/x.yml",
            ".github/./workflows/x.yml",
            ".github/x/../workflows/x.yml",
            ".github//workflows/x.yml",
            " .github/workflows/x.yml",
            ".github/workflows ",
            ".github\\\\workflows\\\\x.yml",
            ".GitHub/Workflows/x.yml",
            ".gitea/workflows/x.yml",
            ".forgejo",
            "sub/.github/workflows/x.yml",
            ".github/x/.github/workflows/x.yml",
        ] {
            for key in ["path", "Path", "FROM_PATH"] {
                let body = format!(r#"{{"tree": [{{"{key}": "{path}", "content": ""}}]}}"#);
                assert!(checked(trees, &body).is_err(), "{body}");
            }
            let body = format!(r#"{{"files": [{{"operation": "create", "Path": "{path}"}}]}}"#);
            assert!(
                checked("/repos/acme/rocket/contents", &body).is_err(),
                "{body}"
            );
        }
        for path in [
            "docs/.github.md",
            ".github/labels.yml",
            "a/workflows/x",
            "a b/c",
        ] {
            let body = format!(r#"{{"tree": [{{"path": "{path}"}}], "base_tree": "abc"}}"#);
            assert!(checked(trees, &body).is_ok(), "{body}");
        }
    }

    #[test]
    fn i17_no_address_stands_in_place_of_a_release_s_file() {
        let release = "/repos/acme/rocket/releases/7";
        for key in ["browser_download_url", "External_URL"] {
            let body = format!(r#"{{"name": "x", "{key}": "http://f/api/v1/user"}}"#);
            let asset = format!("{release}/assets/9");
            assert!(checked(&asset, &body).is_err(), "{body}");
            assert!(checked("/repos/acme/rocket/issues", &body).is_ok());
        }
        assert!(checked(&format!("{release}/assets/9"), r#"{"name": "x"}"#).is_ok());
    }

    #[test]
    fn i17_what_another_would_read_otherwise_is_no_body() {
        let issues = "/repos/acme/rocket/issues";
        assert!(checked(issues, "title=a&path=.github").is_err());
        assert!(checked(issues, "{\"title\": \"a\"").is_err());
        let read = checked(issues, r#"{"title": "a", "title": "b"}"#).unwrap();
        assert_eq!(read.to_string(), r#"{"title":"b"}"#);
        for body in [
            r#"{"OLD_REF_NAME": "main", "old_ref_name": "x"}"#,
            r#"{"files": [{"path": "a", "Path": "b"}]}"#,
            "{\"target_commiti\u{17f}h\": \"x\"}",
        ] {
            assert!(checked(issues, body).is_err(), "{body}");
        }
        let dispatch = "/repos/acme/rocket/dispatches";
        assert!(checked(dispatch, r#"{"client_payload": {"ä": 1, "A": 1, "a": 2}}"#).is_ok());
    }

    #[test]
    fn i17_a_pull_request_is_of_a_branch_of_the_repository() {
        let pulls = "/repos/acme/rocket/pulls";
        for (body, expected) in [
            (r#"{"head": "feature"}"#, true),
            (r#"{"head": "Acme:feature", "head_repo": "rocket"}"#, true),
            (r#"{"head": "stranger:feature"}"#, false),
            (r#"{"HEAD": "stranger:feature"}"#, false),
            (r#"{"head": "feature", "head_repo": "acme/secret"}"#, false),
        ] {
            assert_eq!(checked(pulls, body).is_ok(), expected, "{body}");
        }
    }
}
