//! What each call causes, before and after its answer.

use serde_json::json;

use super::*;

/// The moves as `reference old>bew`, and the pull request as `#number actions`.
fn shown(effects: &CallEffects) -> String {
    let id = |id: &Option<String>| match id.as_deref() {
        None => "?".to_owned(),
        Some(ZEROS) => "0".to_owned(),
        Some(id) => id[..1].to_owned(),
    };
    let moves = effects.moves.iter().map(|one| {
        let own = if one.is_own_commit { "!" } else { "" };
        format!("{} {}>{}{own}", one.reference, id(&one.old), id(&one.new))
    });
    let pull = effects.pull.iter().map(|pull| {
        let number = pull.number.map_or("?".to_owned(), |one| one.to_string());
        format!("#{number} {}", pull.actions.join(","))
    });
    moves.chain(pull).collect::<Vec<_>>().join("; ")
}

fn call(line: &str, body: &Value) -> Option<CausingCall> {
    let (method, path) = line.split_once(' ').unwrap();
    let path = format!("/repos/acme/rocket{path}");
    CausingCall::parse(method, &path, body.to_string().as_bytes())
}

/// Call, body, answer, what is known before it and after it (empty: the same).
const CALLS: &str = r#"
PUT /contents/a.txt | {"branch": "b/c"} | {"commit": {"sha": "N"}} | refs/heads/b/c ?>?! | refs/heads/b/c ?>b!
PUT /contents/a.txt | {} | {"commit": {"sha": "N"}} | refs/heads/ ?>?! | refs/heads/ ?>b!
POST /contents | {"branch": "main", "new_branch": "x"} | {"commit": {"sha": "N"}} | refs/heads/x 0>?!; refs/heads/main ?>? | refs/heads/x 0>b!; refs/heads/main ?>b
PUT /contents/a.txt | {"Branch": "x"} | {"commit": {"sha": "N"}} | refs/heads/x ?>?!; refs/heads/ ?>? | refs/heads/x ?>b!; refs/heads/ ?>b
DELETE /contents/a%20b/c | {"branch": "main"} | {"commit": {"sha": "N"}} | refs/heads/main ?>?! | refs/heads/main ?>b!
POST /diffpatch | {"branch": "main"} | {"commit": {"sha": "N"}} | refs/heads/main ?>?! | refs/heads/main ?>b!
POST /merges | {"base": "main", "head": "x"} | {"sha": "N"} | refs/heads/main ?>?! | refs/heads/main ?>b!
POST /merge-upstream | {"branch": "main"} | {} | refs/heads/main ?>? |
POST /git/refs | {"ref": "refs/heads/x", "sha": "N"} | {} | refs/heads/x 0>b |
POST /git/refs | {"ref": "refs/tags/v1", "sha": "N"} | {} | refs/tags/v1 0>? |
PATCH /git/refs/heads/x/y | {"sha": "N", "force": true} | {} | refs/heads/x/y ?>b |
PATCH /git/refs/tags/v1 | {"sha": "N", "force": true} | {} | refs/tags/v1 ?>? |
DELETE /git/refs/heads/x%2Fy | {} | null | refs/heads/x/y ?>0 |
POST /branches | {"new_branch_name": "x"} | {"commit": {"id": "N"}} | refs/heads/x 0>? | refs/heads/x 0>b
POST /branches/x/rename | {"new_name": "y"} | {"commit": {"sha": "N"}} | refs/heads/y 0>?; refs/heads/x ?>0 | refs/heads/y 0>b; refs/heads/x ?>0
PUT /branches/x/z | {"New_Commit_ID": "N"} | null | refs/heads/x/z ?>b |
PUT /branches/x/y | {"new_commit_id": "N"} | null | refs/heads/x/y ?>b |
DELETE /branches/x/y | {} | null | refs/heads/x/y ?>0 |
POST /tags | {"tag_name": "v1", "target": "main"} | {"commit": {"sha": "N"}} | refs/tags/v1 0>? |
DELETE /tags/v1 | {} | null | refs/tags/v1 ?>0 |
POST /releases | {"tag_name": "v1"} | {"tag_name": "v1", "draft": false} | refs/tags/v1 0>? |
PATCH /releases/5 | {"draft": false} | {"tag_name": "v2", "draft": false} | refs/tags/ 0>? | refs/tags/v2 0>?
POST /pulls | {"head": "x", "base": "main"} | {"number": 9} | #? MADE | #9 MADE
PATCH /pulls/7 | {"state": "closed"} | {"number": 7} | #7 closed,reopened,edited |
PATCH /pulls/7 | {"State": "closed", "ASSIGNEES": []} | {} | #7 closed,reopened,assigned,unassigned,edited |
PATCH /issues/7 | {"title": "t", "labels": []} | {} | #7 labeled,unlabeled,edited |
PUT /pulls/7/merge | {} | {"sha": "N"} | refs/heads/ ?>?!; #7 closed | refs/heads/ ?>b!; #7 closed
PUT /pulls/7/update-branch | {} | {} | refs/heads/ ?>?; #7 synchronize,synchronized |
POST /pulls/7/update | {} | null | refs/heads/ ?>?; #7 synchronize,synchronized |
POST /issues/7/labels | ["bug"] | [] | #7 labeled,unlabeled |
DELETE /issues/7/labels/bug | {} | [] | #7 labeled,unlabeled |
POST /issues/7/assignees | {} | {} | #7 assigned,unassigned |
PUT /issues/7/lock | {} | null | #7 locked,unlocked |
POST /pulls/7/requested_reviewers | {} | {} | #7 review_requested,review_request_removed |
"#;

