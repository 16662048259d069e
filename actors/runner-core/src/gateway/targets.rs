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
    Named(NamedCommit),
    /// The head of this pull request.
    Pull(u64),
}

/// A commit that a body names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCommit {
    /// How it is named.
    pub name: String,
    /// The key that names it.
    key: &'static str,
    /// The key that takes its id.
    id_key: &'static str,
    /// It is not looked at where this tag is at the forge already: then nothing is made.
    pub unless_tag: Option<String>,
}

impl NamedCommit {
    /// Names it in the body by its id, which nobody reads otherwise, now or later; nothing: not at
    /// all.
    pub fn fix(&self, body: &mut Value, id: Option<&str>) {
        let Some(object) = body.as_object_mut() else {
            return;
        };
        object.retain(|name, _| !name.eq_ignore_ascii_case(self.key));
        let Some(id) = id else { return };
        object.insert(self.id_key.to_owned(), id.into());
        let has_message = object.keys().any(|key| key.eq_ignore_ascii_case(MESSAGE));
        if self.key == "head" && !has_message {
            let base = text_of(object, "base").unwrap_or_default();
            let message = format!("Merge {} into {base}", self.name);
            object.insert(MESSAGE.to_owned(), message.into());
        }
    }
}

const MESSAGE: &str = "commit_message";

impl CommitTarget {
    /// What a call brings there, if anything; `path` as it stands in the request line, `body` as it
    /// is sent.
    ///
    /// # Errors
    /// What must be named otherwise.
    pub fn parse(method: &str, path: &str, body: &Value) -> Result<Option<Self>, CallRefusal> {
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
        let given = |key: &str| {
            let text = text_of(object, key).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let named = |key, id_key, unless_tag| {
            given(key).map(|name| {
                Self::Named(NamedCommit {
                    name,
                    key,
                    id_key,
                    unless_tag,
                })
            })
        };
        let new = |kind: &str, key| given(key).map_or(Ok(()), |name| check_name(kind, &name));
        Ok(match rest.as_slice() {
            ["git", "refs", ..] => {
                new("", "ref")?;
                named("sha", "sha", None)
            }
            ["branches"] => {
                new("refs/heads/", "new_branch_name")?;
                named("old_ref_name", "old_ref_name", None)
                    .or_else(|| named("old_branch_name", "old_ref_name", None))
            }
            ["branches", ..] => named("new_commit_id", "new_commit_id", None),
            ["tags"] => {
                new("refs/tags/", "tag_name")?;
                named("target", "target", None)
            }
            ["releases", ..] => {
                new("refs/tags/", "tag_name")?;
                let key = "target_commitish";
                named(key, key, given("tag_name"))
            }
            ["merges"] => named("head", "head", None),
            ["pulls", number, "merge"] => {
                let number = number.parse();
                let wrong = |_| CallRefusal("a pull request has a number".to_owned());
                Some(Self::Pull(number.map_err(wrong)?))
            }
            _ => None,
        })
    }
}

/// Whether a body has a key, in any case, that is true.
#[must_use]
pub fn is_true(body: &Value, key: &str) -> bool {
    value_of(body, key) == Some(&Value::Bool(true))
}

/// What a body says by a key; servers read keys in any case.
pub(super) fn value_of<'a>(body: &'a Value, key: &str) -> Option<&'a Value> {
    let mut all = body.as_object().into_iter().flatten();
    let found = all.find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(_, value)| value)
}

fn check_name(kind: &str, name: &str) -> Result<(), CallRefusal> {
    let command = PushCommand {
        reference: format!("{kind}{name}"),
        old: "0".repeat(40),
        new: "1".repeat(40),
    };
    check_reference(&command).map_err(CallRefusal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target_of(call: &str, body: &Value) -> Result<Option<CommitTarget>, CallRefusal> {
        let (method, path) = call.split_once(' ').unwrap();
        CommitTarget::parse(method, &format!("/repos/acme/rocket/{path}"), body)
    }

    #[test]
    fn i17_calls_that_bring_commits_onto_references_are_known() {
        let sha = "1".repeat(40);
        let named = |name: &str| Ok(Some(name.to_owned()));
        let seven = Ok(Some("pull 7".to_owned()));
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
            ("PUT pulls/7/merge", json!({}), seven.clone()),
            ("POST pulls/7/merge", Value::Null, seven),
            ("GET git/refs/heads/x", Value::Null, Ok(None)),
            ("DELETE git/refs/heads/x", Value::Null, Ok(None)),
            ("POST issues", json!({"sha": sha}), Ok(None)),
        ] {
            let found = target_of(call, &body).map(|found| {
                found.map(|target| match target {
                    CommitTarget::Named(named) => named.name,
                    CommitTarget::Pull(number) => format!("pull {number}"),
                })
            });
            assert_eq!(found, expected, "{call}");
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
            assert!(target_of(call, &body).is_err(), "{call}");
        }
    }

    #[test]
    fn i17_a_commit_is_named_to_the_forge_by_its_id() {
        let id = "2".repeat(40);
        let fixed = |call, mut body: Value, id: Option<&str>| {
            let Ok(Some(CommitTarget::Named(named))) = target_of(call, &body) else {
                panic!("{call}");
            };
            named.fix(&mut body, id);
            body
        };
        let branch = json!({"new_branch_name": "x", "old_branch_name": "pull/5/head"});
        assert_eq!(
            fixed("POST branches", branch, Some(&id)),
            json!({"new_branch_name": "x", "old_ref_name": id})
        );
        let moved = fixed(
            "PUT branches/x",
            json!({"new_commit_id": "main"}),
            Some(&id),
        );
        assert_eq!(moved, json!({"new_commit_id": id}));
        let merge = fixed(
            "POST merges",
            json!({"base": "main", "head": "x"}),
            Some(&id),
        );
        let message = "Merge x into main";
        assert_eq!(
            merge,
            json!({"base": "main", "head": id, "commit_message": message})
        );
        // A release of a tag that is there already.
        let edit = json!({"tag_name": "v1", "Target_Commitish": "gone"});
        assert_eq!(
            fixed("PATCH releases/7", edit, None),
            json!({"tag_name": "v1"})
        );
        assert!(is_true(&json!({"Merge_When": true}), "merge_when"));
        assert!(!is_true(&json!({"merge_when": "true"}), "merge_when"));
    }
}
