//! Calls as clients of GitHub's API make them, for forges that call the same otherwise. What is
//! decided on is what is sent: calls are translated before.

use forge_core::Forge;
use serde_json::{Value, json};

/// A call of REST's, and how it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestTranslation {
    /// The method's word.
    pub method: String,
    /// The path below the API.
    pub path: String,
    /// The query, without its question mark.
    pub query: Option<String>,
    /// What is said of merging is said otherwise.
    merges: bool,
}

/// Rows: the method, what follows `/repos/owner/name`, and both as Gitea has them. `*` is one part
/// of a path; a last `**` is all that follows.
const GITEA: [(&str, &str, &str, &str); 7] = [
    ("DELETE", "/git/refs/heads/**", "DELETE", "/branches/**"),
    ("DELETE", "/git/refs/tags/**", "DELETE", "/tags/**"),
    ("GET", "/git/ref/**", "GET", "/git/refs/**"),
    ("GET", "/commits/*", "GET", "/git/commits/*"),
    ("GET", "/git/matching-refs/**", "GET", "/git/refs/**"),
    ("PUT", "/pulls/*/merge", "POST", "/pulls/*/merge"),
    ("PUT", "/pulls/*/update-branch", "POST", "/pulls/*/update"),
];

/// The call as the forge takes it. `accept` is what the client wants to get.
#[must_use]
pub fn translated(
    forge: Forge,
    method: &str,
    path: &str,
    query: Option<&str>,
    accept: &str,
) -> RestTranslation {
    let mut call = RestTranslation {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.map(str::to_owned),
        merges: false,
    };
    if forge == Forge::GitHub {
        return call;
    }
    let Some((base, rest)) = below_repository(path) else {
        return call;
    };
    let found = GITEA.iter().find_map(|(from, pattern, to, target)| {
        let taken = (*from == method).then(|| taken(pattern, rest)).flatten()?;
        Some((to, filled(target, &taken)))
    });
    if let Some((to, rest)) = found {
        call.merges = method == "PUT" && rest.ends_with("/merge");
        (call.method, call.path) = ((*to).to_owned(), format!("{base}{rest}"));
    }
    if method == "GET" && taken("/pulls/*", rest).is_some() {
        for kind in ["diff", "patch"] {
            if accept.contains(&format!(".{kind}")) {
                call.path.push('.');
                call.path.push_str(kind);
            }
        }
    }
    if let Some(query) = query.filter(|query| !query.contains("limit=")) {
        call.query = Some(query.replace("per_page=", "limit="));
    }
    call
}

impl RestTranslation {
    /// The body as the forge takes it.
    #[must_use]
    pub fn body(&self, body: &[u8]) -> Option<Vec<u8>> {
        if !self.merges {
            return None;
        }
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let method = asked["merge_method"].as_str().unwrap_or("merge");
        let mut sent = json!({"Do": method});
        for (from, to) in [
            ("commit_title", "MergeTitleField"),
            ("commit_message", "MergeMessageField"),
            ("sha", "head_commit_id"),
        ] {
            if !asked[from].is_null() {
                sent[to] = asked[from].clone();
            }
        }
        serde_json::to_vec(&sent).ok()
    }
}

/// An answer as the client expects it: one reference, where the forge lists those that begin so.
#[must_use]
pub fn translated_answer(forge: Forge, method: &str, path: &str, body: &[u8]) -> Option<Vec<u8>> {
    let (_, rest) = below_repository(path)?;
    let name = rest.strip_prefix("/git/ref/")?;
    if forge == Forge::GitHub || method != "GET" {
        return None;
    }
    let all: Value = serde_json::from_slice(body).ok()?;
    let full = format!("refs/{}", name.replace("%2F", "/").replace("%2f", "/"));
    let one = all
        .as_array()?
        .iter()
        .find(|one| one["ref"] == full.as_str())?;
    serde_json::to_vec(one).ok()
}

/// Whether the one reference that was asked for is not there, where the forge lists those that
/// begin so: what is 404 to the client.
#[must_use]
pub fn is_missing_reference(forge: Forge, method: &str, path: &str, body: &[u8]) -> bool {
    let is_asked = below_repository(path).is_some_and(|(_, rest)| rest.starts_with("/git/ref/"));
    forge != Forge::GitHub
        && method == "GET"
        && is_asked
        && serde_json::from_slice::<Vec<Value>>(body).is_ok()
        && translated_answer(forge, method, path, body).is_none()
}

