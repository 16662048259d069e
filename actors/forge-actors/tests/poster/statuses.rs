//! Statuses: each beginning is followed by one terminal state, whatever the forge does.

use std::sync::Arc;

use forge_actors::messages::{RetryParked, Wake};
use forge_actors::outbox::{EntryState, StatusAdmission, UpdateOutcome};
use forge_core::CommitState::{Error, Failure as AttemptFailure, Pending, Success};
use scripted_peers::{Failure, PlannedFailure};

use crate::common::{LONG, REPO, SHA, World, clock, forge, open, status, test};

fn fails(times: u32, failure: Failure) -> PlannedFailure {
    PlannedFailure::new("POST", "/statuses/", times, failure)
}

#[test]
fn a_status_goes_from_pending_to_its_end() {
    test(async || {
        let world = World::new();
        assert_eq!(
            world.begin("r1", status("orch/build", Pending)).await,
            StatusAdmission::Enqueued
        );
        world.latest("orch/build", "pending").await;
        let updated = world.update("r1", status("orch/build", Success)).await;
        assert_eq!(updated, UpdateOutcome::Enqueued);
        world.latest("orch/build", "success").await;
        world.quiet().await;
        assert_eq!(world.states("orch/build"), ["pending", "success"]);
        let creator = world.forge.status(REPO, SHA, "orch/build").unwrap().creator;
        assert_eq!(creator, "bot");
    });
}

#[test]
fn o20_a_forge_that_fails_gets_the_status_in_the_end() {
    test(async || {
        let world = World::new();
        world.forge.plan(fails(1, Failure::Status(401, None)));
        world.forge.plan(fails(2, Failure::Status(503, None)));
        world.forge.plan(fails(1, Failure::Hang(LONG)));
        world.forge.plan(fails(1, Failure::Status(429, Some(2))));
        world.forge.plan(fails(1, Failure::DoneThenCut));
        world.begin("r1", status("orch/build", Success)).await;
        world.latest("orch/build", "success").await;
        world.quiet().await;
        let posted = world.entry(|entry| entry.state == EntryState::Posted).await;
        assert!(posted.posted_at.is_some() && posted.failure.is_none());
    });
}

#[test]
fn o20_a_refusal_is_parked_visible_and_retried_when_asked() {
    test(async || {
        let world = World::new();
        world.forge.plan(fails(1, Failure::Status(422, None)));
        world.begin("r1", status("orch/build", Success)).await;
        let parked = world.entry(|entry| entry.state == EntryState::Parked).await;
        assert!(parked.failure.unwrap().contains("422"));
        assert_eq!(parked.attempts, 1);
        let count = world.outbox_worker.ask(RetryParked).await.unwrap().unwrap();
        assert_eq!(count, 1);
        world.latest("orch/build", "success").await;
    });
}

#[test]
fn o19_a_commit_that_is_gone_is_parked() {
    test(async || {
        let forge = scripted_peers::ScriptedForge::start();
        forge.add_repo(REPO);
        let store = store::Store::in_memory(&store::StoreOptions::new("test")).unwrap();
        let world = World::with(forge, store, clock());
        world.begin("r1", status("orch/build", Pending)).await;
        let parked = world.entry(|entry| entry.state == EntryState::Parked).await;
        assert!(parked.failure.unwrap().contains("has no commit"));
        // Its terminal state is still tried: the commit may have come.
        world.forge.add_commit(REPO, SHA);
        world
            .update("r1", status("orch/build", AttemptFailure))
            .await;
        world.latest("orch/build", "failure").await;
    });
}

#[test]
fn states_that_were_not_sent_are_replaced_and_nothing_overtakes() {
    test(async || {
        let world = World::new();
        world.forge.plan(fails(1, Failure::Status(503, Some(60))));
        world.begin("r1", status("orch/build", Pending)).await;
        world.entry(|entry| entry.attempts == 1).await;
        world.update("r1", status("orch/build", Error)).await;
        world.latest("orch/build", "error").await;
        world.quiet().await;
        assert_eq!(
            world.states("orch/build"),
            ["error"],
            "pending was never sent"
        );
    });
}

