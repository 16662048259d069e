//! Which events are taken for those of a job's call.

use super::*;

const NOW: u64 = 1_000_000;
const ZEROS: &str = "0000000000000000000000000000000000000000";

fn moving(reference: &str, old: Option<&str>, new: Option<&str>, own: bool) -> CallEffects {
    CallEffects {
        moves: vec![CallMove {
            reference: reference.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
            is_own_commit: own,
        }],
        pull: None,
    }
}

fn changing(number: Option<u64>, actions: &[&str]) -> CallEffects {
    CallEffects {
        moves: Vec::new(),
        pull: Some(CallPull {
            number,
            actions: actions.iter().map(|one| (*one).to_owned()).collect(),
        }),
    }
}

fn answered(effects: CallEffects) -> NotedCall {
    NotedCall {
        at_ms: NOW,
        until_ms: None,
        effects,
    }
}

fn in_flight(effects: CallEffects) -> NotedCall {
    NotedCall {
        at_ms: NOW,
        until_ms: Some(NOW + 60_000),
        effects,
    }
}

/// An event as a line: `push main a>b by runner`, `opened #7 by ada`, `synchronize x b by runner`.
struct Line {
    kind: EventKind,
    action: Option<&'static str>,
    references: Vec<String>,
    commit: &'static str,
    before: Option<&'static str>,
    number: Option<u64>,
    branch: Option<&'static str>,
    actor: Option<&'static str>,
}

fn event(line: &'static str) -> Line {
    let (rest, actor) = match line.split_once(" by ") {
        Some((rest, actor)) => (rest, Some(actor)),
        None => (line, None),
    };
    let words: Vec<&'static str> = rest.split(' ').collect();
    let mut event = Line {
        kind: EventKind::PullRequest,
        action: None,
        references: Vec::new(),
        commit: "",
        before: None,
        number: None,
        branch: None,
        actor,
    };
    match words.as_slice() {
        ["push", name, moved] => {
            let (before, commit) = moved.split_once('>').unwrap();
            event.kind = EventKind::Push;
            event.references = vec![format!("refs/{name}")];
            event.commit = commit;
            event.before = (before != "?").then_some(if before == "0" { ZEROS } else { before });
        }
        [word @ ("create" | "delete"), name] => {
            event.kind = match *word {
                "create" => EventKind::Create,
                _ => EventKind::Delete,
            };
            event.references = vec![format!("refs/{name}")];
        }
        ["synchronize", branch, commit] => {
            event.action = Some("synchronize");
            event.references = vec![format!("refs/heads/{branch}")];
            event.branch = Some(branch);
            event.commit = commit;
            event.number = Some(7);
        }
        [action, number] => {
            event.action = Some(action);
            event.number = number.strip_prefix('#').and_then(|one| one.parse().ok());
            event.branch = Some("x");
        }
        _ => panic!("{line}"),
    }
    event
}

fn asked(call: &NotedCall, line: &Line, account: TokenAccount<'_>, after: u64) -> CallVerdict {
    let event = compared(line, after);
    is_caused_by_call(std::slice::from_ref(call), &event, account, NOW + after)
}

fn compared(line: &Line, after: u64) -> CausedEvent<'_> {
    CausedEvent {
        kind: line.kind,
        action: line.action,
        references: &line.references,
        commits: std::slice::from_ref(&line.commit),
        before: line.before,
        number: line.number,
        head_branch: line.branch,
        actor: line.actor,
        at_ms: NOW + after,
    }
}

use CallVerdict::{Caused, NotCaused, Wait};
use TokenAccount::{App, Of, Unknown};

const BOT: TokenAccount<'_> = App(Some("our[bot]"));

