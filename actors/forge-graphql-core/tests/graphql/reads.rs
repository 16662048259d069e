//! What is read.

use forge_core::Forge;
use serde_json::{Value, json};

use crate::{Script, ask, data, gitea_pull, github_pull, repository};

const PULL: &str = "pullRequest(number: 7) {
    number title body state closed isDraft mergeable mergeStateStatus additions changedFiles
    mergeCommit { oid } headRefName headRefOid isCrossRepository headRepositoryOwner { login }
    author { __typename login ... on User { name } } mergedBy { __typename login }
    labels(first: 100) { nodes { name color } totalCount } assignees(first: 100) { totalCount }
    milestone { number title }
    reviewRequests(first: 100) { nodes { requestedReviewer {
        __typename ... on User { login } ... on Team { slug }
    } } }
    reviews(first: 100) { nodes { state author { login } } totalCount } reviewDecision
    latestReviews(first: 100) { nodes { state author { login } } }
    comments(last: 1) { nodes { body viewerDidAuthor } totalCount }
    statusCheckRollup: commits(last: 1) { nodes { commit { oid statusCheckRollup {
        state contexts(first: 100) { nodes { __typename
            ... on StatusContext { context state } ... on CheckRun { name status conclusion }
        } pageInfo { hasNextPage } }
    } } } }
    count: commits { totalCount }
    projectCards(first: 100) { nodes { project { name } } totalCount }
    projectItems(first: 100) { nodes { id } }
    reactionGroups { content users { totalCount } }
}";

#[test]
fn i17_a_pull_request_is_read_at_github() {
    let review = |who: &str, state: &str| json!({"id": 1, "user": {"login": who}, "state": state});
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /pulls/7", github_pull()),
        (
            "GET /pulls/7/reviews",
            json!([
                review("bob", "CHANGES_REQUESTED"),
                review("bob", "APPROVED"),
                review("eve", "COMMENTED")
            ]),
        ),
        (
            "GET /issues/7/comments",
            json!([{"id": 9, "body": "hello", "user": {"login": "runner"}}]),
        ),
        (
            "GET /commits/abc/status",
            json!({"statuses": [{"context": "ci", "state": "success"}]}),
        ),
        (
            "GET /commits/abc/check-runs",
            json!({"total_count": 1, "check_runs": [{"name": "lint", "status": "completed", "conclusion": "failure"}]}),
        ),
    ]);
    let found = data(Forge::GitHub, &script, PULL);
    let pull = &found["pullRequest"];
    for (field, expected) in [
        ("state", json!("MERGED")),
        ("closed", json!(true)),
        ("body", json!("")),
        ("mergeable", json!("UNKNOWN")),
        ("mergeCommit", json!({"oid": "c0ffee"})),
        ("isCrossRepository", json!(true)),
        (
            "author",
            json!({"__typename": "User", "login": "ada", "name": null}),
        ),
        (
            "mergedBy",
            json!({"__typename": "Bot", "login": "hook[bot]"}),
        ),
        ("changedFiles", json!(0)),
        ("milestone", Value::Null),
        (
            "labels",
            json!({"nodes": [{"name": "bug", "color": "ff0000"}], "totalCount": 1}),
        ),
        ("reviewDecision", json!("APPROVED")),
        ("count", json!({"totalCount": 2})),
        ("projectItems", json!({"nodes": []})),
    ] {
        assert_eq!(pull[field], expected, "{field}");
    }
    let asked = &pull["reviewRequests"]["nodes"][0]["requestedReviewer"];
    assert_eq!(*asked, json!({"__typename": "Team", "slug": "crew"}));
    assert_eq!(pull["reviews"]["totalCount"], 3);
    assert_eq!(pull["latestReviews"]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(
        pull["comments"]["nodes"][0],
        json!({"body": "hello", "viewerDidAuthor": true})
    );
    let commit = &pull["statusCheckRollup"]["nodes"][0]["commit"];
    assert_eq!(commit["oid"], "abc");
    let rollup = &commit["statusCheckRollup"];
    assert_eq!(rollup["state"], "FAILURE");
    assert_eq!(
        rollup["contexts"]["nodes"],
        json!([
            {"__typename": "StatusContext", "context": "ci", "state": "SUCCESS"},
            {"__typename": "CheckRun", "name": "lint", "status": "COMPLETED", "conclusion": "FAILURE"},
        ])
    );
    let calls = script.calls.borrow();
    let pulls = calls.iter().filter(|call| *call == "GET /pulls/7").count();
    assert_eq!(pulls, 1, "what is read twice is asked for once: {calls:#?}");
}

