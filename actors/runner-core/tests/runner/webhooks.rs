//! Events of real forges: what starts a run, and what never does.

use forge_core::{ForgeEvent, ObjectFormats, WebhookHeaders};
use runner_core::event::{EventContext, EventKind, NoStartReason, RunCommit};

fn context(event: &str, body: &serde_json::Value) -> Result<EventContext, NoStartReason> {
    let headers = [("X-GitHub-Event", event)];
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    let headers = WebhookHeaders::collect(headers);
    let parsed = ForgeEvent::parse(
        &headers,
        body.to_string().as_bytes(),
        ObjectFormats::default(),
    )
    .expect("an event");
    EventContext::of_webhook(&parsed, body)
}

fn push(reference: &str, before: &str, after: &str) -> serde_json::Value {
    serde_json::json!({
        "ref": reference, "before": before.repeat(40), "after": after.repeat(40), "commits": [],
        "created": before == "0", "deleted": after == "0", "head_commit": null,
        "repository": {"full_name": "o/r"}, "pusher": {"name": "p"},
    })
}

#[test]
fn deletions_start_nothing() {
    for reference in ["refs/heads/main", "refs/tags/v1"] {
        let deleted = context("push", &push(reference, "a", "0"));
        assert_eq!(
            deleted.unwrap_err(),
            NoStartReason::Deleted(reference.to_owned())
        );
        let created = context("push", &push(reference, "0", "b")).unwrap();
        assert_eq!(
            (created.kind, created.sha),
            (EventKind::Push, "b".repeat(40))
        );
    }
}

/// The interface's fields of a payload hold no reference and no commit.
#[test]
fn contract_a_push_that_says_only_where_is_one_of_the_default_branch() {
    let mut body = serde_json::json!({
        "action": "opened", "number": 7,
        "repository": {"full_name": "o/r", "clone_url": "https://forge.example/o/r.git"},
    });
    let pushed = context("push", &body).unwrap();
    assert_eq!(
        (pushed.kind, pushed.action.as_deref()),
        (EventKind::Push, None)
    );
    assert_eq!(
        (&*pushed.reference, &*pushed.sha),
        ("", ""),
        "to be asked for"
    );
    assert!(!pushed.untrusted);
    body["repository"]["default_branch"] = "trunk".into();
    let pushed = context("push", &body).unwrap();
    assert_eq!(pushed.reference, "refs/heads/trunk");
    // Without the header nothing says that it is a push; what says half of one is a mistake.
    let parse = |headers: &[(&str, &str)], body: &serde_json::Value| {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, value.as_bytes()));
        let headers = WebhookHeaders::collect(headers);
        ForgeEvent::parse(
            &headers,
            body.to_string().as_bytes(),
            ObjectFormats::default(),
        )
    };
    assert!(parse(&[], &body).is_err());
    for half in ["ref", "before", "after"] {
        let mut body = body.clone();
        body[half] = "a".repeat(40).into();
        assert!(
            parse(&[("X-GitHub-Event", "push")], &body).is_err(),
            "{half}"
        );
    }
}

#[test]
fn i17_every_action_of_a_pull_request_is_an_event_of_its_head() {
    for (action, expected) in [
        ("opened", "opened"),
        ("reopened", "reopened"),
        ("synchronize", "synchronize"),
        ("synchronized", "synchronize"),
        ("closed", "closed"),
        ("edited", "edited"),
        ("labeled", "labeled"),
        ("label_updated", "labeled"),
        ("ready_for_review", "ready_for_review"),
    ] {
        let event = context("pull_request", &pull(action)).unwrap();
        assert_eq!(event.action.as_deref(), Some(expected));
        assert!(event.untrusted, "it comes from a fork");
        assert_eq!(
            (event.reference.as_str(), event.ref_name()),
            ("refs/pull/7/head", "7/head")
        );
        assert_eq!(event.base_branch.as_deref(), Some("main"));
        let target = event.into_target(Some("main"));
        assert_eq!(target.kind, EventKind::PullRequestTarget);
        assert_eq!(
            (target.reference.as_str(), target.sha.as_str()),
            ("refs/heads/main", "")
        );
        assert!(!target.untrusted, "the default branch is run");
        assert_eq!(target.base_branch.as_deref(), Some("main"));
    }
}