#[test]
fn i17_after_the_answer_only_the_call_s_own_events_are_taken_for_it() {
    const DAY: u64 = 24 * 3_600_000;
    let file = answered(moving("refs/heads/main", None, Some("b"), true));
    let of_default = answered(moving("refs/heads/", None, Some("b"), true));
    let reset = answered(moving("refs/heads/main", None, Some("b"), false));
    let made = answered(moving("refs/heads/x", Some(ZEROS), Some("b"), false));
    let tag = answered(moving("refs/tags/v1", Some(ZEROS), None, false));
    let gone = answered(moving("refs/heads/x", None, Some(ZEROS), false));
    let update = answered(moving("refs/heads/x", Some("a"), None, false));
    let opened = answered(changing(Some(7), &["opened", "labeled"]));
    let labels = answered(changing(Some(7), &["labeled", "unlabeled"]));
    let runner = Of("Runner");
    for (call, line, account, after, expected) in [
        (&file, "push heads/main a>b by runner", runner, 0, Caused),
        (&file, "push heads/main a>b by runner", Unknown, DAY, Caused),
        // Nobody else has the commit, whatever the forge calls whoever pushes it.
        (&file, "push heads/main a>b by app[bot]", runner, 0, Caused),
        (&file, "push heads/main ?>b", runner, DAY, Caused),
        (
            &file,
            "push heads/main a>b by runner",
            runner,
            DAY + 1,
            NotCaused,
        ),
        // Somebody pushes on.
        (&file, "push heads/main b>c by ada", runner, 0, NotCaused),
        (&file, "push heads/main b>c by runner", runner, 0, NotCaused),
        (&file, "push heads/x a>b by runner", runner, 0, NotCaused),
        (&file, "synchronize main b by runner", runner, 0, Caused),
        (&file, "synchronize main c by runner", runner, 0, NotCaused),
        (&file, "create heads/main by runner", runner, 0, NotCaused),
        (&file, "closed #7 by runner", runner, 0, NotCaused),
        (
            &of_default,
            "push heads/main a>b by runner",
            runner,
            0,
            Caused,
        ),
        (&of_default, "push tags/v1 0>b by ada", runner, 0, NotCaused),
        // The commit was there before: somebody else may go to it.
        (&reset, "push heads/main a>b by runner", runner, 0, Caused),
        (&reset, "push heads/main a>b by ada", runner, 0, NotCaused),
        (
            &reset,
            "push heads/main a>b by ada",
            App(None),
            0,
            NotCaused,
        ),
        (&made, "push heads/x 0>b by runner", runner, 0, Caused),
        (&made, "push heads/x c>b by runner", runner, 0, NotCaused),
        (&made, "create heads/x by runner", runner, 0, Caused),
        (&made, "create heads/x by ada", runner, 0, NotCaused),
        (&made, "create heads/y by runner", runner, 0, NotCaused),
        (&made, "delete heads/x by runner", runner, 0, NotCaused),
        (&tag, "push tags/v1 0>c by runner", runner, 0, Caused),
        (&tag, "push tags/v1 b>c by runner", runner, 0, NotCaused),
        (&tag, "push tags/v1 0>c by runner", Unknown, 0, NotCaused),
        (&gone, "delete heads/x by runner", runner, 0, Caused),
        (&gone, "delete heads/x by ada", runner, 0, NotCaused),
        (&gone, "closed #7 by runner", runner, 0, Caused),
        (&gone, "closed #7 by ada", runner, 0, NotCaused),
        (&update, "push heads/x a>c by runner", runner, 0, Caused),
        (&update, "push heads/x c>d by runner", runner, 0, NotCaused),
        (&update, "push heads/x a>c by ada", runner, 0, NotCaused),
        (&opened, "opened #7 by runner", runner, DAY, Caused),
        (&opened, "opened #8 by runner", runner, 0, NotCaused),
        (&opened, "reopened #7 by runner", runner, 0, NotCaused),
        (&labels, "labeled #7 by runner", runner, 600_000, Caused),
        (&labels, "labeled #7 by runner", runner, 600_001, NotCaused),
        (&labels, "labeled #7 by ada", runner, 0, NotCaused),
        (&labels, "labeled #8 by runner", runner, 0, NotCaused),
    ] {
        let verdict = asked(call, &event(line), account, after);
        assert_eq!(verdict, expected, "{line} {account:?} {after} {call:?}");
    }
}

#[test]
fn i17_before_the_answer_what_may_be_the_call_s_own_waits_and_nothing_else_does() {
    let file = in_flight(moving("refs/heads/main", None, None, true));
    let merge = in_flight(CallEffects {
        pull: changing(Some(7), &["closed"]).pull,
        ..moving("refs/heads/", None, None, true)
    });
    let open = in_flight(changing(None, &["opened"]));
    let reference = in_flight(moving("refs/heads/x", Some(ZEROS), Some("b"), false));
    let runner = Of("runner");
    for (call, line, account, expected) in [
        (&file, "push heads/main a>b by runner", runner, Wait),
        (&file, "push heads/main a>b by runner", Unknown, Wait),
        (&file, "push heads/main ?>b", runner, Wait),
        (&file, "push heads/main a>b by ada", runner, NotCaused),
        (&file, "push heads/x a>b by runner", runner, NotCaused),
        (&file, "synchronize main b by runner", runner, Wait),
        (&merge, "push heads/main a>b by runner", runner, Wait),
        (&merge, "closed #7 by runner", runner, Wait),
        (&merge, "closed #8 by runner", runner, NotCaused),
        (&open, "opened #9 by runner", runner, Wait),
        (&open, "opened #9 by ada", runner, NotCaused),
        (&open, "labeled #9 by runner", runner, NotCaused),
        (&reference, "push heads/x 0>b by runner", runner, Wait),
        (&reference, "push heads/x 0>c by runner", runner, NotCaused),
        (&reference, "create heads/x by runner", runner, Wait),
    ] {
        let verdict = asked(call, &event(line), account, 0);
        assert_eq!(verdict, expected, "{line} {account:?} {call:?}");
    }
}