#[test]
fn i17_a_pull_request_is_read_at_gitea() {
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /pulls/7", gitea_pull()),
        (
            "GET /pulls/7/reviews",
            json!([{"id": 1, "user": {"login": "eve"}, "state": "REQUEST_CHANGES"}, {"id": 2, "state": "REQUEST_REVIEW"}]),
        ),
        ("GET /pulls/7/commits", json!([{"sha": "abc"}])),
        ("GET /issues/7/comments", json!([])),
        (
            "GET /commits/abc/status",
            json!({"statuses": [{"context": "ci", "status": "pending"}]}),
        ),
    ]);
    let found = data(Forge::Gitea, &script, PULL);
    let pull = &found["pullRequest"];
    for (field, expected) in [
        ("state", json!("OPEN")),
        ("isDraft", json!(true)),
        ("mergeable", json!("MERGEABLE")),
        ("mergeStateStatus", json!("DRAFT")),
        ("isCrossRepository", json!(false)),
        ("milestone", json!({"number": 4, "title": "one"})),
        ("assignees", json!({"totalCount": 0})),
        ("reviewDecision", json!("CHANGES_REQUESTED")),
        ("count", json!({"totalCount": 1})),
    ] {
        assert_eq!(pull[field], expected, "{field}");
    }
    assert_eq!(
        pull["reviews"]["nodes"],
        json!([{"state": "CHANGES_REQUESTED", "author": {"login": "eve"}}])
    );
    let rollup = &pull["statusCheckRollup"]["nodes"][0]["commit"]["statusCheckRollup"];
    assert_eq!(rollup["state"], "PENDING");
    let calls = script.calls.borrow();
    assert!(
        !calls.iter().any(|call| call.contains("check-runs")),
        "{calls:#?}"
    );
}

fn issue(number: u64) -> Value {
    json!({"number": number, "title": format!("issue {number}"), "state": "open", "user": {"login": "ada"}})
}