/// `/repos/owner/name`, and what follows.
fn below_repository(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/repos/")?;
    let owner = rest.find('/')?;
    let name = rest[owner + 1..].find('/')?;
    let at = "/repos/".len() + owner + 1 + name;
    Some(path.split_at(at))
}

/// What stands for the stars.
fn taken<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    let (mut taken, mut rest) = (Vec::new(), path);
    for part in pattern.split('/').skip(1) {
        rest = rest.strip_prefix('/')?;
        if part == "**" {
            return (!rest.is_empty()).then(|| {
                taken.push(rest);
                taken
            });
        }
        let end = rest.find('/').unwrap_or(rest.len());
        let (own, after) = rest.split_at(end);
        match part {
            "*" if !own.is_empty() => taken.push(own),
            part if part == own => {}
            _ => return None,
        }
        rest = after;
    }
    rest.is_empty().then_some(taken)
}

fn filled(target: &str, taken: &[&str]) -> String {
    let mut taken = taken.iter();
    let parts = target.split('/').map(|part| match part {
        "*" | "**" => taken.next().copied().unwrap_or_default(),
        part => part,
    });
    let parts: Vec<&str> = parts.collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_calls_are_sent_as_the_forge_has_them() {
        for (call, expected) in [
            (
                "DELETE /repos/a/b/git/refs/heads/x/y",
                "DELETE /repos/a/b/branches/x/y",
            ),
            (
                "DELETE /repos/a/b/git/refs/tags/v1",
                "DELETE /repos/a/b/tags/v1",
            ),
            (
                "GET /repos/a/b/git/ref/heads/x",
                "GET /repos/a/b/git/refs/heads/x",
            ),
            (
                "GET /repos/a/b/commits/abc",
                "GET /repos/a/b/git/commits/abc",
            ),
            (
                "GET /repos/a/b/commits/abc/status",
                "GET /repos/a/b/commits/abc/status",
            ),
            (
                "PUT /repos/a/b/pulls/7/merge",
                "POST /repos/a/b/pulls/7/merge",
            ),
            (
                "GET /repos/a/b/issues?per_page=9",
                "GET /repos/a/b/issues?limit=9",
            ),
            ("GET /repos/a/b", "GET /repos/a/b"),
            ("GET /git/ref/heads/x", "GET /git/ref/heads/x"),
        ] {
            let (method, rest) = call.split_once(' ').unwrap();
            let (path, query) = match rest.split_once('?') {
                Some((path, query)) => (path, Some(query)),
                None => (rest, None),
            };
            let shown = |call: &RestTranslation| match &call.query {
                Some(query) => format!("{} {}?{query}", call.method, call.path),
                None => format!("{} {}", call.method, call.path),
            };
            let gitea = translated(Forge::Gitea, method, path, query, "");
            assert_eq!(shown(&gitea), expected);
            let github = translated(Forge::GitHub, method, path, query, "");
            assert_eq!(shown(&github), call);
        }
        let diff = "application/vnd.github.v3.diff";
        let diff = translated(Forge::Forgejo, "GET", "/repos/a/b/pulls/7", None, diff);
        assert_eq!(diff.path, "/repos/a/b/pulls/7.diff");
        let merge = translated(Forge::Gitea, "PUT", "/repos/a/b/pulls/7/merge", None, "");
        let body = merge
            .body(br#"{"merge_method": "squash", "commit_title": "t"}"#)
            .unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body, json!({"Do": "squash", "MergeTitleField": "t"}));
        let all = br#"[{"ref": "refs/heads/x-y"}, {"ref": "refs/heads/x"}]"#;
        let one = translated_answer(Forge::Gitea, "GET", "/repos/a/b/git/ref/heads/x", all);
        assert_eq!(one.unwrap(), br#"{"ref":"refs/heads/x"}"#);
        let missing = |name: &str, body: &[u8]| {
            let path = format!("/repos/a/b/git/ref/heads/{name}");
            is_missing_reference(Forge::Gitea, "GET", &path, body)
        };
        assert!(!missing("x", all) && missing("x-", all) && missing("x", b"[]"));
        assert!(!missing("x", br#"{"message": "no"}"#));
    }
}