/// Every event that runs the head of a pull request trusts the same heads.
#[test]
fn i17_a_head_is_trusted_only_on_a_branch_of_the_repository() {
    let own = serde_json::json!({"full_name": "O/R"});
    let fork = serde_json::json!({"full_name": "fork/r"});
    let head = |name: &str, repo: &serde_json::Value| serde_json::json!({"ref": name, "sha": "c".repeat(40), "repo": repo});
    let none = serde_json::Value::Null;
    for (head, untrusted) in [
        (head("topic", &own), false),
        (head("topic", &fork), true),
        // Pushed for review without a branch (AGit), by anybody who reads.
        (head("refs/pull/7/head", &own), true),
        (head("refs/for/main", &own), true),
        // The fork is gone.
        (head("topic", &none), true),
        (none.clone(), true),
    ] {
        let by_head = |kind: &&EventKind| kind.commit() == RunCommit::PullHead;
        let kinds: Vec<&EventKind> = EventKind::ALL.iter().filter(by_head).collect();
        assert_eq!(kinds.len(), 3);
        for kind in kinds {
            let mut body = pull("opened");
            body["pull_request"]["head"] = head.clone();
            let found = context(kind.as_str(), &body).unwrap();
            assert_eq!(found.kind, *kind);
            assert_eq!(found.untrusted, untrusted, "{kind:?} {head}");
        }
    }
    // As Gitea names the event of a review.
    let mut body = pull("reviewed");
    body["pull_request"]["head"] = head("refs/pull/7/head", &own);
    body["review"] = serde_json::json!({"type": "pull_request_review_comment", "content": "!"});
    let found = context("pull_request_comment", &body).unwrap();
    assert_eq!(found.kind, EventKind::PullRequestReview);
    assert!(found.untrusted);
}

fn pull(action: &str) -> serde_json::Value {
    serde_json::json!({
        "action": action, "number": 7,
        "pull_request": {
            "number": 7, "title": "$(id)", "state": "open",
            "head": {"ref": "topic", "sha": "c".repeat(40), "repo": {"full_name": "fork/r"}},
            "base": {"ref": "main", "sha": "d".repeat(40)},
        },
        "repository": {"full_name": "o/r", "default_branch": "main"},
        "sender": {"login": "ada"},
    })
}

/// Page "Events that trigger workflows": the commit and the reference of each event.
#[test]
fn i17_events_run_the_commit_that_their_page_names() {
    let with = |extra: serde_json::Value| {
        let mut body = serde_json::json!({
            "action": "created", "sender": {"login": "ada"},
            "repository": {"full_name": "o/r", "default_branch": "main"},
        });
        let (body_map, extra) = (body.as_object_mut().unwrap(), extra);
        body_map.extend(extra.as_object().unwrap().clone());
        body
    };
    let none = || with(serde_json::json!({}));
    let comment = serde_json::json!({
        "issue": {"number": 7, "title": "t"}, "comment": {"id": 5, "body": "b", "user": {"login": "eve"}},
    });
    let main = "refs/heads/main";
    let head = "c".repeat(40);
    let group = serde_json::json!({"merge_group": {
        "head_sha": head, "head_ref": "refs/heads/gh-readonly-queue/main/pr-7", "base_ref": "refs/heads/main",
    }});
    let review = pull("submitted");
    for (event, body, reference, sha) in [
        ("issue_comment", with(comment), main, ""),
        ("issues", none(), main, ""),
        ("label", none(), main, ""),
        ("discussion", none(), main, ""),
        ("delete", none(), main, ""),
        ("repository_dispatch", none(), main, ""),
        (
            "release",
            with(serde_json::json!({"release": {"tag_name": "v1"}})),
            "refs/tags/v1",
            "",
        ),
        (
            "create",
            with(serde_json::json!({"ref": "v1", "ref_type": "tag"})),
            "refs/tags/v1",
            "",
        ),
        (
            "create",
            with(serde_json::json!({"ref": "refs/heads/x", "ref_type": "branch"})),
            "refs/heads/x",
            "",
        ),
        (
            "merge_group",
            with(group),
            "refs/heads/gh-readonly-queue/main/pr-7",
            &head,
        ),
        ("pull_request_review", review, "refs/pull/7/head", &head),
    ] {
        let found = context(event, &body).unwrap_or_else(|why| panic!("{event}: {why}"));
        assert_eq!(found.kind.as_str(), event);
        assert_eq!(
            (found.reference.as_str(), found.sha.as_str()),
            (reference, sha),
            "{event}"
        );
        assert_eq!(found.actor, "ada", "{event}");
        assert_eq!(
            found.untrusted,
            event.starts_with("pull_request"),
            "{event}"
        );
    }
    // Events of the repository that it does not know, and what names no repository.
    for (event, body) in [
        ("wat", none()),
        ("issues", serde_json::json!({"action": "opened"})),
        ("release", none()),
        ("pull_request_review", none()),
    ] {
        assert!(context(event, &body).is_err(), "{event}");
    }
}