#[test]
fn i17_each_call_that_moves_something_says_what() {
    let made = MADE.join(",");
    for row in CALLS.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [line, body, answer, before, after] = cells.as_slice() else {
            panic!("{row}");
        };
        let id = format!("\"{}\"", "b".repeat(40));
        let json = |text: &str| serde_json::from_str::<Value>(&text.replace("\"N\"", &id)).unwrap();
        let (body, answer) = (json(body), json(answer));
        let before = before.replace("MADE", &made);
        let after = match *after {
            "" => before.clone(),
            after => after.replace("MADE", &made),
        };
        let call = call(line, &body).unwrap_or_else(|| panic!("{row}"));
        assert_eq!(shown(&call.effects), before, "{row}");
        let effects = call.clone().answered(200, &answer, None).unwrap();
        assert_eq!(shown(&effects), after, "{row}");
        // What the forge refuses has caused nothing; what fails may have caused it all.
        assert_eq!(call.clone().answered(422, &answer, None), None, "{row}");
        let failed = call.clone().answered(502, &Value::Null, None);
        assert_eq!(failed, Some(call.effects), "{row}");
    }
}

#[test]
fn i17_calls_that_move_nothing_are_not_noted() {
    for line in [
        "GET /contents/a.txt",
        "HEAD /git/refs/heads/x",
        "POST /git/commits",
        "POST /git/trees",
        "POST /git/blobs",
        "POST /git/tags",
        "POST /statuses/abc",
        "POST /issues",
        "POST /issues/7/comments",
        "PATCH /issues/comments/5",
        "POST /pulls/7/reviews",
        "POST /pulls/7/comments",
        "POST /dispatches",
        "POST /actions/workflows/ci.yml/dispatches",
        "POST /releases/generate-notes",
        "POST /releases/5/assets",
        "DELETE /releases/5",
    ] {
        assert_eq!(call(line, &json!({})), None, "{line}");
    }
    assert_eq!(CausingCall::parse("POST", "/graphql", b""), None);
    let release = json!({"tag_name": "v1", "draft": true});
    let draft = call("POST /releases", &release).unwrap();
    assert_eq!(draft.answered(201, &release, None), None);
    // Nothing was to be merged.
    let merges = call("POST /merges", &json!({"base": "main"})).unwrap();
    assert_eq!(merges.answered(204, &Value::Null, None), None);
}

