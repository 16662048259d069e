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

/// What a job sees of an answer; `writes`: it may write contents, and so sees releases that are not
/// published.
#[must_use]
pub fn shown_answer(path: &str, body: &[u8], writes: bool) -> ShownAnswer {
    let holds = |word: &str| {
        let word = word.as_bytes();
        body.windows(word.len()).any(|part| part == word)
    };
    let hides_drafts = !writes && path.contains("/releases") && holds("draft");
    if !hides_drafts && !holds(CLONE_TOKEN) {
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
    remove_token(&mut answer);
    ShownAnswer::Part(answer.to_string().into_bytes())
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
        shown_answer(path, body.as_bytes(), writes)
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
}
