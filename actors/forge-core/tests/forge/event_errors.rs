//! Bodies that are refused, and with which words; W16, W26, W29.

use forge_core::{EventError, ForgeEvent, ForgeEventKind, ObjectFormats};
use serde_json::{Value, json};

use crate::support::{event_header, headers, payload, raw, read, refusal, with};

/// Fields that may not be absent: event, pointer to the object, its member, the path in the error.
const REQUIRED: [(&str, &str, &str, &str); 15] = [
    (
        "pull_request",
        "/pull_request/head",
        "sha",
        "pull_request.head.sha",
    ),
    (
        "pull_request",
        "/pull_request/head",
        "ref",
        "pull_request.head.ref",
    ),
    (
        "pull_request",
        "/pull_request/base",
        "ref",
        "pull_request.base.ref",
    ),
    ("pull_request", "", "number", "number"),
    ("pull_request", "", "action", "action"),
    ("pull_request", "", "pull_request", "pull_request"),
    ("push", "", "repository", "repository.full_name"),
    ("push", "", "before", "before"),
    ("push", "", "ref", "ref"),
    ("push", "/commits/0", "id", "commits[0].id"),
    ("issue_comment", "/comment", "id", "comment.id"),
    ("issue_comment", "/comment", "body", "comment.body"),
    ("issue_comment", "/comment", "user", "comment.user.login"),
    ("issue_comment", "/issue", "number", "issue.number"),
    ("issue_comment", "", "issue", "issue"),
];

#[test]
fn missing_fields_are_named_with_their_path() {
    for (event, object, field, path) in REQUIRED {
        let mut body = payload(&format!("github_{event}"));
        let members = body.pointer_mut(object).unwrap().as_object_mut().unwrap();
        members.remove(field).expect("the field exists");
        assert_eq!(refusal(event, &body), format!("{path} is missing"));
        body.pointer_mut(object).unwrap()[field] = Value::Null;
        assert_eq!(
            refusal(event, &body),
            format!("{path} is missing"),
            "null counts as missing"
        );
    }
}

/// The message for each value at a pointer in GitHub's payload of an event.
fn wrong(event: &str, cases: &[(&str, Value, &str)]) {
    for (pointer, value, message) in cases {
        let body = with(&format!("github_{event}"), pointer, value.clone());
        assert_eq!(refusal(event, &body), *message);
    }
}

#[test]
fn wrong_types_in_a_pull_request_are_named_with_their_path() {
    let range = "expected an integer from 1 to 9223372036854775807";
    let number = |found: &str| format!("number is {found}, {range}");
    wrong(
        "pull_request",
        &[
            ("/number", json!("12"), &number("a string")),
            ("/number", json!(0), &number("0")),
            ("/number", json!(1.5), &number("1.5")),
            (
                "/pull_request/number",
                json!(13),
                "pull_request.number contradicts number",
            ),
            (
                "/pull_request",
                json!("x"),
                "pull_request is a string, expected an object",
            ),
            (
                "/pull_request/head",
                json!([]),
                "pull_request.head is an array, expected an object",
            ),
            (
                "/pull_request/draft",
                json!("no"),
                "pull_request.draft is a string, expected true or false",
            ),
            (
                "/repository",
                json!("a/b"),
                "repository is a string, expected an object",
            ),
        ],
    );
}

#[test]
fn wrong_types_elsewhere_are_named_with_their_path() {
    wrong(
        "push",
        &[
            (
                "/commits",
                json!({}),
                "commits is an object, expected an array",
            ),
            (
                "/commits/0",
                json!(1),
                "commits[0] is 1, expected an object",
            ),
            (
                "/commits/0/added/0",
                json!(7),
                "commits[0].added[0] is 7, expected a string",
            ),
            (
                "/head_commit",
                json!("x"),
                "head_commit is a string, expected an object",
            ),
        ],
    );
    wrong(
        "issue_comment",
        &[
            (
                "/comment/body",
                json!(true),
                "comment.body is true, expected a string",
            ),
            (
                "/comment/user",
                json!("ada"),
                "comment.user is a string, expected an object",
            ),
        ],
    );
    assert_eq!(
        refusal("push", &json!([1])),
        "the body is an array, expected an object"
    );
    assert_eq!(
        refusal("release", &json!("x")),
        "the body is a string, expected an object"
    );
}