#[test]
fn i17_a_call_that_was_never_answered_swallows_nobody_else_s_events() {
    let file = in_flight(moving("refs/heads/main", None, None, true));
    let open = in_flight(changing(None, &["opened"]));
    let runner = Of("runner");
    for (call, line, account, after, expected) in [
        (&file, "push heads/main a>b by runner", runner, 59_999, Wait),
        (
            &file,
            "push heads/main a>b by runner",
            runner,
            60_000,
            Caused,
        ),
        (
            &file,
            "push heads/main a>b by our[bot]",
            BOT,
            60_000,
            Caused,
        ),
        (
            &file,
            "push heads/main a>b by other[bot]",
            App(None),
            60_000,
            NotCaused,
        ),
        (
            &file,
            "push heads/main a>b by ada",
            runner,
            60_000,
            NotCaused,
        ),
        (&file, "push heads/main a>b by ada", BOT, 60_000, NotCaused),
        // Nobody says whose it is, or whose the token is.
        (&file, "push heads/main ?>b", runner, 60_000, NotCaused),
        (
            &file,
            "push heads/main a>b by runner",
            Unknown,
            60_000,
            NotCaused,
        ),
        (
            &file,
            "push heads/main a>b by runner",
            runner,
            600_001,
            NotCaused,
        ),
        (&open, "opened #9 by runner", runner, 60_000, Caused),
        (&open, "opened #9 by ada", runner, 60_000, NotCaused),
    ] {
        let verdict = asked(call, &event(line), account, after);
        assert_eq!(verdict, expected, "{line} {account:?} {after} {call:?}");
    }
    // What came before the call is nothing of it.
    let mut earlier = file;
    earlier.at_ms = NOW + 60_000;
    let push = event("push heads/main a>b by runner");
    assert_eq!(asked(&earlier, &push, runner, 0), NotCaused);
}

#[test]
fn i17_an_app_is_known_by_the_push_of_what_was_made_for_a_call() {
    let file = moving("refs/heads/main", None, Some("b"), true);
    let reset = moving("refs/heads/main", None, Some("b"), false);
    let open = moving("refs/heads/main", None, None, true);
    for (effects, line, expected) in [
        (&file, "push heads/main a>b by our[bot]", Some("our[bot]")),
        (&file, "push heads/main a>b by ada", None),
        (&file, "push heads/main b>c by other[bot]", None),
        (&file, "synchronize main b by other[bot]", None),
        (&reset, "push heads/main a>b by other[bot]", None),
        (&open, "push heads/main a>b by other[bot]", None),
    ] {
        let event = event(line);
        let told = app_of_calls(&[answered(effects.clone())], &compared(&event, 0));
        assert_eq!(told, expected, "{line} {effects:?}");
    }
}

#[test]
fn i17_what_others_do_as_well_is_taken_for_the_known_account_only() {
    let reset = answered(moving("refs/heads/main", None, Some("b"), false));
    let gone = answered(moving("refs/heads/x", None, Some(ZEROS), false));
    let opened = answered(changing(Some(7), &["opened", "labeled"]));
    let labels = answered(changing(Some(7), &["labeled", "unlabeled"]));
    let runner = Of("Runner");
    for (call, line, account, after, expected) in [
        // Nobody says whose the token is, or who did it: somebody else may have.
        (&labels, "labeled #7 by ada", Unknown, 0, NotCaused),
        (&labels, "labeled #7", runner, 0, NotCaused),
        (&gone, "closed #7 by ada", Unknown, 0, NotCaused),
        (&opened, "opened #7 by ada", Unknown, 0, Caused),
        (
            &reset,
            "push heads/main a>b by our[bot]",
            App(None),
            0,
            Caused,
        ),
        // Not every app is the token's.
        (&labels, "labeled #7 by other[bot]", App(None), 0, NotCaused),
        (&labels, "labeled #7 by other[bot]", BOT, 0, NotCaused),
        (&labels, "labeled #7 by Our[bot]", BOT, 0, Caused),
        (&labels, "synchronize x b by runner", runner, 0, NotCaused),
        (&reset, "push heads/main a>b by our[bot]", BOT, 0, Caused),
        (
            &reset,
            "push heads/main a>b by other[bot]",
            BOT,
            0,
            NotCaused,
        ),
    ] {
        let verdict = asked(call, &event(line), account, after);
        assert_eq!(verdict, expected, "{line} {account:?} {after} {call:?}");
    }
}
