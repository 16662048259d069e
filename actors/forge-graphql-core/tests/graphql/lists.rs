//! Which part of a list is given, in which order, and what is left out of it.

use forge_core::Forge::{GitHub, Gitea};
use serde_json::{Value, json};

use crate::{Script, ask, data, gitea_pull, repository};

fn issue(number: u64, state: &str) -> Value {
    json!({"number": number, "title": "a", "state": state, "user": {"login": "ada"},
        "created_at": format!("2026-01-01T00:00:{number:02}Z"),
        "milestone": {"number": number % 2, "id": 40 + number % 2}})
}

fn numbers(found: &Value) -> Vec<u64> {
    let nodes = found["nodes"].as_array().unwrap().iter();
    nodes.map(|one| one["number"].as_u64().unwrap()).collect()
}

fn failure(script: &Script, fields: &str) -> (String, String) {
    let query = format!("{{ repository(owner: \"acme\", name: \"rocket\") {{ {fields} }} }}");
    let found = ask(GitHub, script, &query, &json!({}));
    let error = &found["errors"][0];
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (text("type"), text("message"))
}

#[test]
fn i17_the_last_issues_are_the_newest() {
    // Gitea's one order, and GitHub's of `direction=desc`.
    let issues: Vec<Value> = (1..=9).rev().map(|at| issue(at, "closed")).collect();
    let script = Script::new(&[("GET ", repository()), ("GET /issues", issues.into())]);
    for forge in [GitHub, Gitea] {
        script.calls.borrow_mut().clear();
        let fields =
            "issues(last: 3, states: CLOSED) { nodes { number } pageInfo { hasPreviousPage } }";
        let found = data(forge, &script, fields);
        assert_eq!(numbers(&found["issues"]), [7, 8, 9], "{forge:?}");
        assert_eq!(found["issues"]["pageInfo"]["hasPreviousPage"], true);
        let calls = script.calls.borrow();
        let asked = calls.iter().find(|call| call.contains("/issues?")).unwrap();
        assert!(
            forge == Gitea || asked.contains("direction=desc"),
            "{asked}"
        );
    }
    let first = data(Gitea, &script, "issues(first: 2) { nodes { number } }");
    assert_eq!(numbers(&first["issues"]), [1, 2], "GitHub's own order");
}

#[test]
fn i17_the_last_ones_that_are_kept_are_the_last_of_those() {
    let review = |id: u64, state: &str| json!({"id": id, "user": {"login": "bob"}, "state": state});
    let state = |id: u64| match id {
        20 | 30 | 40 => "APPROVED",
        _ => "COMMENTED",
    };
    let reviews: Vec<Value> = (1..=60).map(|id| review(id, state(id))).collect();
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /pulls/7", gitea_pull()),
        ("GET /pulls/7/reviews", reviews.into()),
    ]);
    let fields =
        "pullRequest(number: 7) { reviews(last: 1, states: [APPROVED]) { nodes { databaseId } } }";
    let found = data(Gitea, &script, fields);
    assert_eq!(
        found["pullRequest"]["reviews"]["nodes"],
        json!([{"databaseId": 40}])
    );
}

