//! Scopes of caches: who reads what whom wrote.

use runner_core::cache_scope::{CacheScope, cache_scopes};
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::ExprValue;

fn event(kind: EventKind, reference: &str, base: Option<&str>, untrusted: bool) -> EventContext {
    EventContext {
        kind,
        action: None,
        reference: reference.to_owned(),
        sha: "1".repeat(40),
        repository: "O/r".to_owned(),
        actor: String::new(),
        base_branch: base.map(str::to_owned),
        head_branch: None,
        untrusted,
        changed_paths: None,
        message: None,
        inputs: Vec::new(),
        payload: ExprValue::Null,
    }
}

fn scopes(event: &EventContext) -> Vec<CacheScope> {
    cache_scopes(event, "main")
}

#[test]
fn t7_a_run_reads_its_own_its_base_s_and_the_default_branch_s_caches() {
    use EventKind::{PullRequest, Push, Schedule, WorkflowDispatch};
    let main = "refs/heads/main";
    for (event, wanted) in [
        (event(Push, main, None, false), vec![main]),
        (
            event(Push, "refs/heads/x", None, false),
            vec!["refs/heads/x", main],
        ),
        (
            event(Push, "refs/tags/v1", None, false),
            vec!["refs/tags/v1", main],
        ),
        (event(Schedule, main, None, false), vec![main]),
        (
            event(WorkflowDispatch, "refs/heads/x", None, false),
            vec!["refs/heads/x", main],
        ),
        (
            event(PullRequest, "refs/pull/7/head", Some("next"), false),
            vec!["refs/pull/7/head", "refs/heads/next", main],
        ),
        (
            event(PullRequest, "refs/pull/7/head", Some("main"), true),
            vec!["refs/pull/7/head", main],
        ),
        // What strangers cause leaves nothing that the default branch's own runs restore.
        (
            event(EventKind::IssueComment, main, None, false),
            vec!["refs/heads/main@issue_comment", main],
        ),
        (
            event(EventKind::PullRequestTarget, main, Some("main"), false),
            vec!["refs/heads/main@pull_request_target", main],
        ),
    ] {
        let found = scopes(&event);
        let names: Vec<&str> = found.iter().map(|scope| scope.reference.as_str()).collect();
        assert_eq!(names, wanted, "{event:?}");
        assert!(found.iter().all(|scope| scope.repository == "o/r"));
    }
}

#[test]
fn t7_what_strangers_write_nobody_else_reads() {
    let theirs = scopes(&event(
        EventKind::PullRequest,
        "refs/pull/7/head",
        Some("main"),
        true,
    ));
    // Whatever they call it: a head branch named like the default one stays theirs.
    let named = scopes(&event(
        EventKind::PullRequest,
        "refs/heads/main",
        Some("main"),
        true,
    ));
    for others in [
        event(EventKind::Push, "refs/heads/main", None, false),
        event(EventKind::Push, "refs/pull/7/head", None, false),
        event(
            EventKind::PullRequest,
            "refs/pull/8/head",
            Some("main"),
            true,
        ),
        event(
            EventKind::PullRequest,
            "refs/pull/7/head",
            Some("main"),
            false,
        ),
    ] {
        for written in [&theirs[0], &named[0]] {
            assert!(
                !scopes(&others).contains(written),
                "{others:?} reads {written:?}"
            );
        }
    }
}