#[test]
fn i17_types_branches_and_followed_workflows_decide_which_workflows_start() {
    use runner_core::event::{StartDecision, decide};
    let body = |action: &str| {
        serde_json::json!({"action": action, "repository": {"full_name": "o/r", "default_branch": "main"},
            "workflow_run": {"name": "CI"}})
    };
    for (on, event, action, starts) in [
        ("issues", "issues", "labeled", true),
        (
            "{issues: {types: [opened, labeled]}}",
            "issues",
            "labeled",
            true,
        ),
        ("{issues: {types: [opened]}}", "issues", "labeled", false),
        ("[issues, push]", "label", "created", false),
        (
            "{workflow_run: {workflows: [CI]}}",
            "workflow_run",
            "completed",
            true,
        ),
        (
            "{workflow_run: {workflows: [Other]}}",
            "workflow_run",
            "completed",
            false,
        ),
        (
            "{workflow_run: {workflows: [CI], types: [requested]}}",
            "workflow_run",
            "completed",
            false,
        ),
        (
            "{repository_dispatch: {types: [deploy]}}",
            "repository_dispatch",
            "deploy",
            true,
        ),
        ("pull_request_target", "pull_request", "opened", true),
        ("pull_request_target", "pull_request", "closed", false),
        (
            "{pull_request_target: {paths: ['src/**']}}",
            "pull_request",
            "opened",
            true,
        ),
        (
            "{pull_request_target: {types: [closed], branches: [main]}}",
            "pull_request",
            "closed",
            true,
        ),
        (
            "{pull_request_target: {types: [closed], branches: [x]}}",
            "pull_request",
            "closed",
            false,
        ),
        (
            "{pull_request: {types: [closed]}}",
            "pull_request",
            "opened",
            false,
        ),
    ] {
        let text = format!("on: {on}\njobs: {{a: {{runs-on: x, steps: [{{run: y}}]}}}}\n");
        let workflow = runner_core::workflow::parse("w.yml", text.as_bytes());
        let workflow = workflow.unwrap_or_else(|wrong| panic!("{wrong}")).value;
        let sent = if event == "pull_request" {
            pull(action)
        } else {
            body(action)
        };
        let mut found = context(event, &sent).unwrap();
        if on.contains("_target") {
            found = found.into_target(Some("main"));
        }
        let started = decide(&workflow, &found) == StartDecision::Start;
        assert_eq!(started, starts, "{on}: {event} {action}");
    }
}

/// The JSON files below a folder, with the directory each is in: the event.
fn examples(folder: &std::path::Path) -> Vec<(String, std::path::PathBuf)> {
    let mut found = Vec::new();
    for event in std::fs::read_dir(folder).expect("the folder can be read") {
        let event = event.expect("an entry");
        let name = event.file_name().to_string_lossy().into_owned();
        if !event.path().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(event.path()).expect("the folder can be read") {
            let path = file.expect("an entry").path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push((name.clone(), path));
            }
        }
    }
    found
}

#[test]
fn collected_examples_are_classified_right() {
    let Some(folder) = std::env::var_os("ORRERY_WEBHOOK_EXAMPLES") else {
        return;
    };
    let examples = examples(std::path::Path::new(&folder));
    assert!(!examples.is_empty(), "the folder holds no examples");
    let mut started = 0;
    for (event, path) in &examples {
        let bytes = std::fs::read(path).expect("the file can be read");
        let body: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        // Of other events it is only known that nothing panics.
        let starts = match event.as_str() {
            "push" => Some(body["deleted"] != true),
            "pull_request" => Some(true),
            _ => None,
        };
        let found = context(event, &body);
        if let Some(starts) = starts {
            assert_eq!(found.is_ok(), starts, "{}: {found:?}", path.display());
        }
        started += usize::from(starts == Some(true));
    }
    assert!(
        started > 0 || examples.len() < 20,
        "none of {} starts a run",
        examples.len()
    );
}

#[test]
fn y6_a_pull_request_of_the_documented_fields_alone_starts_a_run() {
    let body = serde_json::json!({
        "action": "opened", "number": 7,
        "repository": {"full_name": "o/r", "clone_url": "https://forge.example/o/r.git"},
        "pull_request": {"title": "t", "html_url": "https://forge.example/o/r/pulls/7"},
    });
    let event = context("pull_request", &body).unwrap();
    assert_eq!(
        (event.sha.as_str(), event.reference.as_str()),
        ("", "refs/pull/7/head")
    );
    assert!(event.untrusted, "it is not known where it comes from");
}