#[test]
fn i17_a_merge_and_an_update_are_known_by_their_pull_request() {
    let pull = json!({
        "merged": true, "merge_commit_sha": "c".repeat(40), "base": {"ref": "main"},
        "head": {"ref": "x", "sha": "d".repeat(40), "repo": {"full_name": "Acme/Rocket"}},
    });
    let body = json!({"Do": "merge", "Delete_Branch_After_Merge": true});
    let merge = call("POST /pulls/7/merge", &body).unwrap();
    assert_eq!(merge.question, Some(PullQuestion::After(7)));
    let merged = merge.clone().answered(200, &Value::Null, Some(&pull));
    let expected = "refs/heads/main ?>c!; refs/heads/x ?>0; #7 closed";
    assert_eq!(shown(&merged.unwrap()), expected);
    let merged = merge.clone().answered(204, &Value::Null, Some(&pull));
    assert_eq!(shown(&merged.unwrap()), expected);
    // It is merged when its checks have passed, by the forge.
    let waits = json!({"merged": false, "merge_commit_sha": null});
    assert_eq!(merge.answered(201, &Value::Null, Some(&waits)), None);

    let mut update = call("PUT /pulls/7/update-branch", &json!({})).unwrap();
    assert_eq!(update.question, Some(PullQuestion::Before(7)));
    let mut of_fork = update.clone();
    update.with_head(&pull, "acme/rocket");
    let effects = update.answered(202, &json!({"message": "Updating"}), None);
    let expected = "refs/heads/x d>?; #7 synchronize,synchronized";
    assert_eq!(shown(&effects.unwrap()), expected);
    of_fork.with_head(&pull, "acme/other");
    assert_eq!(shown(&of_fork.effects), "#7 synchronize,synchronized");
    let path = pull_path("/repos/acme/rocket/pulls/7/merge", 7).unwrap();
    assert_eq!(path, "/repos/acme/rocket/pulls/7");
}

#[test]
fn i17_what_a_job_names_is_noted_in_few_bytes() {
    let long = "x".repeat(1 << 13);
    let bounded = |effects: &CallEffects| {
        let bytes = serde_json::to_vec(effects).unwrap().len();
        assert!(bytes < 4_096, "{bytes}");
        shown(effects)
    };
    let many = json!({
        "branch": long, "new_branch": long, "base": long, "name": long, "tag_name": long,
        "ref": format!("refs/heads/{long}"), "sha": long, "new_name": long,
        "new_branch_name": long, "new_commit_id": long,
    });
    let answer = json!({
        "commit": {"sha": long, "id": long}, "sha": long, "tag_name": long,
        "merged": true, "merge_commit_sha": long, "base": {"ref": long}, "head": {"ref": long},
    });
    for line in [
        "PUT /contents/a",
        "POST /contents",
        "POST /merges",
        "POST /merge-upstream",
        "POST /git/refs",
        "PATCH /git/refs/heads/x",
        "POST /branches",
        "POST /branches/x/rename",
        "PUT /branches/x",
        "POST /tags",
        "POST /releases",
        "POST /pulls/7/merge",
    ] {
        let call = call(line, &many).unwrap();
        bounded(&call.effects);
        bounded(&call.answered(200, &answer, Some(&answer)).unwrap());
    }
    let tag = call("POST /tags", &many).unwrap();
    assert_eq!(bounded(&tag.effects), "refs/tags/ 0>?");
    // What is no whole id is not compared; events have ids in lower case.
    for (id, expected) in [
        ("B".repeat(40), "b"),
        ("b".repeat(39), "?"),
        ("z".repeat(40), "?"),
    ] {
        let call = call("PATCH /git/refs/heads/x", &json!({"sha": id})).unwrap();
        assert_eq!(shown(&call.effects), format!("refs/heads/x ?>{expected}"));
    }
}
