//! Typed events from the payloads of three forges and of the interface; W21.

use forge_core::{
    CommentAction, EventError, Forge, ForgeEvent, GitRef, HeadOrigin, IssueCommentEvent,
    IssueState, ObjectFormats, PullRequestAction, PullRequestEvent, PushEvent, RefChange,
    skip_mark,
};
use serde_json::{Value, json};

use crate::support::{delivery, headers, payload, raw, read, refusal, with};

fn push(body: &Value) -> PushEvent {
    match read("push", body) {
        Ok(ForgeEvent::Push(event)) => *event,
        other => panic!("{other:?}"),
    }
}

fn pull_request(body: &Value) -> PullRequestEvent {
    match read("pull_request", body) {
        Ok(ForgeEvent::PullRequest(event)) => *event,
        other => panic!("{other:?}"),
    }
}

fn comment(body: &Value) -> IssueCommentEvent {
    match read("issue_comment", body) {
        Ok(ForgeEvent::IssueComment(event)) => *event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn github_push() {
    let event = push(&payload("github_push"));
    assert_eq!(event.repository.name.owner(), "Acme");
    assert_eq!(event.repository.name.repo(), "rocket");
    assert_eq!(event.reference.branch().unwrap().as_str(), "main");
    let RefChange::Updated { before, after } = &event.change else {
        panic!("{:?}", event.change)
    };
    assert!(before.as_str().starts_with('1') && after.as_str().starts_with('2'));
    assert_eq!(event.commit(), Some(after));
    assert_eq!(event.pusher.as_ref().unwrap().as_str(), "ada");
    assert!(event.compare_url.as_ref().unwrap().contains("/compare/"));
    assert!(
        event
            .head_commit
            .as_ref()
            .unwrap()
            .message
            .starts_with("Correct the nozzle")
    );
    let changed = event.changed_paths();
    let paths: Vec<_> = changed.paths.iter().map(String::as_str).collect();
    assert_eq!(paths, ["Cargo.toml", "docs/nozzle.md", "src/nozzle.rs"]);
    assert!(changed.complete);
}

#[test]
fn gitea_push_of_an_annotated_tag() {
    let event = push(&payload("gitea_push"));
    assert_eq!(event.reference.tag().unwrap().as_str(), "v1.2.0");
    let RefChange::Created { after } = &event.change else {
        panic!("{:?}", event.change)
    };
    assert!(after.as_str().starts_with('5'), "the tag's own object");
    assert!(
        event.commit().unwrap().as_str().starts_with('6'),
        "the commit it points to"
    );
    assert!(
        !event.changed_paths().complete,
        "a new reference lists no difference"
    );
}

#[test]
fn push_that_deletes_has_no_commit() {
    let mut body = with("github_push", "/after", json!("0".repeat(40)));
    body["head_commit"] = Value::Null;
    body["commits"] = json!([]);
    let event = push(&body);
    assert!(matches!(event.change, RefChange::Deleted { .. }));
    assert_eq!(event.commit(), None);
    let nothing = with("gitea_push", "/after", json!("0".repeat(40)));
    assert_eq!(refusal("push", &nothing), "after contradicts before");
}

#[test]
fn push_to_a_reference_that_is_neither_branch_nor_tag() {
    let event = push(&with("github_push", "/ref", json!("refs/notes/commits")));
    assert!(matches!(event.reference, GitRef::Other(_)));
    let refused = refusal(
        "push",
        &with("github_push", "/ref", json!("refs/heads/a..b")),
    );
    assert!(
        refused.starts_with("ref: branch name \"a..b\" is not valid"),
        "{refused}"
    );
}

#[test]
fn v7_a_list_that_nobody_calls_complete_is_not() {
    // Gitea 1.15 and older: five commits at most, and no word of how many there are.
    let mut body = payload("github_push");
    let old = body.as_object_mut().unwrap();
    old.remove("forced");
    old.remove("total_commits");
    assert!(!push(&body).changed_paths().complete);
    body["total_commits"] = json!(body["commits"].as_array().unwrap().len());
    assert!(push(&body).changed_paths().complete, "it says how many");
}

#[test]
fn changed_paths_admit_when_the_list_is_cut() {
    let cut = |change: fn(&mut Value)| {
        let mut body = payload("github_push");
        change(&mut body);
        push(&body).changed_paths().complete
    };
    assert!(cut(|_| {}));
    assert!(
        !cut(|body| body["total_commits"] = json!(2)),
        "Gitea says there are more"
    );
    assert!(
        !cut(|body| body["forced"] = json!(true)),
        "rewritten history"
    );
    assert!(
        !cut(|body| body["commits"] = json!([])),
        "no commits listed"
    );
    assert!(
        !cut(|body| body["commits"][0]["added"] = json!(vec!["x"; 3000])),
        "GitHub's limit"
    );
    assert!(!cut(|body| {
        let commit = body["commits"][0].clone();
        body["commits"] = Value::Array(vec![commit; 2048]);
    }));
    assert!(!cut(|body| {
        let commit = body["commits"][0].as_object_mut().unwrap();
        commit.retain(|field, _| !["added", "removed", "modified"].contains(&field.as_str()));
    }));
}

#[test]
fn words_that_ask_for_no_automation() {
    let says = |message: &str| {
        let event = push(&with("github_push", "/head_commit/message", json!(message)));
        skip_mark(&event.head_commit.unwrap().message).is_some()
    };
    for message in [
        "x [skip ci]",
        "[CI Skip] x",
        "x\n\n[no ci]",
        "[skip actions]",
        "a\n\n\nskip-checks: true",
    ] {
        assert!(says(message), "{message}");
    }
    for message in [
        "skip ci",
        "[skip-ci]",
        "skip-checks: true",
        "a\n\nskip-checks: false",
        "",
    ] {
        assert!(!says(message), "{message}");
    }
}

#[test]
fn github_pull_request_from_a_fork() {
    let event = pull_request(&payload("github_pull_request"));
    assert_eq!(event.action, PullRequestAction::Synchronized);
    assert_eq!(event.number.get(), 12);
    assert_eq!(event.head_sha().unwrap().as_str(), "4".repeat(40));
    assert_eq!(event.origin(), HeadOrigin::Fork);
    let pull = &event.pull_request;
    assert_eq!(pull.title.as_deref(), Some("Second stage"));
    assert_eq!(pull.body, None);
    assert_eq!(pull.author.as_ref().unwrap().as_str(), "grace");
    assert_eq!(pull.base.as_ref().unwrap().branch.as_str(), "main");
    assert_eq!(pull.state, Some(IssueState::Open));
}

#[test]
fn gitea_pull_request_from_a_branch() {
    let event = pull_request(&payload("gitea_pull_request"));
    assert_eq!(event.action, PullRequestAction::Synchronized);
    assert_eq!(event.origin(), HeadOrigin::SameRepository);
    assert_eq!(
        event.pull_request.head.as_ref().unwrap().branch.as_str(),
        "parachute"
    );
}

#[test]
fn forgejo_merged_pull_request_of_a_deleted_fork() {
    let event = pull_request(&payload("forgejo_pull_request_closed"));
    assert_eq!(event.action, PullRequestAction::Closed);
    assert!(event.pull_request.merged);
    assert_eq!(
        event.origin(),
        HeadOrigin::Fork,
        "a fork that is gone is a fork"
    );
}

#[test]
fn i17_a_pull_request_without_a_branch_is_from_a_stranger() {
    // As Gitea tells of what is pushed to `refs/for/main`: everybody who reads may.
    let head = json!("refs/pull/7/head");
    let event = with("gitea_pull_request", "/pull_request/head/ref", head);
    assert_eq!(pull_request(&event).origin(), HeadOrigin::Fork);
}

#[test]
fn pull_request_actions() {
    let action =
        |word: &str| pull_request(&with("gitea_pull_request", "/action", json!(word))).action;
    assert_eq!(action("opened"), PullRequestAction::Opened);
    assert_eq!(action("reopened"), PullRequestAction::Reopened);
    assert_eq!(action("synchronize"), PullRequestAction::Synchronized);
    assert_eq!(action("synchronized"), PullRequestAction::Synchronized);
    assert_eq!(
        action("ready_for_review"),
        PullRequestAction::ReadyForReview
    );
    assert_eq!(action("edited"), PullRequestAction::Edited);
    assert_eq!(
        action("labeled"),
        PullRequestAction::Other("labeled".to_owned())
    );
    let nonsense = with("gitea_pull_request", "/action", json!("Opened now!"));
    assert!(refusal("pull_request", &nonsense).starts_with("action: event name"));
}

#[test]
fn the_interface_s_runner_payload_without_a_head() {
    let Ok(ForgeEvent::PullRequest(event)) = read("", &payload("interface_runner")) else {
        panic!()
    };
    assert_eq!(event.action, PullRequestAction::Opened);
    assert_eq!(
        event.repository.clone_url.as_deref(),
        Some("https://forge.example/owner/repo.git")
    );
    assert_eq!(event.pull_request.title.as_deref(), Some("A change"));
    assert_eq!(
        event.head_sha().unwrap_err().to_string(),
        "pull_request.head.sha is missing"
    );
    assert_eq!(event.origin(), HeadOrigin::Unknown);
}

#[test]
fn the_interface_s_mention_payload_without_an_event_header() {
    let Ok(ForgeEvent::IssueComment(event)) = read("", &payload("interface_mention")) else {
        panic!()
    };
    assert_eq!(event.action, CommentAction::Created);
    assert!(event.issue.number.is_cli());
    assert_eq!(event.comment.author.as_str(), "operator");
    assert!(!event.issue.is_pull_request);
}

#[test]
fn github_comment_on_a_pull_request() {
    let event = comment(&payload("github_issue_comment"));
    assert!(event.issue.is_pull_request);
    assert_eq!(event.issue.number.get(), 12);
    assert_eq!(event.comment.id.get(), 99001);
    assert_eq!(event.comment.author_association.as_deref(), Some("MEMBER"));
    assert_eq!(
        event.comment.created_at.as_deref(),
        Some("2026-11-20T10:05:00Z")
    );
}

#[test]
fn gitea_comment_on_a_pull_request() {
    let event = comment(&payload("gitea_pull_request_comment"));
    assert!(event.issue.is_pull_request);
    let mentions = forge_core::mention::scan(&event.comment.body, Default::default());
    let mention = &mentions.found[0];
    assert_eq!(mention.project.as_ref().unwrap().as_str(), "shop");
    assert_eq!(mention.agent.as_str(), "developer");
    assert_eq!(mention.rest_of_line, "add a test, please");
}

#[test]
fn the_event_type_header_speaks_only_where_the_body_is_silent() {
    let typed = headers(&[
        ("X-Gitea-Event", "issue_comment"),
        ("X-Gitea-Event-Type", "pull_request_comment"),
    ]);
    let is_pull = |body: Value| match ForgeEvent::parse(
        &typed,
        body.to_string().as_bytes(),
        ObjectFormats::Sha1,
    ) {
        Ok(ForgeEvent::IssueComment(event)) => event.issue.is_pull_request,
        other => panic!("{other:?}"),
    };
    assert!(
        is_pull(payload("interface_mention")),
        "the body does not say"
    );
    assert!(
        !is_pull(payload("forgejo_issue_comment")),
        "the signed body says no"
    );
}

#[test]
fn github_ping() {
    let Ok(ForgeEvent::Ping(event)) = read("ping", &payload("github_ping")) else {
        panic!()
    };
    assert_eq!(event.hook_id, Some(4711));
    assert_eq!(event.repository.unwrap().as_str(), "Acme/rocket");
    assert!(matches!(
        read("", &payload("github_ping")),
        Ok(ForgeEvent::Ping(_))
    ));
}

#[test]
fn other_events_are_named_and_not_acted_on() {
    let body = json!({"action": "published", "repository": {"full_name": "acme/rocket"}});
    let Ok(ForgeEvent::Other(event)) = read("release", &body) else {
        panic!()
    };
    assert_eq!(event.name.as_str(), "release");
    assert_eq!(event.repository.unwrap().as_str(), "acme/rocket");
    let activity = event.activity.expect("it names its repository");
    assert_eq!(activity.action.as_deref(), Some("published"));
    assert_eq!(activity.reference, None);
}

#[test]
fn i17_other_events_say_what_they_are_about_as_far_as_they_do() {
    let with = |extra: serde_json::Value| {
        let mut body =
            json!({"action": "label_updated", "repository": {"full_name": "acme/rocket"}});
        let fields = extra.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(fields);
        body
    };
    for (event, extra, reference) in [
        (
            "release",
            json!({"release": {"tag_name": "v1"}}),
            Some("refs/tags/v1"),
        ),
        ("release", json!({"release": {"tag_name": 7}}), None),
        (
            "create",
            json!({"ref": "v1", "ref_type": "tag"}),
            Some("refs/tags/v1"),
        ),
        (
            "delete",
            json!({"ref": "x", "ref_type": "branch"}),
            Some("refs/heads/x"),
        ),
        (
            "create",
            json!({"ref": "refs/tags/v1", "ref_type": "tag"}),
            Some("refs/tags/v1"),
        ),
        (
            "merge_group",
            json!({"merge_group": {"head_ref": "refs/heads/q"}}),
            Some("refs/heads/q"),
        ),
        ("issues", json!({"ref": "x"}), None),
    ] {
        let Ok(ForgeEvent::Other(found)) = read(event, &with(extra)) else {
            panic!("{event}")
        };
        let activity = found.activity.expect("it names its repository");
        assert_eq!(activity.reference.as_deref(), reference, "{event}");
        assert_eq!(activity.action.as_deref(), Some("labeled"), "GitHub's word");
    }
}

#[test]
fn shapes_are_recognised_without_a_header() {
    for (name, expected) in [
        ("github_push", "push"),
        ("gitea_push", "push"),
        ("github_pull_request", "pull_request"),
        ("gitea_pull_request", "pull_request"),
        ("forgejo_pull_request_closed", "pull_request"),
        ("github_issue_comment", "issue_comment"),
        ("gitea_pull_request_comment", "issue_comment"),
        ("forgejo_issue_comment", "issue_comment"),
        ("github_ping", "ping"),
    ] {
        assert_eq!(read("", &payload(name)).unwrap().name(), expected, "{name}");
    }
    assert_eq!(
        read("", &json!({"hello": 1})),
        Err(EventError::Unrecognised)
    );
    assert_eq!(
        read("", &json!({"ref": "v1", "ref_type": "tag"})),
        Err(EventError::Unrecognised)
    );
}

#[test]
fn w21_edited_and_deleted_comments_and_closed_issues_are_told_apart() {
    let event = comment(&payload("forgejo_issue_comment"));
    assert_eq!(event.action, CommentAction::Edited);
    assert_eq!(event.issue.state, Some(IssueState::Closed));
    assert!(!event.issue.is_pull_request);
    let deleted = comment(&with("forgejo_issue_comment", "/action", json!("deleted")));
    assert_eq!(deleted.action, CommentAction::Deleted);
    let other = comment(&with("forgejo_issue_comment", "/action", json!("pinned")));
    assert_eq!(other.action, CommentAction::Other("pinned".to_owned()));
}

#[test]
fn a_delivery_without_an_id_is_known_by_its_body() {
    let body = raw("interface_mention");
    let delivery = delivery(&headers(&[]), &body).unwrap();
    assert_eq!(
        delivery.id.as_str(),
        "sha256:4293ebcd1e34f2e37d876a53a44c2132df12c1b8b5da69e9ace7411f4b95674e"
    );
    assert_eq!(delivery.forge, None);
}

#[test]
fn the_forge_is_told_by_its_own_headers() {
    let of = |names: &[&str]| {
        let list: Vec<_> = names.iter().map(|name| (*name, "push")).collect();
        headers(&list).forge()
    };
    assert_eq!(of(&["X-GitHub-Event"]), Some(Forge::GitHub));
    assert_eq!(
        of(&["X-GitHub-Event", "X-Gogs-Event", "X-Gitea-Event"]),
        Some(Forge::Gitea)
    );
    assert_eq!(
        of(&["X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event"]),
        Some(Forge::Forgejo)
    );
    assert_eq!(of(&["X-Request-Id"]), None);
}

/// V7: what the oldest Gitea that is supported sends is taken; its reviews start nothing, and are
/// no error.
#[test]
fn v7_payloads_of_gitea_1_15_are_read() {
    let review = payload("gitea_1_15_review_comment");
    for declared in ["pull_request", "issue_comment", "pull_request_comment"] {
        let event = read(declared, &review);
        let Ok(ForgeEvent::Other(other)) = &event else {
            panic!("{declared}: {event:?}");
        };
        assert_eq!(other.repository.as_ref().unwrap().as_str(), "acme/rocket");
    }
    let Ok(ForgeEvent::IssueComment(comment)) =
        read("issue_comment", &payload("gitea_1_15_issue_comment"))
    else {
        panic!("a comment");
    };
    assert_eq!(comment.comment.author.as_str(), "ada");
    assert!(!comment.issue.is_pull_request);
}
