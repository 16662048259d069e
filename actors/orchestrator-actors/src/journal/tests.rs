//! Every event has a name and a line.

use super::*;

/// One of each; the match has no `_`, so that a new event is put here, too.
fn every_event() -> Vec<Happened> {
    let all = vec![
        Happened::Queued,
        Happened::Rejected(Reason::Disabled),
        Happened::Ended(Reason::Superseded),
        Happened::Spawned { pid: 1 },
        Happened::Exited {
            class: ExitClass::Success,
            wall_ms: 1,
        },
        Happened::WallClockKilled,
        Happened::FanOut { runs: 1 },
        Happened::FanOutSkipped(Reason::Disabled),
        Happened::StatusDecided(CommitState::Success),
        Happened::PersonaApplied("p".into()),
        Happened::PersonaNotFound("p".into()),
        Happened::SkillsInjected(vec!["s".into()]),
        Happened::WorktreeCreated("/w".into()),
        Happened::WorktreeRemoved("/w".into()),
        Happened::Ignored(Ignored::NoMention),
        Happened::Ignored(Ignored::PrDraft),
        Happened::DedupHit("d".into()),
        Happened::Breaker {
            provider: "p".into(),
            state: "open",
        },
        Happened::Breaker {
            provider: "p".into(),
            state: "half_open",
        },
        Happened::Breaker {
            provider: "p".into(),
            state: "closed",
        },
        Happened::BudgetNear,
        Happened::Quarantined,
        Happened::BuildRemote { task_bytes: 1 },
        Happened::ProjectPaused(true),
        Happened::ProjectPaused(false),
        Happened::Reloaded,
    ];
    for what in &all {
        match what {
            Happened::Queued
            | Happened::Rejected(_)
            | Happened::Ended(_)
            | Happened::Spawned { .. }
            | Happened::Exited { .. }
            | Happened::WallClockKilled
            | Happened::FanOut { .. }
            | Happened::FanOutSkipped(_)
            | Happened::StatusDecided(_)
            | Happened::PersonaApplied(_)
            | Happened::PersonaNotFound(_)
            | Happened::SkillsInjected(_)
            | Happened::WorktreeCreated(_)
            | Happened::WorktreeRemoved(_)
            | Happened::Ignored(_)
            | Happened::DedupHit(_)
            | Happened::Breaker { .. }
            | Happened::BudgetNear
            | Happened::Quarantined
            | Happened::BuildRemote { .. }
            | Happened::ProjectPaused(_)
            | Happened::Reloaded
            | Happened::Posted(_) => {}
        }
    }
    all
}

/// The names and words are what people search for: each event has both, and logs them.
#[test]
fn z1_every_event_of_the_journal_has_a_name_and_a_log_line() {
    for what in every_event() {
        let entry = Entry::plain(what, "about");
        let (name, _) = entry.name_and_detail();
        assert!(name.contains('.'), "{name}");
        let line = entry.line().expect(name);
        assert!(!line.text.is_empty(), "{name}");
        entry.log();
    }
    let posted = Entry::plain(Happened::Posted("status.posted"), "");
    assert_eq!(posted.line(), None, "the poster has written it");
}

#[test]
fn y5_a_pull_request_that_is_not_fanned_out_is_a_skipped_fan_out() {
    let name = |why| Entry::plain(Happened::Ignored(why), "a/b#3").name_and_detail();
    let draft = ("pr.fanout.skipped", "a/b#3 pr_draft".to_owned());
    assert_eq!(name(Ignored::PrDraft), draft);
    let comment = ("webhook.ignored", "a/b#3 no_mention".to_owned());
    assert_eq!(name(Ignored::NoMention), comment);
}
