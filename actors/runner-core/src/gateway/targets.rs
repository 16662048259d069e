//! Commits that a call would bring onto a branch or a tag: their workflow files are looked at as
//! those of a push.

use serde_json::Value;

use super::body::text_of;
use super::path::{decoded, parts};
use super::push::{PushCommand, check_reference};
use super::refusal::CallRefusal;

/// A commit that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitTarget {
    /// A branch or a tag, which then is at the forge; or a whole id.
    Named(String),
    /// The head of this pull request.
    Pull(u64),
}

impl CommitTarget {
    /// What a call brings there, if anything; `path` as it stands in the request line, `body` as it
    /// is sent.
    ///
    /// # Errors
    /// What must be named otherwise.
    pub fn of(method: &str, path: &str, body: &Value) -> Result<Option<Self>, CallRefusal> {
        if matches!(method, "GET" | "HEAD" | "DELETE") {
            return Ok(None);
        }
        let parts = parts(path)?;
        let ["repos", _, _, rest @ ..] = parts.as_slice() else {
            return Ok(None);
        };
        let rest: Vec<String> = rest.iter().map(|part| decoded(part)).collect();
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let empty = serde_json::Map::new();
        let object = body.as_object().unwrap_or(&empty);
        let given = |keys: &[&str]| {
            let mut found = keys.iter().filter_map(|key| text_of(object, key));
            found.find(|text| !text.is_empty()).map(str::to_owned)
        };
        let named = |keys: &[&str]| Ok(given(keys).map(Self::Named));
        match rest.as_slice() {
            ["git", "refs", ..] => {
                if let Some(name) = given(&["ref"]) {
                    check_name(&name)?;
                }
                named(&["sha"])
            }
            ["branches"] => {
                if let Some(name) = given(&["new_branch_name"]) {
                    check_name(&format!("refs/heads/{name}"))?;
                }
                named(&["old_ref_name", "old_branch_name"])
            }
            ["tags"] => {
                if let Some(name) = given(&["tag_name"]) {
                    check_name(&format!("refs/tags/{name}"))?;
                }
                named(&["target"])
            }
            ["releases", ..] => {
                if let Some(name) = given(&["tag_name"]) {
                    check_name(&format!("refs/tags/{name}"))?;
                }
                named(&["target_commitish"])
            }
            ["merges"] => named(&["head"]),
            ["pulls", number, "merge"] => match number.parse() {
                Ok(number) => Ok(Some(Self::Pull(number))),
                Err(_) => Err(CallRefusal("a pull request has a number".to_owned())),
            },
            _ => Ok(None),
        }
    }
}

fn check_name(name: &str) -> Result<(), CallRefusal> {
    let command = PushCommand {
        reference: name.to_owned(),
        old: "0".repeat(40),
        new: "1".repeat(40),
    };
    check_reference(&command).map_err(CallRefusal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(call: &str, body: &Value) -> Result<Option<CommitTarget>, CallRefusal> {
        let (method, path) = call.split_once(' ').unwrap();
        CommitTarget::of(method, &format!("/repos/acme/rocket/{path}"), body)
    }

    #[test]
    fn i17_calls_that_bring_commits_onto_references_are_known() {
        let sha = "1".repeat(40);
        let named = |name: &str| Ok(Some(CommitTarget::Named(name.to_owned())));
        for (call, body, expected) in [
            (
                "POST git/refs",
                json!({"ref": "refs/heads/x", "sha": sha}),
                named(&sha),
            ),
            (
                "POST git/refs",
                json!({"ref": "refs/heads/x", "SHA": sha}),
                named(&sha),
            ),
            (
                "PATCH git/refs/heads/x",
                json!({"sha": sha, "force": true}),
                named(&sha),
            ),
            (
                "POST branches",
                json!({"new_branch_name": "x", "old_ref_name": sha}),
                named(&sha),
            ),
            ("POST branches", json!({"new_branch_name": "x"}), Ok(None)),
            (
                "POST tags",
                json!({"tag_name": "v1", "target": "main"}),
                named("main"),
            ),
            (
                "POST releases",
                json!({"tag_name": "v1", "target_commitish": sha}),
                named(&sha),
            ),
            (
                "PATCH releases/7",
                json!({"target_commitish": "dev"}),
                named("dev"),
            ),
            (
                "POST merges",
                json!({"base": "main", "head": sha}),
                named(&sha),
            ),
            (
                "PUT pulls/7/merge",
                json!({}),
                Ok(Some(CommitTarget::Pull(7))),
            ),
            (
                "POST pulls/7/merge",
                Value::Null,
                Ok(Some(CommitTarget::Pull(7))),
            ),
            ("GET git/refs/heads/x", Value::Null, Ok(None)),
            ("DELETE git/refs/heads/x", Value::Null, Ok(None)),
            ("POST issues", json!({"sha": sha}), Ok(None)),
        ] {
            assert_eq!(of(call, &body), expected, "{call}");
        }
        for (call, body) in [
            (
                "POST git/refs",
                json!({"ref": "refs/pull/1/head", "sha": sha}),
            ),
            (
                "POST git/refs",
                json!({"ref": format!("refs/heads/{sha}"), "sha": sha}),
            ),
            (
                "POST branches",
                json!({"new_branch_name": sha, "old_branch_name": "main"}),
            ),
            ("PUT pulls/x/merge", json!({})),
        ] {
            assert!(of(call, &body).is_err(), "{call}");
        }
    }
}
