//! Ways a VM ends: crash, silence, lease, panic, stop; what is stuck.

use std::sync::atomic::Ordering;
use std::time::Duration;

use supervision::AskError;
use vm_actors::VmSettings;
use vm_actors::messages::{CreateFailure, ExtendLease, ReleaseStuck, ReleaseVm, VmFailure};
use vm_core::{ExecEnd, FailureReason, LeaseError, VmState, stuck};

use crate::common::{ManualClock, Running, brisk, followed, gone, request, run};
use crate::scripted::{Lab, Next};

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn a_machine_that_crashes_loses_its_commands_and_is_kept_to_be_seen() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        let sleep = running.exec(&vm, &["sleep"]).await.unwrap();
        let record = running.record(&vm, &sleep);
        running.lab.machine(&vm).crash();
        let (_, _, end) = followed(&record).await;
        assert!(matches!(end, ExecEnd::Lost { .. }), "{end:?}");
        running
            .until(&vm, |state| state == Some(VmState::Failed))
            .await;
        while !running.lab.alive().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(
            running.entry(&vm).view().reason,
            Some("process_gone".to_owned())
        );
        assert_eq!(running.view.pool().in_use, 0, "its place is free");
        let refused = running.exec(&vm, &["echo"]).await.unwrap_err();
        assert_eq!(refused, VmFailure::State(VmState::Failed));
        let released = running
            .scheduler
            .ask(ReleaseStuck { subject: None })
            .await
            .unwrap();
        assert_eq!(released.released[0].1, FailureReason::ProcessGone);
        assert!(running.view.vm(&vm).is_none());
        running.stop().await;
    });
}

#[test]
fn a_release_is_answered_when_nothing_is_left_also_of_what_broke_before() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        running.lab.kills_wait.store(true, Ordering::SeqCst);
        running.lab.machine(&vm).crash();
        running
            .until(&vm, |state| state == Some(VmState::Failed))
            .await;
        let scheduler = running.scheduler.clone();
        let released = scheduler.ask(ReleaseStuck { subject: None });
        let mut released = std::pin::pin!(released);
        let early = tokio::time::timeout(Duration::from_millis(50), &mut released).await;
        assert!(early.is_err(), "its machine is still there");
        running.lab.open();
        assert_eq!(released.await.unwrap().released.len(), 1);
        assert_eq!(running.lab.alive(), []);
        running.stop().await;
    });
}