#[test]
fn w16_a_body_under_another_event_s_name() {
    for (declared, name) in [
        ("pull_request", "github_issue_comment"),
        ("pull_request", "gitea_pull_request_comment"),
        ("pull_request", "github_push"),
        ("push", "github_pull_request"),
        ("push", "github_ping"),
        ("issue_comment", "github_pull_request"),
        ("ping", "github_push"),
    ] {
        let refused = read(declared, &payload(name));
        assert!(
            matches!(refused, Err(EventError::Mismatch { .. })),
            "{declared} {name}: {refused:?}"
        );
    }
    let review = json!({"action": "submitted", "pull_request": {}, "review": {"id": 1}});
    assert_eq!(
        refusal("pull_request", &review),
        "the headers declare the event pull_request, but the body is a pull request review"
    );
    let declared = ForgeEventKind::Push;
    let expected = EventError::Mismatch {
        declared,
        body: "ping",
    };
    assert_eq!(read("push", &payload("github_ping")), Err(expected));
}

#[test]
fn w16_headers_that_contradict_each_other() {
    let swapped = headers(&[
        ("X-GitHub-Event", "push"),
        ("X-Gitea-Event", "issue_comment"),
    ]);
    let refused = ForgeEvent::parse(&swapped, &raw("gitea_push"), ObjectFormats::Sha1).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("name both \"push\" and \"issue_comment\""),
        "{refused}"
    );
    let invalid = headers(&[("X-GitHub-Event", "push; drop")]);
    assert!(ForgeEvent::parse(&invalid, &raw("gitea_push"), ObjectFormats::Sha1).is_err());
}

#[test]
fn w26_head_commits_must_be_forty_lower_case_digits() {
    let sha = |text: &str| {
        read(
            "pull_request",
            &with("github_pull_request", "/pull_request/head/sha", json!(text)),
        )
    };
    assert!(sha(&"a".repeat(40)).is_ok());
    let wrong = [
        "a".repeat(39),
        "a".repeat(41),
        "A".repeat(40),
        "0".repeat(40),
        "a".repeat(64),
        format!("-{}", "a".repeat(39)),
        format!("../{}", "a".repeat(37)),
        format!("{}\n", "a".repeat(39)),
    ];
    for text in wrong {
        let refused = sha(&text).unwrap_err().to_string();
        assert!(
            refused.starts_with("pull_request.head.sha: commit"),
            "{refused}"
        );
    }
    assert_eq!(
        sha("").unwrap_err().to_string(),
        "pull_request.head.sha is missing"
    );
}

#[test]
fn w26_sixty_four_digits_only_if_configured() {
    let body = with(
        "github_pull_request",
        "/pull_request/head/sha",
        json!("b".repeat(64)),
    );
    let read = |formats| {
        ForgeEvent::parse(
            &event_header("pull_request"),
            body.to_string().as_bytes(),
            formats,
        )
    };
    assert!(read(ObjectFormats::Sha1).is_err());
    assert!(read(ObjectFormats::Sha1AndSha256).is_ok());
}

#[test]
fn w29_issue_numbers() {
    let number = |value: Value| {
        read(
            "issue_comment",
            &with("github_issue_comment", "/issue/number", value),
        )
    };
    for wrong in [
        json!(-1),
        json!(9_223_372_036_854_775_808_u64),
        json!("12"),
        json!(1.0),
        json!(1e30),
    ] {
        let refused = number(wrong.clone()).unwrap_err();
        assert!(
            matches!(refused, EventError::WrongType { .. }),
            "{wrong}: {refused}"
        );
    }
    let Ok(ForgeEvent::IssueComment(event)) = number(json!(0)) else {
        panic!()
    };
    assert!(event.issue.number.is_cli());
    let Ok(ForgeEvent::IssueComment(event)) = number(json!(i64::MAX)) else {
        panic!()
    };
    assert!(!event.issue.number.is_cli());
}
