//! Every event has a name and a line.

use super::*;

/// One of each; the match has no `_`, so that a new event is put here, too.
fn every_event() -> Vec<JournalEvent> {
    let all = vec![
        JournalEvent::Queued,
        JournalEvent::Rejected(Reason::Disabled),
        JournalEvent::Ended(Reason::Superseded),
        JournalEvent::Spawned { pid: 1 },
        JournalEvent::Exited {
            class: ExitClass::Success,
            wall_ms: 1,
        },
        JournalEvent::WallClockKilled,
        JournalEvent::FanOut { runs: 1 },
        JournalEvent::FanOutSkipped(Reason::Disabled),
        JournalEvent::StatusDecided(CommitState::Success),
        JournalEvent::PersonaApplied("p".into()),
        JournalEvent::PersonaNotFound("p".into()),
        JournalEvent::SkillsInjected(vec!["s".into()]),
        JournalEvent::NoIssueToPostAt,
        JournalEvent::WorktreeCreated("/w".into()),
        JournalEvent::WorktreeRemoved("/w".into()),
        JournalEvent::Ignored(Ignored::NoMention),
        JournalEvent::Ignored(Ignored::PrDraft),
        JournalEvent::DedupHit("d".into()),
        JournalEvent::Breaker {
            provider: "p".into(),
            state: "open",
        },
        JournalEvent::Breaker {
            provider: "p".into(),
            state: "half_open",
        },
        JournalEvent::Breaker {
            provider: "p".into(),
            state: "closed",
        },
        JournalEvent::BudgetNear,
        JournalEvent::Quarantined,
        JournalEvent::BuildRemote { task_bytes: 1 },
        JournalEvent::ProjectPaused(true),
        JournalEvent::ProjectPaused(false),
        JournalEvent::Reloaded,
    ];
    for what in &all {
        match what {
            JournalEvent::Queued
            | JournalEvent::Rejected(_)
            | JournalEvent::Ended(_)
            | JournalEvent::Spawned { .. }
            | JournalEvent::Exited { .. }
            | JournalEvent::WallClockKilled
            | JournalEvent::FanOut { .. }
            | JournalEvent::FanOutSkipped(_)
            | JournalEvent::StatusDecided(_)
            | JournalEvent::PersonaApplied(_)
            | JournalEvent::PersonaNotFound(_)
            | JournalEvent::SkillsInjected(_)
            | JournalEvent::NoIssueToPostAt
            | JournalEvent::WorktreeCreated(_)
            | JournalEvent::WorktreeRemoved(_)
            | JournalEvent::Ignored(_)
            | JournalEvent::DedupHit(_)
            | JournalEvent::Breaker { .. }
            | JournalEvent::BudgetNear
            | JournalEvent::Quarantined
            | JournalEvent::BuildRemote { .. }
            | JournalEvent::ProjectPaused(_)
            | JournalEvent::Reloaded
            | JournalEvent::Posted(_) => {}
        }
    }
    all
}

/// The names and words are what people search for: each event has both, and logs them.
#[test]
fn z1_every_event_of_the_journal_has_a_name_and_a_log_line() {
    for what in every_event() {
        let entry = RecordedEvent::plain(what, "about");
        let (name, _) = entry.name_and_detail();
        assert!(name.contains('.'), "{name}");
        let line = entry.line().expect(name);
        assert!(!line.text.is_empty(), "{name}");
        entry.log();
    }
    let posted = RecordedEvent::plain(JournalEvent::Posted("status.posted"), "");
    assert_eq!(posted.line(), None, "the outbox worker has written it");
}

#[test]
fn y5_a_pull_request_that_is_not_fanned_out_is_a_skipped_fan_out() {
    let name = |why| RecordedEvent::plain(JournalEvent::Ignored(why), "a/b#3").name_and_detail();
    let draft = ("pr.fanout.skipped", "a/b#3 pr_draft".to_owned());
    assert_eq!(name(Ignored::PrDraft), draft);
    let comment = ("webhook.ignored", "a/b#3 no_mention".to_owned());
    assert_eq!(name(Ignored::NoMention), comment);
}

#[test]
fn contract_a_webhook_dropped_for_want_of_mentions_is_logged_at_debug_only() {
    let why = Ignored::MentionsNotConfigured;
    let line = RecordedEvent::plain(JournalEvent::Ignored(why), "a/b#3").line();
    let line = line.expect("a line");
    assert_eq!((line.level, line.event), (Level::Debug, "webhook.ignored"));
}
