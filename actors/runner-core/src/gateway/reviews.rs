//! Decisions about pull requests that are people's: a job's token neither approves one nor merges
//! past the rules of its branch, whatever the runner's account may do at the forge.

use forge_core::Forge;
use serde_json::Value;

use super::path::parts;
use super::refusal::{CallRefusal, refuse};
use super::targets::value_of;

/// Whether a call decides on a pull request as a person does: it approves it, or takes a review of
/// somebody's away. At GitHub who may do this is the forge's to say.
fn is_decision(kind: Forge, method: &str, rest: &[&str], body: &Value) -> bool {
    let ["pulls", _, "reviews", behind @ ..] = rest else {
        return false;
    };
    let is_github = kind == Forge::GitHub;
    match (method, behind) {
        ("GET" | "HEAD", _) => false,
        (_, [] | [_] | [_, "events"]) if method == "POST" => approves(body),
        // The administrator's at Gitea and Forgejo.
        (_, [_, "dismissals" | "undismissals"]) => !is_github,
        ("DELETE", [_]) => !is_github,
        _ => false,
    }
}

/// `APPROVE` at GitHub, `APPROVED` at Gitea and Forgejo.
fn approves(body: &Value) -> bool {
    let event = value_of(body, "event").and_then(Value::as_str);
    event.is_some_and(|event| event.to_ascii_uppercase().contains("APPROV"))
}

/// Refuses a call that decides on a pull request in place of people; `approves`: the operator lets
/// jobs approve.
///
/// # Errors
/// It does.
pub fn check_decision(
    kind: Forge,
    (method, path): (&str, &str),
    body: &Value,
    approves: bool,
) -> Result<(), CallRefusal> {
    let parts = parts(path)?;
    let ["repos", _, _, rest @ ..] = parts.as_slice() else {
        return Ok(());
    };
    let forces = value_of(body, "force_merge");
    let forces = forces.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
    if matches!(rest, ["pulls", _, "merge"]) && forces {
        return refuse(
            "the token of a job merges nothing past the rules of its branch (`force_merge`)",
        );
    }
    if !approves && is_decision(kind, method, rest, body) {
        return refuse(
            "the token of a job approves no pull requests, and takes no reviews away: `token_approves` of the runner would let it",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: Forge, call: &str, body: &Value, approves: bool) -> bool {
        let (method, path) = call.split_once(' ').unwrap();
        let path = format!("/repos/acme/rocket/pulls/{path}");
        check_decision(kind, (method, &path), body, approves).is_ok()
    }

    #[test]
    fn i17_jobs_approve_no_pull_requests() {
        use Forge::{Forgejo, GitHub, Gitea};
        let approved = json!({"event": "APPROVED", "body": "fine"});
        for (kind, call, body) in [
            (Gitea, "POST 1/reviews", approved.clone()),
            (Gitea, "POST 1/reviews", json!({"Event": "approved"})),
            (GitHub, "POST 1/reviews", json!({"event": "APPROVE"})),
            (Forgejo, "POST 1/reviews/5", approved.clone()),
            (GitHub, "POST 1/reviews/5/events", approved),
            (Gitea, "POST 1/reviews/5/dismissals", json!({"message": ""})),
            (Gitea, "POST 1/reviews/5/undismissals", Value::Null),
            (Forgejo, "DELETE 1/reviews/5", Value::Null),
        ] {
            assert!(!check(kind, call, &body, false), "{call} {body}");
            assert!(check(kind, call, &body, true), "{call} {body}");
        }
        for (kind, call, body) in [
            (Gitea, "GET 1/reviews", Value::Null),
            (Gitea, "POST 1/reviews", json!({"event": "COMMENT"})),
            (
                Gitea,
                "POST 1/reviews",
                json!({"event": "REQUEST_CHANGES", "body": "APPROVE"}),
            ),
            (
                Gitea,
                "POST 1/requested_reviewers",
                json!({"reviewers": ["ada"]}),
            ),
            (
                GitHub,
                "PUT 1/reviews/5/dismissals",
                json!({"message": "stale"}),
            ),
            (GitHub, "DELETE 1/reviews/5", Value::Null),
            (GitHub, "PUT 1/reviews/5", json!({"body": "APPROVE"})),
        ] {
            assert!(check(kind, call, &body, false), "{call} {body}");
        }
    }

    #[test]
    fn i17_jobs_merge_nothing_past_the_rules() {
        for body in [
            json!({"Do": "merge", "force_merge": true}),
            json!({"Do": "merge", "Force_Merge": true}),
            json!({"Do": "merge", "force_merge": "true"}),
            json!({"Do": "merge", "force_merge": 1}),
        ] {
            for approves in [false, true] {
                assert!(!check(Forge::Gitea, "POST 1/merge", &body, approves));
            }
        }
        for body in [
            json!({"Do": "merge", "force_merge": false}),
            json!({"Do": "squash", "merge_when_checks_succeed": true}),
            Value::Null,
        ] {
            assert!(check(Forge::Gitea, "POST 1/merge", &body, false), "{body}");
        }
    }
}