#[test]
fn i17_arguments_are_heeded_or_refused() {
    let label = |id: u64, name: &str| json!({"id": id, "name": name, "color": "0"});
    let branch = |name: &str| json!({"name": name, "commit": {"sha": "a"}});
    let mut fork = gitea_pull();
    fork["head"] = json!({"ref": "x", "repo": {"full_name": "eve/rocket"}});
    let mut closed = gitea_pull();
    closed["head"]["ref"] = json!("x");
    closed["state"] = json!("closed");
    let mut open = closed.clone();
    (open["number"], open["state"]) = (json!(9), json!("open"));
    let script = Script::new(&[
        ("GET ", repository()),
        (
            "GET /labels",
            json!([label(2, "b"), label(1, "c"), label(3, "a")]),
        ),
        (
            "GET /branches",
            json!([branch("x"), branch("y"), branch("xy")]),
        ),
        (
            "GET /assignees",
            json!([{"login": "ada"}, {"login": "bob"}]),
        ),
        ("GET /issues", (1..=4).map(|at| issue(at, "open")).collect()),
        ("GET /pulls", json!([fork, closed, open])),
        (
            "GET /git/ref/heads/x",
            json!({"ref": "refs/heads/x", "object": {"sha": "a"}}),
        ),
    ]);
    let found = data(
        GitHub,
        &script,
        "names: labels(first: 9, orderBy: {field: NAME, direction: DESC}) { nodes { name } }
         made: labels(first: 2, orderBy: {field: CREATED_AT, direction: ASC}) { nodes { name } }
         refs(refPrefix: \"refs/heads/\", first: 9, query: \"x\",
            orderBy: {field: ALPHABETICAL, direction: DESC}) { nodes { name } }
         assignableUsers(first: 9, query: \"BO\") { nodes { login } }
         issues(first: 9, filterBy: {milestoneNumber: \"1\"}) { nodes { number } }
         byId: issues(first: 9, filterBy: {milestone: \"40\"}) { nodes { number } }
         closed: pullRequests(first: 9, states: [CLOSED]) { nodes { number } }
         ref(qualifiedName: \"x\") { associatedPullRequests(first: 9, states: [OPEN]) { nodes { number } } }",
    );
    let nodes = |name: &str| found[name]["nodes"].clone();
    assert_eq!(
        nodes("names"),
        json!([{"name": "c"}, {"name": "b"}, {"name": "a"}])
    );
    assert_eq!(nodes("made"), json!([{"name": "c"}, {"name": "b"}]));
    assert_eq!(nodes("refs"), json!([{"name": "xy"}, {"name": "x"}]));
    assert_eq!(nodes("assignableUsers"), json!([{"login": "bob"}]));
    assert_eq!(numbers(&found["issues"]), [1, 3]);
    assert_eq!(numbers(&found["byId"]), [2, 4]);
    assert_eq!(numbers(&found["closed"]), [7]);
    assert_eq!(numbers(&found["ref"]["associatedPullRequests"]), [9]);
    for fields in [
        "refs(refPrefix: \"refs/tags/\", first: 1, orderBy: {field: TAG_COMMIT_DATE, direction: DESC}) { totalCount }",
        "labels(first: 1, orderBy: {field: ISSUE_COUNT, direction: DESC}) { totalCount }",
        "issues(first: 1, orderBy: {field: COMMENTS, direction: DESC}) { totalCount }",
        "issues(last: 1, before: \"bzE\") { totalCount }",
        "issues(first: 1, filterBy: {viewerSubscribed: true}) { totalCount }",
    ] {
        let (kind, message) = failure(&script, fields);
        assert_eq!(kind, "NOT_ANSWERED", "{fields}: {message}");
    }
}

#[test]
fn i17_a_failed_status_is_found_on_every_page() {
    let status = |at: u64, state: &str| json!({"context": format!("ci {at}"), "state": state});
    let mut all: Vec<Value> = (0..100).map(|at| status(at, "success")).collect();
    all.push(status(100, "failure"));
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /commits/abc", json!({"sha": "abc"})),
        (
            "GET /commits/abc/status",
            json!({"state": "failure", "statuses": all}),
        ),
        (
            "GET /commits/abc/check-runs",
            json!({"total_count": 0, "check_runs": []}),
        ),
    ]);
    let found = data(
        GitHub,
        &script,
        "object(expression: \"abc\") { ... on Commit {
            statusCheckRollup { state contexts(last: 1) { totalCount nodes { ... on StatusContext { context } } } }
            status { state contexts { context } }
        } }",
    );
    let rollup = &found["object"]["statusCheckRollup"];
    assert_eq!(rollup["state"], "FAILURE");
    assert_eq!(rollup["contexts"]["totalCount"], 101);
    assert_eq!(rollup["contexts"]["nodes"], json!([{"context": "ci 100"}]));
    assert_eq!(found["object"]["status"]["state"], "FAILURE");
    assert_eq!(
        found["object"]["status"]["contexts"]
            .as_array()
            .unwrap()
            .len(),
        101
    );
}

#[test]
fn i17_a_list_that_is_longer_than_is_read_says_so() {
    let mut issues: Vec<Value> = (1..=1_100).map(|at| issue(at, "open")).collect();
    issues[1_050]["user"] = json!({"login": "eve"});
    let script = Script::new(&[("GET ", repository()), ("GET /issues", issues.into())]);
    let fields = |after: &Value| {
        format!(
            "issues(first: 5, after: {after}, filterBy: {{createdBy: \"eve\"}}) {{ nodes {{ number }} pageInfo {{ hasNextPage endCursor }} }}"
        )
    };
    let found = data(GitHub, &script, &fields(&Value::Null));
    let page = &found["issues"]["pageInfo"];
    assert_eq!(
        (numbers(&found["issues"]).len(), &page["hasNextPage"]),
        (0, &json!(true))
    );
    let found = data(GitHub, &script, &fields(&page["endCursor"]));
    assert_eq!(numbers(&found["issues"]), [1_051]);
    assert_eq!(found["issues"]["pageInfo"]["hasNextPage"], false);
    let (kind, message) = failure(
        &script,
        "issues(first: 5, filterBy: {createdBy: \"eve\"}) { totalCount }",
    );
    assert_eq!(kind, "UNPROCESSABLE");
    assert!(message.contains("more than 1000 items"), "{message}");
    let last = "issues(last: 5, filterBy: {createdBy: \"eve\"}) { nodes { number } }";
    assert_eq!(failure(&script, last).0, "UNPROCESSABLE");
}

#[test]
fn i17_what_a_pull_request_closes_is_not_said_to_be_nothing() {
    let script = Script::new(&[("GET ", repository()), ("GET /pulls/7", gitea_pull())]);
    let fields = "pullRequest(number: 7) { closingIssuesReferences(first: 1) { totalCount } }";
    let (kind, message) = failure(&script, fields);
    assert_eq!(kind, "NOT_ANSWERED");
    assert!(message.contains("closingIssuesReferences"), "{message}");
}
