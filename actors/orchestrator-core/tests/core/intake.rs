//! What events lead to.

use orchestrator_core::health::AgentUsage;
use orchestrator_core::intake::identity_without_request;
use orchestrator_core::run::{AgentRunState, Priority, Reason, RunTrigger};
use serde_json::json;

use crate::fleet::{World, comment, key, pull, pull_with, sha};

#[test]
fn each_mention_is_queued_or_refused_with_a_reason() {
    let world = World::new();
    for (repository, body, expected) in [
        ("acme/main", "@orch:reviewer look", vec!["reviewer"]),
        (
            "acme/main",
            "@orch:reviewer and @orch:private",
            vec!["reviewer", "private: not_allowed"],
        ),
        ("acme/main", "@orch:nobody", vec!["nobody: unknown_agent"]),
        ("acme/main", "@orch:asleep", vec!["asleep: disabled"]),
        (
            "acme/main",
            "@orch:developer",
            vec!["developer: other_project"],
        ),
        (
            "acme/main",
            "@orch:tools/developer",
            vec!["tools/developer: other_project"],
        ),
        (
            "acme/main",
            "@orch:nowhere/reviewer",
            vec!["nowhere/reviewer: unknown_project"],
        ),
        // `extra_projects` makes it known there.
        ("acme/tools", "@orch:reviewer", vec!["reviewer"]),
        ("acme/tools", "@orch:main/reviewer", vec!["main/reviewer"]),
        ("acme/tools", "@orch:guard", vec!["guard: other_project"]),
        (
            "acme/other",
            "@orch:reviewer",
            vec!["reviewer: unknown_project"],
        ),
        ("acme/main", "nothing here", vec!["ignored: no_mention"]),
        ("acme/main", "`@orch:reviewer`", vec!["ignored: no_mention"]),
    ] {
        let expected: Vec<String> = expected
            .iter()
            .map(|text| {
                text.strip_prefix("main/")
                    .filter(|t| !t.contains(':'))
                    .unwrap_or(text)
                    .to_string()
            })
            .collect();
        assert_eq!(
            world.outcome(&comment(repository, 7, 1, "bob", body)),
            expected,
            "{repository} {body}"
        );
    }
    assert_eq!(
        world.outcome(&comment("acme/main", 7, 1, "Alice", "@orch:private")),
        ["private"]
    );
}

#[test]
fn what_stands_against_an_agent_is_told() {
    let mut world = World::new();
    let ask = comment("acme/main", 7, 1, "bob", "@orch:miser");
    assert_eq!(world.outcome(&ask), ["miser"]);
    world
        .usage
        .insert(key("main", "miser"), AgentUsage { runs: 2, cents: 0 });
    assert_eq!(world.outcome(&ask), ["miser: budget_exhausted"]);
    world.quarantined.insert(key("main", "miser"));
    assert_eq!(world.outcome(&ask), ["miser: quarantined"]);
    world = World::new();
    world.queued = world.config.max_queued;
    assert_eq!(world.outcome(&ask), ["miser: queue_full"]);
    world = World::new();
    world.recent = 20;
    assert_eq!(world.outcome(&ask), ["miser: rate_limited"]);
    assert_eq!(
        world.outcome(&comment("acme/main", 0, 1, "cli", "@orch:miser")),
        ["miser"],
        "not the command line"
    );
}

/// Payloads made by hand are told apart by their deliveries, not by the number of a comment that
/// no forge has given.
#[test]
fn contract_a_comment_at_no_issue_has_no_identity_of_its_own() {
    let world = World::new();
    let dispatch =
        |issue, id| world.dispatch(&comment("acme/main", issue, id, "bob", "@orch:miser"));
    assert_eq!(dispatch(0, 17).identity, None);
    assert_eq!(dispatch(0, 0).identity, None);
    assert!(dispatch(7, 17).identity.is_some());
    let silent = |issue| identity_without_request(&comment("acme/main", issue, 17, "bob", "hello"));
    assert_eq!(silent(0), None);
    assert!(silent(7).is_some());
}

/// Gitea and Forgejo tell by `edited` that a draft is ready: the title has lost its `WIP:`.
#[test]
fn contract_a_draft_made_ready_by_its_title_is_fanned_out() {
    let world = World::new();
    let edited = |from: &str, title: &str, draft: bool| {
        let mut body = json!({
            "action": "edited", "number": 3, "changes": {"title": {"from": from}},
            "repository": {"full_name": "acme/main"},
        });
        body["pull_request"] = json!({
            "title": title, "number": 3, "state": "open", "draft": draft, "user": {"login": "alice"},
            "head": {"ref": "topic", "sha": sha(1).as_str(), "repo": {"full_name": "acme/main"}},
            "base": {"ref": "main", "sha": sha(1000).as_str()},
        });
        world.outcome(&crate::fleet::event(&body))
    };
    let ready = world.outcome(&pull("ready_for_review", 3, 1));
    assert!(
        ready.iter().any(|one| !one.contains("ignored")),
        "{ready:?}"
    );
    assert_eq!(edited("WIP: A change", "A change", false), ready);
    assert_eq!(edited("[wip] A change", "A change", false), ready);
    let ignored = ["ignored: pull_request_action"];
    assert_eq!(edited("A change", "Another change", false), ignored);
    assert_eq!(edited("WIP: A change", "WIP: another", true), ignored);
    assert_eq!(edited("A change", "WIP: A change", true), ignored);
}

