//! Events of real forges: what starts a run, and what never does.

use forge_core::{Event, ObjectFormats, WebhookHeaders};
use runner_core::event::{EventContext, EventKind, StartsNothing};

fn context(event: &str, body: &serde_json::Value) -> Result<EventContext, StartsNothing> {
    let headers = [("X-GitHub-Event", event)];
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    let headers = WebhookHeaders::collect(headers);
    let parsed = Event::parse(
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
            StartsNothing::Deleted(reference.to_owned())
        );
        let created = context("push", &push(reference, "0", "b")).unwrap();
        assert_eq!(
            (created.kind, created.sha),
            (EventKind::Push, "b".repeat(40))
        );
    }
}

#[test]
fn of_pull_requests_three_actions_start_runs() {
    for (action, starts) in [
        ("opened", true),
        ("reopened", true),
        ("synchronize", true),
        ("synchronized", true),
        ("closed", false),
        ("edited", false),
        ("labeled", false),
    ] {
        let body = serde_json::json!({
            "action": action, "number": 7,
            "pull_request": {
                "title": "$(id)", "state": "open",
                "head": {"ref": "topic", "sha": "c".repeat(40), "repo": {"full_name": "fork/r"}},
                "base": {"ref": "main", "sha": "d".repeat(40)},
            },
            "repository": {"full_name": "o/r"},
        });
        let event = context("pull_request", &body);
        assert_eq!(event.is_ok(), starts, "{action}: {event:?}");
        if let Ok(event) = event {
            assert!(event.untrusted, "it comes from a fork");
            assert_eq!(
                (event.reference.as_str(), event.ref_name()),
                ("refs/pull/7/head", "7/head")
            );
            assert_eq!(event.base_branch.as_deref(), Some("main"));
        }
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
        let action = body["action"].as_str().unwrap_or_default();
        let starts = match event.as_str() {
            "push" => body["deleted"] != true,
            "pull_request" => ["opened", "reopened", "synchronize"].contains(&action),
            _ => false,
        };
        let found = context(event, &body);
        assert_eq!(found.is_ok(), starts, "{}: {found:?}", path.display());
        started += usize::from(starts);
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