#[test]
fn o16_one_terminal_state_and_only_by_the_current_run() {
    test(async || {
        let world = World::new();
        let context = "orch/build";
        assert_eq!(
            world.update("r1", status(context, Success)).await,
            UpdateOutcome::Unknown
        );
        world.begin("r1", status(context, Pending)).await;
        assert_eq!(
            world.begin("r1", status(context, Pending)).await,
            StatusAdmission::Already
        );
        assert_eq!(
            world.begin("r2", status(context, Pending)).await,
            StatusAdmission::Enqueued
        );
        assert_eq!(
            world.update("r1", status(context, Success)).await,
            UpdateOutcome::NotCurrent
        );
        assert_eq!(
            world.update("r2", status(context, AttemptFailure)).await,
            UpdateOutcome::Enqueued
        );
        assert_eq!(
            world.update("r2", status(context, Success)).await,
            UpdateOutcome::Settled
        );
        assert_eq!(
            world.update("r2", status(context, Pending)).await,
            UpdateOutcome::Settled
        );
        world.latest(context, "failure").await;
        world.quiet().await;
        let terminal: Vec<_> = world
            .states(context)
            .into_iter()
            .filter(|state| state != "pending")
            .collect();
        assert_eq!(terminal, ["failure"]);
    });
}

#[test]
fn a_slow_context_does_not_hold_up_the_others() {
    test(async || {
        let world = World::new();
        world.forge.plan(fails(1, Failure::Hang(LONG)));
        world.begin("r1", status("orch/slow", Pending)).await;
        for number in 0..20 {
            world
                .begin("r1", status(&format!("orch/{number}"), Success))
                .await;
        }
        for number in 0..20 {
            world.latest(&format!("orch/{number}"), "success").await;
        }
        world.latest("orch/slow", "pending").await;
    });
}

#[test]
fn f14_a_status_that_somebody_removed_is_posted_again() {
    test(async || {
        let world = World::new();
        world.begin("r1", status("orch/build", Pending)).await;
        world.begin("r1", status("orch/test", Pending)).await;
        world.update("r1", status("orch/test", Success)).await;
        world.latest("orch/test", "success").await;
        world.latest("orch/build", "pending").await;
        world.quiet().await;
        assert_eq!(world.verify().await, 0, "nothing is missing");
        world.forge.remove_status(REPO, SHA, "orch/test");
        assert_eq!(world.verify().await, 1);
        world.latest("orch/test", "success").await;
        world.forge.remove_status(REPO, SHA, "orch/build");
        assert_eq!(world.verify().await, 1);
        world.latest("orch/build", "pending").await;
    });
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    test(async || {
        let store = open(folder.path());
        let world = World::with(forge(), store.clone(), clock());
        world.forge.plan(fails(1000, Failure::Status(503, None)));
        world.begin("r1", status("orch/build", Success)).await;
        world.entry(|entry| entry.attempts >= 2).await;
        store.close();
    });
    test(async || {
        let world = World::with(forge(), open(folder.path()), clock());
        world.outbox_worker.ready().await;
        world.outbox_worker.tell(Wake).unwrap();
        world.latest("orch/build", "success").await;
    });
}

#[test]
fn u8_a_clock_that_jumps_ahead_forgets_no_post() {
    const YEAR: u64 = 365 * 24 * 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    // In the second life the clock is a year ahead, and in the third the newest post is, too.
    for (life, ahead) in [(1, 0), (2, YEAR), (3, YEAR)] {
        test(async || {
            let (store, clock) = (open(folder.path()), clock());
            let jumped = Arc::new(move || clock() + ahead);
            let world = World::with(forge(), store.clone(), jumped);
            let context = format!("orch/{life}");
            world.begin("r1", status(&context, Success)).await;
            world
                .entry(|entry| entry.subject.contains(&context) && entry.posted_at.is_some())
                .await;
            assert_eq!(world.entries().len(), life, "{:?}", world.entries());
            store.close();
        });
    }
}
