//! Bodies of every event kind: no panic, and what is accepted obeys the rules it was accepted by.
//! The fast reader of bodies is compared with the strict one by an assertion of its own.
//! The first byte chooses the declared event; the rest is the body.
#![no_main]

use forge_core::{
    Delivery, ForgeEvent, ObjectFormats, ParseOptions, PullRequestEvent, PushEvent, WebhookHeaders,
    WebhookSecrets,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let declared = [
        "",
        "push",
        "pull_request",
        "issue_comment",
        "ping",
        "release",
    ];
    let event = declared[usize::from(*first) % declared.len()];
    let headers = match event {
        "" => WebhookHeaders::default(),
        name => WebhookHeaders::collect([("X-GitHub-Event", name.as_bytes())]),
    };
    let formats = if *first < 128 {
        ObjectFormats::Sha1
    } else {
        ObjectFormats::Sha1AndSha256
    };
    let secrets = WebhookSecrets::new("a secret").expect("not empty");
    match Delivery::parse(
        &headers,
        body,
        secrets.digest(body),
        ParseOptions {
            object_formats: formats,
        },
    ) {
        Err(error) => assert!(error.to_string().len() < 4096, "an error repeats the body"),
        Ok(delivery) => accepted(event, &delivery, body),
    }
});

/// Holds for every accepted body.
fn accepted(declared: &str, delivery: &Delivery, body: &[u8]) {
    // What is accepted strictly must be JSON for everybody else too.
    serde_json::from_slice::<serde_json::Value>(body).expect("accepted, but not JSON");
    assert!(declared.is_empty() || declared == delivery.event.name());
    match &delivery.event {
        ForgeEvent::Push(push) => pushed(push),
        ForgeEvent::PullRequest(event) => pull_request(event),
        ForgeEvent::IssueComment(event) => {
            assert!(event.issue.number.get() <= i64::MAX as u64);
            forge_core::mention::scan(&event.comment.body, Default::default());
        }
        ForgeEvent::Ping(_) | ForgeEvent::Other(_) => {}
    }
}

fn pushed(push: &PushEvent) {
    let paths = push.changed_paths();
    assert!(!paths.complete || !push.commits.is_empty());
    let reference = push.reference.to_string();
    assert_eq!(reference.parse().as_ref(), Ok(&push.reference));
}

fn pull_request(event: &PullRequestEvent) {
    assert!(event.number.get() > 0);
    assert_eq!(event.head_sha().is_ok(), event.pull_request.head.is_some());
    let _ = event.origin();
}
