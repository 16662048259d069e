//! What of the forge's answers a job does not see.

use serde_json::Value;

/// A token that forges put into descriptions of private repositories: it is good without the
/// gateway, and after the job.
const CLONE_TOKEN: &str = "temp_clone_token";

/// An answer as a job sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownAnswer {
    /// As it came.
    Whole,
    /// Without what is nothing for the job.
    Part(Vec<u8>),
    /// As if it were not there.
    Nothing,
}

/// Endpoints whose answers are files of the repository, or of a run.
const FILES: [&str; 9] = [
    "actions", "archive", "contents", "git", "media", "raw", "readme", "tarball", "zipball",
];

fn endpoint(path: &str) -> &str {
    path.split('/').nth(4).unwrap_or_default()
}

/// Whether a call is of releases.
#[must_use]
pub fn is_of_releases(path: &str) -> bool {
    endpoint(path) == "releases"
}

/// What a job of `repository` sees of an answer; `writes`: it may write contents, and so sees
/// releases that are not published.
#[must_use]
pub fn filter_answer(path: &str, body: &[u8], repository: &str, writes: bool) -> ShownAnswer {
    if FILES.contains(&endpoint(path)) {
        return ShownAnswer::Whole;
    }
    let holds = |word: &str| {
        let word = word.as_bytes();
        body.windows(word.len()).any(|part| part == word)
    };
    let hides_drafts = !writes && is_of_releases(path) && holds("draft");
    let is_timeline = path.ends_with("/timeline");
    if !hides_drafts && !is_timeline && !holds(CLONE_TOKEN) {
        return ShownAnswer::Whole;
    }
    let Ok(mut answer) = serde_json::from_slice::<Value>(body) else {
        return ShownAnswer::Whole;
    };
    let is_draft = |value: &Value| value["draft"] == true;
    if hides_drafts {
        match &mut answer {
            Value::Array(all) => all.retain(|one| !is_draft(one)),
            one if is_draft(one) => return ShownAnswer::Nothing,
            _ => {}
        }
    }
    if let (true, Value::Array(all)) = (is_timeline, &mut answer) {
        all.retain(|event| !is_of_another(event, repository));
    }
    remove_token(&mut answer);
    ShownAnswer::Part(answer.to_string().into_bytes())
}

/// Whether an event of an issue tells of one of another repository, with its text.
fn is_of_another(event: &Value, repository: &str) -> bool {
    let named = [
        "/source/issue/repository/full_name",
        "/ref_issue/repository/full_name",
    ];
    let mut names = named.iter().filter_map(|at| event.pointer(at)?.as_str());
    names.any(|name| !name.eq_ignore_ascii_case(repository))
}

fn remove_token(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove(CLONE_TOKEN);
            object.values_mut().for_each(remove_token);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_token),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, body: &str, writes: bool) -> ShownAnswer {
        filter_answer(path, body.as_bytes(), "a/b", writes)
    }

    fn part(text: &str) -> ShownAnswer {
        ShownAnswer::Part(text.as_bytes().to_vec())
    }

    use ShownAnswer::{Nothing, Whole};

    #[test]
    fn i17_no_token_of_the_forge_is_shown_at_any_depth() {
        let body = r#"{"name":"a","parent":{"temp_clone_token":"x"},"temp_clone_token":"secret"}"#;
        let seen = r#"{"name":"a","parent":{}}"#;
        assert_eq!(shown("/repos/a/b", body, true), part(seen));
        let list = r#"[{"head":{"repo":{"id":1,"temp_clone_token":null}}}]"#;
        let seen = r#"[{"head":{"repo":{"id":1}}}]"#;
        assert_eq!(shown("/repos/a/b/pulls", list, false), part(seen));
        assert_eq!(shown("/repos/a/b", r#"{"name":"a"}"#, true), Whole);
        let text = "temp_clone_token = 1";
        assert_eq!(shown("/repos/a/b/raw/x", text, true), Whole);
    }

    #[test]
    fn i17_drafts_of_releases_are_seen_by_who_may_write() {
        let list = r#"[{"id":1,"draft":true},{"draft":false,"id":2}]"#;
        let path = "/repos/a/b/releases";
        assert_eq!(shown(path, list, true), Whole);
        assert_eq!(
            shown(path, list, false),
            part(r#"[{"draft":false,"id":2}]"#)
        );
        let one = r#"{"id":1,"draft":true}"#;
        assert_eq!(shown("/repos/a/b/releases/1", one, false), Nothing);
        assert_eq!(shown("/repos/a/b/releases/1", one, true), Whole);
    }

    #[test]
    fn i17_files_are_shown_as_they_are() {
        let file = r#"{"draft":true,"temp_clone_token":"an example"}"#;
        for path in ["contents/docs/releases.json", "raw/x", "git/blobs/1"] {
            let path = format!("/repos/a/b/{path}");
            assert_eq!(shown(&path, file, false), Whole, "{path}");
        }
    }

    #[test]
    fn i17_a_timeline_tells_of_the_own_repository() {
        let of = |name: &str| {
            format!(r#"{{"source":{{"issue":{{"repository":{{"full_name":"{name}"}}}}}}}}"#)
        };
        let all = format!("[{},{},{{}}]", of("A/b"), of("a/secret"));
        let seen = format!("[{},{{}}]", of("A/b"));
        assert_eq!(
            shown("/repos/a/b/issues/7/timeline", &all, true),
            part(&seen)
        );
    }
}
