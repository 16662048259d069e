//! Reviews and packages as Gitea and Forgejo send them.

use forge_core::ForgeEvent;
use serde_json::json;

use crate::support::{delivery, headers, payload};

fn activity(list: &[(&str, &str)], body: &serde_json::Value) -> (String, Option<String>, bool) {
    let found = delivery(&headers(list), body.to_string().as_bytes());
    match found.map(|delivery| delivery.event) {
        Ok(ForgeEvent::Other(other)) => {
            let activity = other.activity.expect("it says where");
            let has_pull = activity.pull_request.is_some();
            (other.name.to_string(), activity.action, has_pull)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn i17_a_review_is_one_whatever_it_came_to() {
    let mut body = payload("gitea_pull_request");
    body["action"] = "reviewed".into();
    for (event, kind) in [
        ("pull_request_approved", "pull_request_review_approved"),
        ("pull_request_rejected", "pull_request_review_rejected"),
        ("pull_request_comment", "pull_request_review_comment"),
    ] {
        body["review"] = json!({"type": kind, "content": "good"});
        let list = [
            ("X-Forgejo-Event", event),
            ("X-GitHub-Event", event),
            ("X-Forgejo-Event-Type", kind),
        ];
        let expected = (
            "pull_request_review".to_owned(),
            Some("submitted".to_owned()),
            true,
        );
        assert_eq!(activity(&list, &body), expected, "{event}");
    }
}

#[test]
fn i17_a_package_is_published_and_needs_no_event_header() {
    let repository = payload("gitea_push")["repository"].clone();
    let body = json!({"action": "created", "repository": repository, "package": {"name": "a"}});
    let list = [("X-Forgejo-Event", ""), ("X-Forgejo-Event-Type", "package")];
    let expected = ("package".to_owned(), Some("published".to_owned()), false);
    assert_eq!(activity(&list, &body), expected);
}