#[test]
fn i17_lists_are_read_page_by_page() {
    let issues: Vec<Value> = (1..=7).map(issue).collect();
    let script = Script::new(&[("GET ", repository()), ("GET /issues", issues.into())]);
    let fields = |after: &Value| {
        format!(
            "issues(first: 3, after: {after}, states: OPEN) {{ totalCount nodes {{ number }} pageInfo {{ hasNextPage endCursor }} }}"
        )
    };
    let (mut after, mut numbers) = (Value::Null, Vec::new());
    for more in [true, true, false] {
        let found = data(Forge::Gitea, &script, &fields(&after));
        let found = &found["issues"];
        assert_eq!(found["totalCount"], 7);
        numbers.extend(
            found["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["number"].as_u64()),
        );
        assert_eq!(found["pageInfo"]["hasNextPage"], more);
        after = found["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(numbers, (1..=7).map(Some).collect::<Vec<_>>());
    let last = data(
        Forge::Gitea,
        &script,
        "issues(last: 2) { nodes { number } }",
    );
    // As GitHub's own program asks for the first ones.
    assert_eq!(last["issues"]["nodes"].as_array().unwrap().len(), 2);
    let count = data(
        Forge::Gitea,
        &script,
        "issues(states: [OPEN]) { totalCount }",
    );
    assert_eq!(count["issues"]["totalCount"], 7);
}

#[test]
fn i17_github_s_list_of_issues_is_without_pull_requests() {
    let mut pull = issue(2);
    pull["pull_request"] = json!({"url": "x"});
    let script = Script::new(&[
        ("GET ", repository()),
        ("GET /issues", json!([issue(1), pull, issue(3)])),
    ]);
    let found = data(
        Forge::GitHub,
        &script,
        "issues(first: 9) { totalCount nodes { number } }",
    );
    assert_eq!(
        found["issues"],
        json!({"totalCount": 2, "nodes": [{"number": 1}, {"number": 3}]})
    );
}

#[test]
fn i17_a_search_stays_in_the_repository() {
    let mut other = gitea_pull();
    other["number"] = json!(8);
    other["user"]["login"] = json!("bob");
    let script = Script::new(&[("GET /pulls", json!([gitea_pull(), other]))]);
    let query = "query($q: String!) { search(query: $q, type: ISSUE, first: 9) { issueCount nodes { ... on PullRequest { number } } } }";
    let own = json!({"q": "repo:acme/rocket is:pr state:open author:ada"});
    let found = ask(Forge::Gitea, &script, query, &own);
    assert_eq!(
        found["data"]["search"],
        json!({"issueCount": 1, "nodes": [{"number": 7}]})
    );
    for (words, kind) in [
        ("repo:acme/secret is:pr", "NOT_FOUND"),
        ("is:pr", "FORBIDDEN"),
    ] {
        let found = ask(Forge::Gitea, &script, query, &json!({"q": words}));
        assert_eq!(found["errors"][0]["type"], kind, "{found:#}");
    }
}

#[test]
fn i17_a_repository_and_what_is_in_it_are_read() {
    let script = Script::new(&[
        ("GET ", repository()),
        (
            "GET /git/ref/tags/v1",
            json!({"ref": "refs/tags/v1", "object": {"sha": "abc", "type": "commit"}}),
        ),
        (
            "GET /commits/abc",
            json!({"sha": "abc", "commit": {"message": "one\n\ntwo"}}),
        ),
        (
            "GET /contents/docs/a.md",
            json!({"sha": "b10b", "size": 5, "content": "aGVs\nbG8="}),
        ),
        (
            "GET /releases",
            json!([{"id": 5, "tag_name": "v2", "draft": true}]),
        ),
    ]);
    let found = data(
        Forge::GitHub,
        &script,
        "nameWithOwner owner { login } viewerPermission hasIssuesEnabled squashMergeAllowed
         defaultBranchRef { name prefix } none: ref(qualifiedName: \"refs/tags/v9\") { id }
         ref(qualifiedName: \"refs/tags/v1\") { name target { oid ... on Commit { messageHeadline messageBody } } }
         object(expression: \"HEAD:docs/a.md\") { ... on Blob { text byteSize } }
         release(tagName: \"v2\") { databaseId isDraft tagName } latestRelease { tagName }
         projectsV2(first: 1) { nodes { title } } issueTemplates { name }",
    );
    assert_eq!(
        found,
        json!({
            "nameWithOwner": "acme/rocket", "owner": {"login": "acme"}, "viewerPermission": "WRITE",
            "hasIssuesEnabled": true, "squashMergeAllowed": true, "none": null,
            "defaultBranchRef": {"name": "main", "prefix": "refs/heads/"},
            "ref": {"name": "v1", "target": {"oid": "abc", "messageHeadline": "one", "messageBody": "two"}},
            "object": {"text": "hello", "byteSize": 5},
            "release": {"databaseId": 5, "isDraft": true, "tagName": "v2"}, "latestRelease": null,
            "projectsV2": {"nodes": []}, "issueTemplates": [],
        })
    );
}

#[test]
fn i17_what_fails_is_an_error_in_github_s_shape_and_the_rest_is_answered() {
    let mut script = Script::new(&[("GET ", repository()), ("GET /issues/1", issue(1))]);
    script.refused = Some("/pulls");
    let query = "query($owner: String!) {
        own: repository(owner: $owner, name: \"rocket\") {
            issue(number: 1) { title } gone: issue(number: 2) { title } pullRequest(number: 7) { title }
        }
        other: repository(owner: \"acme\", name: \"secret\") { name }
        organization(login: \"acme\") { id }
    }";
    let found = ask(Forge::GitHub, &script, query, &json!({"owner": "ACME"}));
    let own = json!({"issue": {"title": "issue 1"}, "gone": null, "pullRequest": null});
    assert_eq!(
        found["data"],
        json!({"own": own, "other": null, "organization": null})
    );
    let mut errors: Vec<(String, String)> = found["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["path"].to_string(), error["type"].to_string()))
        .collect();
    errors.sort();
    let expected = [
        ("[\"organization\"]", "\"NOT_FOUND\""),
        ("[\"other\"]", "\"NOT_FOUND\""),
        ("[\"own\",\"gone\"]", "\"NOT_FOUND\""),
        ("[\"own\",\"pullRequest\"]", "\"FORBIDDEN\""),
    ];
    let expected = expected.map(|(path, kind)| (path.to_owned(), kind.to_owned()));
    assert_eq!(errors, expected);
}