/// "Orchestrator has no top-level `mentions` section: every webhook dispatch is silently dropped."
#[test]
fn contract_without_mentions_no_webhook_dispatches_anything() {
    let mut world = World::new();
    let asks = [
        comment("acme/main", 7, 1, "bob", "@orch:miser"),
        comment("acme/main", 0, 0, "cli", "@orch:miser"),
        comment("acme/main", 7, 2, "bob", "@orch:nobody"),
        pull("opened", 3, 1),
        pull("reopened", 3, 1),
        pull("synchronized", 3, 2),
        pull("synchronize", 3, 3),
    ];
    assert!(!world.dispatch(&asks[3]).runs.is_empty());
    world.config.mentions = None;
    for ask in &asks {
        assert_eq!(world.outcome(ask), ["ignored: mentions_not_configured"]);
    }
    // What is open of a pull request still ends with it.
    let closed = world.dispatch(&pull("closed", 3, 3));
    assert!(closed.runs.is_empty() && closed.runs_to_end.is_some());
}

#[test]
fn w21_w22_edits_deletions_closed_issues_and_own_comments_start_nothing() {
    let world = World::new();
    let mut body = json!({
        "action": "edited",
        "comment": {"id": 1, "body": "@orch:reviewer", "user": {"login": "bob"}},
        "issue": {"number": 7, "state": "open"},
        "repository": {"full_name": "acme/main"},
    });
    assert_eq!(
        world.outcome(&crate::fleet::event(&body)),
        ["ignored: comment_edited"]
    );
    body["action"] = "deleted".into();
    assert_eq!(
        world.outcome(&crate::fleet::event(&body)),
        ["ignored: comment_deleted"]
    );
    body["action"] = "created".into();
    body["issue"]["state"] = "closed".into();
    assert_eq!(
        world.outcome(&crate::fleet::event(&body)),
        ["reviewer: issue_closed"]
    );
    let own = comment("acme/main", 7, 1, "Orch-Bot", "@orch:reviewer");
    assert_eq!(world.outcome(&own), ["ignored: own_comment"]);
}

#[test]
fn w24_many_mentions_are_bounded() {
    let world = World::new();
    let body: Vec<String> = (0..1000).map(|n| format!("@orch:agent-{n}")).collect();
    let dispatch = world.dispatch(&comment("acme/main", 7, 1, "bob", &body.join(" ")));
    assert_eq!(dispatch.runs.len(), 0);
    assert_eq!(dispatch.rejected.len(), 11);
    assert_eq!(dispatch.rejected[10].reason, Reason::OverMentionLimit);
    assert_eq!(dispatch.rejected[10].agent, "990 more");
    assert_eq!(
        world.outcome(&comment("acme/main", 7, 1, "bob", "@orch:../../x")),
        ["ignored: no_mention"]
    );
}

#[test]
fn w25_strangers_by_the_forges_own_word_are_refused() {
    let world = World::new();
    let by = |standing: &str| {
        world.outcome(&crate::fleet::event(&json!({
            "action": "created",
            "comment": {"id": 1, "body": "@orch:reviewer", "user": {"login": "bob"}, "author_association": standing},
            "issue": {"number": 7, "state": "open"},
            "repository": {"full_name": "acme/main"},
        })))
    };
    assert_eq!(by("COLLABORATOR"), ["reviewer"]);
    assert_eq!(by("NONE"), ["reviewer: not_allowed"]);
    assert_eq!(by("FIRST_TIME_CONTRIBUTOR"), ["reviewer: not_allowed"]);
}

#[test]
fn w25_where_the_event_does_not_say_the_forge_is_to_be_asked() {
    let mut world = World::new();
    let asked = |world: &World, event: &forge_core::ForgeEvent| {
        let dispatch = world.dispatch(event);
        dispatch.runs[0].run.check_author
    };
    let stranger = comment("acme/main", 7, 1, "bob", "@orch:reviewer");
    let cli = comment("acme/main", 0, 1, "bob", "@orch:reviewer");
    let forge = world.config.forge.take();
    assert!(!asked(&world, &stranger), "there is nobody to ask");
    world.config.forge = forge;
    assert!(asked(&world, &stranger));
    assert!(!asked(&world, &cli), "who holds the secret may ask");
    let mentions = world.config.mentions.as_mut().expect("mentions");
    mentions.require_write = false;
    assert!(!asked(&world, &stranger));
    let mentions = world.config.mentions.as_mut().expect("mentions");
    (mentions.require_write, mentions.allow) = (true, vec!["bob".parse().expect("a login")]);
    assert!(!asked(&world, &stranger), "the allow-list decides");
}