#[test]
fn a_guest_that_falls_silent_is_given_up() {
    run(async {
        let deadlines = stuck::Deadlines {
            silence: Duration::from_secs(4),
            ..stuck::Deadlines::default()
        };
        let settings = VmSettings {
            deadlines,
            ..brisk()
        };
        let clock = ManualClock::new();
        let running = Running::start_at(&Lab::new(), settings, &clock).await;
        let (quiet, mute) = (running.created().await, running.created().await);
        running.exec(&mute, &["mute"]).await.unwrap();
        // The next look still finds that it was heard until then.
        while running.entry(&mute).state() != VmState::Failed {
            clock.advance(Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(
            running.entry(&mute).view().reason,
            Some("guest_silent".to_owned())
        );
        assert_eq!(
            running.entry(&quiet).state(),
            VmState::Ready,
            "it answers pings"
        );
        assert_eq!(running.lab.alive(), [quiet]);
        running.stop().await;
    });
}

#[test]
fn a_lease_that_is_over_ends_the_vm_after_its_grace() {
    run(async {
        let settings = VmSettings {
            lease_grace: Duration::from_secs(30),
            ..brisk()
        };
        let clock = ManualClock::new();
        let running = Running::start_at(&Lab::new(), settings, &clock).await;
        let short = running.create(request(r#"{"lease_s":1}"#)).await.unwrap();
        let long = running.create(request(r#"{"lease_s":1}"#)).await.unwrap();
        let until = running.vm(&long.id).ask(ExtendLease { lease: LONG }).await;
        assert!(until.unwrap().unwrap() > long.lease_until);
        clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(running.lab.alive().len(), 2, "its grace is not over");
        clock.advance(Duration::from_secs(30));
        running.until(&short.id, |state| state.is_none()).await;
        assert_eq!(running.lab.alive(), [long.id]);
        let released = running.view.counters().released;
        assert_eq!(released.get("lease_over"), Some(&1));
        running.stop().await;
    });
}

#[test]
fn r12_what_is_stuck_is_released_on_request_and_only_of_who_asks() {
    run(async {
        let settings = VmSettings {
            lease_grace: LONG,
            ..brisk()
        };
        let clock = ManualClock::new();
        let running = Running::start_at(&Lab::new(), settings, &clock).await;
        let mine = running.create(request(r#"{"lease_s":1}"#)).await.unwrap();
        let fine = running.created().await;
        let mut others = request(r#"{"lease_s":1}"#);
        others.subject = "another".to_owned();
        let others = running.create(others).await.unwrap();
        clock.advance(Duration::from_secs(1));
        let refused = running.vm(&mine.id).ask(ExtendLease { lease: LONG }).await;
        assert!(matches!(refused.unwrap(), Err(LeaseError::Over { .. })));
        let subject = Some("runner".to_owned());
        let released = running
            .scheduler
            .ask(ReleaseStuck { subject })
            .await
            .unwrap();
        let ids: Vec<_> = released
            .released
            .iter()
            .map(|(id, reason)| (id, *reason))
            .collect();
        assert_eq!(ids, [(&mine.id, FailureReason::LeaseOver)]);
        assert_eq!(released.kept, 1);
        let mut alive = [fine, others.id];
        alive.sort();
        assert_eq!(running.lab.alive(), alive);
        let released = running
            .scheduler
            .ask(ReleaseStuck { subject: None })
            .await
            .unwrap();
        assert_eq!((released.released.len(), released.kept), (1, 1));
        running.stop().await;
    });
}

#[test]
fn a_vm_that_is_released_while_it_boots_is_ended_when_it_is_there() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        running.lab.next(Next::Waits);
        let answer = running.scheduler.ask(request("{}"));
        let actor = loop {
            let actor = running.view.vms().pop().and_then(|vm| vm.actor);
            match actor.filter(|actor| actor.incarnation().is_some()) {
                Some(actor) => break actor,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        let released = actor.ask(ReleaseVm { reason: None });
        let refused = answer.await.unwrap().unwrap_err();
        assert!(matches!(refused, CreateFailure::Interrupted), "{refused}");
        running.lab.open();
        gone(released.await);
        assert_eq!(running.lab.alive(), []);
        running.stop().await;
    });
}

#[test]
fn a_manager_that_stops_ends_its_vms_also_those_that_boot() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        running.created().await;
        let vm = running.created().await;
        running.exec(&vm, &["sleep"]).await.unwrap();
        running.lab.next(Next::Waits);
        let booting = running.scheduler.ask(request("{}"));
        while running.view.vms().len() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        running.lab.open();
        drop(booting);
        running.stop().await;
    });
}

#[test]
fn a_machine_that_cannot_be_removed_is_counted_and_its_place_given_back() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        running.lab.kills_fail.store(true, Ordering::SeqCst);
        gone(running.vm(&vm).ask(ReleaseVm { reason: None }).await);
        assert_eq!(running.view.counters().leaked, 1);
        assert_eq!(running.view.pool().in_use, 0);
        running.stop().await;
    });
}

#[test]
fn a_vm_whose_actor_is_stopped_by_its_supervisor_is_ended() {
    run(async {
        let running = Running::start(&Lab::new(), brisk()).await;
        let vm = running.created().await;
        let actor = running.vm(&vm);
        let tree = running.root.handle();
        assert!(
            tree.tree()
                .snapshot()
                .find(&["vms", "machines", vm.as_str()])
                .is_some()
        );
        gone(actor.ask(ReleaseVm { reason: None }).await);
        let refused = actor.ask(ReleaseVm { reason: None }).await;
        assert!(
            matches!(refused, Err(AskError::Unavailable { .. })),
            "{refused:?}"
        );
        running.stop().await;
    });
}
