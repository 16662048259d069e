//! What is changed: the calls that a mutation becomes.

use forge_core::Forge::{self, GitHub, Gitea};
use serde_json::{Value, json};

use crate::{Script, ask, gitea_pull, github_pull, id, repository};

/// Answers that all changes need.
fn script(forge: Forge) -> Script {
    let pull = if forge == GitHub {
        github_pull()
    } else {
        gitea_pull()
    };
    let mut as_issue = pull.clone();
    as_issue["pull_request"] = json!({});
    let done = json!({"number": 7, "id": 1, "sha": "bead", "commit": {"sha": "bead"}});
    Script::new(&[
        ("GET ", repository()),
        ("GET /pulls/7", pull),
        ("GET /issues/7", as_issue),
        (
            "GET /issues/1",
            json!({"number": 1, "title": "x", "assignees": [{"login": "eve"}]}),
        ),
        (
            "GET /labels",
            json!([{"id": 3, "name": "bug", "node_id": "LA_x"}]),
        ),
        ("GET /labels/bug", json!({"id": 3, "name": "bug"})),
        (
            "GET /assignees",
            json!([{"login": "ada", "node_id": "U_x"}]),
        ),
        (
            "GET /git/ref/heads/main",
            json!({"ref": "refs/heads/main", "object": {"sha": "abc"}}),
        ),
        (
            "GET /git/refs/heads/main",
            json!([{"ref": "refs/heads/main", "object": {"sha": "abc"}}]),
        ),
        ("GET /contents/b.txt", json!({"sha": "b10b"})),
        ("POST /contents", done.clone()),
        ("POST /git/blobs", done.clone()),
        ("POST /git/trees", done.clone()),
        ("POST /git/commits", done.clone()),
        ("PATCH /git/refs/heads/main", done.clone()),
        ("POST /issues", done.clone()),
        ("PATCH /issues/1", done.clone()),
        ("PATCH /issues/7", done.clone()),
        ("PATCH /pulls/7", done.clone()),
        ("POST /issues/1/comments", done.clone()),
        ("POST /issues/1/labels", done.clone()),
        ("DELETE /issues/1/labels/bug", Value::Null),
        ("DELETE /issues/1/labels/3", Value::Null),
        ("POST /issues/1/assignees", done.clone()),
        ("POST /pulls", done.clone()),
        ("PUT /pulls/7/merge", done.clone()),
        ("POST /pulls/7/merge", done.clone()),
        ("POST /pulls/7/reviews", done.clone()),
        ("DELETE /pulls/7/requested_reviewers", Value::Null),
        ("POST /pulls/7/requested_reviewers", done),
        ("DELETE /git/refs/heads/main", Value::Null),
        ("DELETE /branches/main", Value::Null),
    ])
}

/// An id that only names what it is of.
fn named(forge: Forge, field: &str) -> Value {
    let script = script(forge);
    let query = "{ user(login: \"ada\") { id } repository(owner: \"acme\", name: \"rocket\") {
        id label(name: \"bug\") { id } ref(qualifiedName: \"main\") { id }
    } }";
    let found = ask(forge, &script, query, &json!({}));
    found["data"].pointer(field).unwrap().clone()
}

/// Mutations with their inputs, and below each the calls that change something. Words in capitals
/// stand for ids.
const CHANGES: &str = include_str!("changes.txt");

#[test]
fn i17_changes_become_the_calls_that_the_forge_takes() {
    let mut lines = CHANGES.lines().peekable();
    let mut tried = 0;
    while let Some(line) = lines.next() {
        let mut words = line.splitn(3, ' ');
        let forge = match words.next() {
            Some("GitHub") => GitHub,
            _ => Gitea,
        };
        let (name, input) = (words.next().unwrap(), words.next().unwrap());
        let mut expected = Vec::new();
        while let Some(call) = lines.next_if(|line| line.starts_with("  ")) {
            expected.push(call.trim());
        }
        let (answer, calls) = changed(forge, name, input);
        let payload = &answer["data"][name];
        assert_eq!(payload["clientMutationId"], "mine", "{name}: {answer:#}");
        assert_eq!(calls, expected, "{forge:?} {name}");
        tried += 1;
    }
    assert_eq!(tried, 21);
}

/// Carries a mutation out; gives its answer, and the calls that change something.
fn changed(forge: Forge, name: &str, input: &str) -> (Value, Vec<String>) {
    let script = script(forge);
    let mut text = input.to_owned();
    for (word, value) in [
        ("ISSUE", id(forge, &script, 1)),
        ("PULL", id(forge, &script, 7)),
        ("LABEL", named(forge, "/repository/label/id")),
        ("USER", named(forge, "/user/id")),
        ("REPOSITORY", named(forge, "/repository/id")),
        ("REF", named(forge, "/repository/ref/id")),
    ] {
        text = text.replace(&format!("\"{word}\""), &value.to_string());
    }
    let mut input: Value = serde_json::from_str(&text).unwrap();
    input["clientMutationId"] = json!("mine");
    let kind = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
    let query =
        format!("mutation($input: {kind}!) {{ {name}(input: $input) {{ clientMutationId }} }}");
    let answer = ask(forge, &script, &query, &json!({"input": input}));
    let calls = script.calls.take().into_iter();
    let changes = calls.filter(|call| !call.starts_with("GET"));
    (answer, changes.collect())
}

#[test]
fn i17_what_rest_has_no_call_for_and_foreign_ids_are_refused() {
    let script = script(GitHub);
    let pull = id(GitHub, &script, 7);
    let ready = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { id } } }";
    let answer = ask(GitHub, &script, ready, &json!({"id": pull}));
    assert_eq!(answer["errors"][0]["type"], "NOT_ANSWERED", "{answer:#}");
    for foreign in [
        "PR_kwDOAbc",
        "nonsense",
        "b3JyZXJ5Oklzc3VlOmFjbWUvc2VjcmV0OjE",
    ] {
        let answer = ask(GitHub, &script, ready, &json!({"id": foreign}));
        assert_eq!(answer["errors"][0]["type"], "NOT_FOUND", "{answer:#}");
    }
    let calls = script.calls.borrow();
    assert!(
        calls.iter().all(|call| call.starts_with("GET")),
        "{calls:#?}"
    );
}
