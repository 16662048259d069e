//! What is changed: the calls that a mutation becomes.

use forge_core::Forge::{self, GitHub, Gitea};
use serde_json::{Value, json};

use crate::{Script, ask, gitea_pull, github_pull, id, repository};

/// Answers that all changes need.
fn script(forge: Forge) -> Script {
    let pull = if forge == GitHub { github_pull() } else { gitea_pull() };
    let mut as_issue = pull.clone();
    as_issue["pull_request"] = json!({});
    let done = json!({"number": 7, "id": 1, "sha": "bead", "commit": {"sha": "bead"}});
    Script::new(&[
        ("GET ", repository()),
        ("GET /pulls/7", pull),
        ("GET /issues/7", as_issue),
        ("GET /issues/1", json!({"number": 1, "title": "x", "assignees": [{"login": "eve"}]})),
        ("GET /labels", json!([{"id": 3, "name": "bug", "node_id": "LA_x"}])),
        ("GET /labels/bug", json!({"id": 3, "name": "bug"})),
        ("GET /assignees", json!([{"login": "ada", "node_id": "U_x"}])),
        ("GET /git/ref/heads/main", json!({"ref": "refs/heads/main", "object": {"sha": "abc"}})),
        ("GET /git/refs/heads/main", json!([{"ref": "refs/heads/main", "object": {"sha": "abc"}}])),
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
    let query = format!(
        "{{ user(login: \"ada\") {{ id }} repository(owner: \"acme\", name: \"rocket\") {{ id label(name: \"bug\") {{ id }} ref(qualifiedName: \"main\") {{ id }} }} }}"
    );
    let found = ask(forge, &script, &query, &json!({}));
    found["data"].pointer(field).unwrap().clone()
}

#[test]
fn i17_changes_become_the_calls_that_the_forge_takes() {
    for (forge, name, input, expected) in [
        (GitHub, "addComment", json!({"subjectId": "ISSUE", "body": "b"}), vec!["POST /issues/1/comments {\"body\":\"b\"}"]),
        (GitHub, "closeIssue", json!({"issueId": "ISSUE", "stateReason": "NOT_PLANNED"}), vec![
            "PATCH /issues/1 {\"state\":\"closed\",\"state_reason\":\"not_planned\"}",
        ]),
        (Gitea, "closeIssue", json!({"issueId": "ISSUE"}), vec!["PATCH /issues/1 {\"state\":\"closed\"}"]),
        (GitHub, "createIssue", json!({"repositoryId": "REPOSITORY", "title": "t", "labelIds": ["LABEL"], "assigneeIds": "USER"}), vec![
            "POST /issues {\"assignees\":[\"ada\"],\"labels\":[\"bug\"],\"title\":\"t\"}",
        ]),
        (Gitea, "createIssue", json!({"repositoryId": "REPOSITORY", "title": "t", "labelIds": ["LABEL"]}), vec![
            "POST /issues {\"labels\":[3],\"title\":\"t\"}",
        ]),
        (GitHub, "addLabelsToLabelable", json!({"labelableId": "ISSUE", "labelIds": ["LA_x"]}), vec![
            "POST /issues/1/labels {\"labels\":[\"bug\"]}",
        ]),
        (Gitea, "removeLabelsFromLabelable", json!({"labelableId": "ISSUE", "labelIds": ["LABEL"]}), vec![
            "DELETE /issues/1/labels/3",
        ]),
        (GitHub, "addAssigneesToAssignable", json!({"assignableId": "ISSUE", "assigneeIds": ["U_x"]}), vec![
            "POST /issues/1/assignees {\"assignees\":[\"ada\"]}",
        ]),
        (Gitea, "addAssigneesToAssignable", json!({"assignableId": "ISSUE", "assigneeIds": ["USER"]}), vec![
            "PATCH /issues/1 {\"assignees\":[\"eve\",\"ada\"]}",
        ]),
        (GitHub, "createPullRequest", json!({"repositoryId": "R_x", "title": "t", "baseRefName": "main", "headRefName": "x", "draft": true}), vec![
            "POST /pulls {\"base\":\"main\",\"draft\":true,\"head\":\"x\",\"title\":\"t\"}",
        ]),
        (Gitea, "createPullRequest", json!({"repositoryId": "REPOSITORY", "title": "t", "baseRefName": "main", "headRefName": "x", "draft": true}), vec![
            "POST /pulls {\"base\":\"main\",\"head\":\"x\",\"title\":\"WIP: t\"}",
        ]),
        (GitHub, "updatePullRequest", json!({"pullRequestId": "PULL", "title": "t", "baseRefName": "next"}), vec![
            "PATCH /issues/7 {\"title\":\"t\"}", "PATCH /pulls/7 {\"base\":\"next\"}",
        ]),
        (GitHub, "mergePullRequest", json!({"pullRequestId": "PULL", "mergeMethod": "SQUASH", "expectedHeadOid": "abc"}), vec![
            "PUT /pulls/7/merge {\"merge_method\":\"squash\",\"sha\":\"abc\"}",
        ]),
        (Gitea, "enablePullRequestAutoMerge", json!({"pullRequestId": "PULL", "mergeMethod": "REBASE"}), vec![
            "POST /pulls/7/merge {\"Do\":\"rebase\",\"merge_when_checks_succeed\":true}",
        ]),
        (Gitea, "markPullRequestReadyForReview", json!({"pullRequestId": "PULL"}), vec![
            "PATCH /pulls/7 {\"title\":\"A change\"}",
        ]),
        (Gitea, "addPullRequestReview", json!({"pullRequestId": "PULL", "event": "APPROVE", "body": "b"}), vec![
            "POST /pulls/7/reviews {\"body\":\"b\",\"event\":\"APPROVED\"}",
        ]),
        (Gitea, "requestReviews", json!({"pullRequestId": "PULL", "userIds": ["USER"]}), vec![
            "DELETE /pulls/7/requested_reviewers {\"reviewers\":[\"bob\"]}",
            "POST /pulls/7/requested_reviewers {\"reviewers\":[\"ada\"],\"team_reviewers\":[]}",
        ]),
        (GitHub, "deleteRef", json!({"refId": "REF"}), vec!["DELETE /git/refs/heads/main"]),
        (Gitea, "deleteRef", json!({"refId": "REF"}), vec!["DELETE /branches/main"]),
        (GitHub, "createCommitOnBranch", commit(), vec![
            "POST /git/blobs {\"content\":\"eA==\",\"encoding\":\"base64\"}",
            "POST /git/trees {\"base_tree\":\"abc\",\"tree\":[{\"mode\":\"100644\",\"path\":\"a.txt\",\"sha\":\"bead\",\"type\":\"blob\"},{\"mode\":\"100644\",\"path\":\"b.txt\",\"sha\":null,\"type\":\"blob\"}]}",
            "POST /git/commits {\"message\":\"m\",\"parents\":[\"abc\"],\"tree\":\"bead\"}",
            "PATCH /git/refs/heads/main {\"force\":false,\"sha\":\"bead\"}",
        ]),
        (Gitea, "createCommitOnBranch", commit(), vec![
            "POST /contents {\"branch\":\"main\",\"files\":[{\"content\":\"eA==\",\"operation\":\"create\",\"path\":\"a.txt\",\"sha\":null},{\"content\":null,\"operation\":\"delete\",\"path\":\"b.txt\",\"sha\":\"b10b\"}],\"message\":\"m\"}",
        ]),
    ] {
        let script = script(forge);
        let mut text = input.to_string();
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
        let query = format!("mutation($input: {kind}!) {{ {name}(input: $input) {{ clientMutationId }} }}");
        let answer = ask(forge, &script, &query, &json!({"input": input}));
        assert_eq!(answer["data"][name]["clientMutationId"], "mine", "{name}: {answer:#}");
        let calls = script.calls.borrow();
        let changes = calls.iter().filter(|call| !call.starts_with("GET"));
        assert_eq!(changes.collect::<Vec<_>>(), expected, "{forge:?} {name}");
    }
}

fn commit() -> Value {
    json!({
        "branch": {"repositoryNameWithOwner": "acme/rocket", "branchName": "main"},
        "message": {"headline": "m"}, "expectedHeadOid": "abc",
        "fileChanges": {"additions": [{"path": "a.txt", "contents": "eA=="}], "deletions": [{"path": "b.txt"}]},
    })
}

#[test]
fn i17_what_rest_has_no_call_for_and_foreign_ids_are_refused() {
    let script = script(GitHub);
    let pull = id(GitHub, &script, 7);
    let ready = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { id } } }";
    let answer = ask(GitHub, &script, ready, &json!({"id": pull}));
    assert_eq!(answer["errors"][0]["type"], "NOT_ANSWERED", "{answer:#}");
    for foreign in ["PR_kwDOAbc", "nonsense", "b3JyZXJ5Oklzc3VlOmFjbWUvc2VjcmV0OjE"] {
        let answer = ask(GitHub, &script, ready, &json!({"id": foreign}));
        assert_eq!(answer["errors"][0]["type"], "NOT_FOUND", "{answer:#}");
    }
    let calls = script.calls.borrow();
    assert!(calls.iter().all(|call| call.starts_with("GET")), "{calls:#?}");
}