#[test]
fn o04_chains_of_agents_end() {
    let world = World::new();
    let at = |depth: u16| {
        let body = format!("@orch:reviewer\n<!-- orch:run=r1 depth={depth} -->");
        world.outcome(&comment("acme/main", 7, 1, "bob", &body))
    };
    assert_eq!(at(2), ["reviewer"]);
    assert_eq!(at(3), ["reviewer: loop_guard"]);
    assert_eq!(at(u16::MAX), ["reviewer: loop_guard"]);
}

#[test]
fn a_comments_mark_does_not_depend_on_its_delivery() {
    let world = World::new();
    let dispatch = world.dispatch(&comment("Acme/Main", 7, 42, "bob", "@orch:reviewer fix it"));
    let mark = dispatch.identity.expect("a mark");
    assert_eq!(
        (mark.key.as_str(), mark.once),
        ("comment:acme/main:42", true)
    );
    let want = &dispatch.runs[0];
    assert_eq!(want.context.task, "fix it");
    assert_eq!(
        (want.run.trigger, want.run.priority),
        (RunTrigger::Mention, Priority::Mention)
    );
    let cli = world.dispatch(&comment("acme/main", 0, 0, "cli", "@orch:reviewer"));
    assert_eq!(
        (cli.identity, cli.runs[0].run.trigger),
        (None, RunTrigger::Cli)
    );
}

#[test]
fn a_pull_request_fans_out_and_owes_a_status_for_each() {
    let world = World::new();
    for action in [
        "opened",
        "reopened",
        "synchronize",
        "synchronized",
        "ready_for_review",
    ] {
        let dispatch = world.dispatch(&pull(action, 3, 5));
        assert_eq!(dispatch.runs.len(), 2, "{action}");
        let mark = dispatch.identity.expect("a mark");
        assert_eq!(mark.key, format!("pull:acme/main:3:{}", sha(5)));
        assert_eq!(mark.once, action != "reopened");
        let ends = dispatch.runs_to_end.expect("older heads end");
        assert_eq!((ends.keep, ends.reason), (Some(sha(5)), Reason::Superseded));
        let status = dispatch.runs[0].run.status.as_ref().expect("a status");
        assert_eq!(
            (status.context.as_str(), &status.sha),
            ("orch/build", &sha(5))
        );
    }
    assert_eq!(
        world.outcome(&pull("labeled", 3, 5)),
        ["ignored: pull_request_action"]
    );
}

#[test]
fn a_skipped_fan_out_still_owes_terminal_statuses() {
    let mut world = World::new();
    world.config.agents.remove(&key("main", "reviewer"));
    world.quarantined.insert(key("main", "build-runner"));
    let dispatch = world.dispatch(&pull("opened", 3, 5));
    assert!(dispatch.runs.is_empty());
    let skipped = dispatch
        .rejected
        .iter()
        .find(|r| r.agent == "build-runner")
        .expect("skipped");
    let run = skipped.run.as_ref().expect("a record");
    assert_eq!(
        (run.state, run.reason),
        (AgentRunState::Rejected, Some(Reason::Quarantined))
    );
    assert!(run.status.is_some());
    let fork =
        json!({"head": {"ref": "x", "sha": sha(5).as_str(), "repo": {"full_name": "eve/main"}}});
    let world = World::new();
    assert_eq!(
        world.outcome(&pull_with("opened", 3, 5, &fork)),
        ["build-runner: not_dispatched", "reviewer: not_dispatched"]
    );
    assert_eq!(
        world.outcome(&pull_with("opened", 3, 5, &json!({"draft": true}))),
        ["ignored: pr_draft"]
    );
}

#[test]
fn o19_a_closed_pull_request_ends_everything_of_it() {
    let world = World::new();
    for event in [
        pull("closed", 3, 5),
        pull_with("synchronized", 3, 5, &json!({"state": "closed"})),
    ] {
        let dispatch = world.dispatch(&event);
        assert!(dispatch.runs.is_empty());
        let ends = dispatch.runs_to_end.expect("runs end");
        assert_eq!(
            (ends.keep, ends.reason, ends.forget),
            (None, Reason::PullRequestClosed, true)
        );
    }
}

/// `orchctl trigger --issue 7`: the secret says who asks, whatever the forge and the lists know of
/// that name.
#[test]
fn a_trigger_by_hand_may_name_an_issue() {
    let event = |by_hand: bool, state: &str| {
        crate::fleet::event(&serde_json::json!({
            "action": "created",
            "comment": {"id": 7, "body": "@orch:private go", "user": {"login": "orchctl"}},
            "issue": {"number": 7, "state": state},
            "repository": {"full_name": "acme/main"},
            "orchctl": by_hand,
        }))
    };
    let mut world = World::new();
    world.recent = 10_000;
    assert_eq!(
        world.outcome(&event(false, "open")),
        ["private: not_allowed"]
    );
    for state in ["open", "closed"] {
        let dispatch = world.dispatch(&event(true, state));
        let run = &dispatch.runs[0].run;
        assert!(!run.check_author && run.trigger == orchestrator_core::run::RunTrigger::Cli);
        assert_eq!(run.issue().map(u64::from), Some(7));
    }
}
