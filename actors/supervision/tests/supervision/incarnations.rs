//! How incarnations end, and what follows: typed exits, restarts, back-off, parking.

use std::time::Duration;

use actix::prelude::{Actor, Context};
use supervision::{
    ActorState, AskError, ChildContext, ChildSpec, Exit, Restart, RestartPolicy, Root,
};

use crate::common::{
    AT_ONCE, Fail, Increment, Journal, Panic, Stop, in_state, puppet, root, run, stop, until,
};

#[test]
fn after_a_panic_a_fresh_life_answers_through_the_same_reference() {
    run(async {
        let spec = puppet("worker", &Journal::default());
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        assert_eq!(worker.ask(Increment).await, Ok(1));
        assert_eq!(worker.ask(Increment).await, Ok(2));

        let died = worker.ask(Panic("planned")).await;
        assert!(matches!(died, Err(AskError::NoReply { .. })), "{died:?}");
        assert_eq!(worker.ready_after(1).await, 2);
        assert_eq!(worker.ask(Increment).await, Ok(1), "fresh state");

        let node = tree
            .handle()
            .tree()
            .snapshot()
            .find(&["worker"])
            .cloned()
            .unwrap();
        assert_eq!(node.last_exit, Some(Exit::Panicked("planned".into())));
        assert_eq!((node.incarnation, node.restarts), (2, 1));
        assert_eq!(node.state, ActorState::Running);
        stop(tree).await;
    });
}

#[test]
fn an_actor_ends_with_a_reason() {
    run(async {
        let spec = puppet("worker", &Journal::default());
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        // The reply of the message in work still arrives.
        assert_eq!(worker.ask(Fail("the disk is full")).await, Ok(()));
        let node = until(&tree.handle(), &["worker"], |node| node.restarts == 1).await;
        assert_eq!(
            node.last_exit,
            Some(Exit::Failed("the disk is full".into()))
        );
        stop(tree).await;
    });
}

/// How a start fails.
#[derive(Clone, Copy)]
enum Flaw {
    FactoryErr,
    FactoryPanic,
    StartedPanic,
    StartedFail,
}

struct Flawed(ChildContext, Flaw);

impl Actor for Flawed {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        match self.1 {
            Flaw::StartedPanic => panic!("flawed"),
            Flaw::StartedFail => self.0.fail("flawed"),
            Flaw::FactoryErr | Flaw::FactoryPanic => unreachable!("never built"),
        }
    }
}

#[test]
fn a_start_that_fails_is_told_apart_however_it_fails() {
    run(async {
        let flaws = [
            Flaw::FactoryErr,
            Flaw::FactoryPanic,
            Flaw::StartedPanic,
            Flaw::StartedFail,
        ];
        for flaw in flaws {
            let spec = ChildSpec::fallible("flawed", move |incarnation| match flaw {
                Flaw::FactoryErr => Err("flawed"),
                Flaw::FactoryPanic => panic!("flawed"),
                Flaw::StartedPanic | Flaw::StartedFail => Ok(Flawed(incarnation, flaw)),
            });
            let tree = Root::start(root().child(spec.restart(Restart::Temporary)));
            let node = in_state(&tree.handle(), &["flawed"], ActorState::Ended).await;
            assert_eq!(node.last_exit, Some(Exit::FailedToStart("flawed".into())));
            stop(tree).await;
        }
    });
}

#[test]
fn the_restart_kind_says_which_ends_are_followed_by_a_life() {
    run(async {
        let cases = [
            (Restart::Permanent, true, true),
            (Restart::Transient, false, true),
            (Restart::Temporary, false, false),
        ];
        for (restart, after_normal, after_failure) in cases {
            for (fails, again) in [(false, after_normal), (true, after_failure)] {
                let spec = puppet("worker", &Journal::default()).restart(restart);
                let worker = spec.reference();
                let tree = Root::start(root().child(spec));
                worker.ready().await;
                if fails {
                    worker.ask(Fail("planned")).await.unwrap();
                } else {
                    worker.ask(Stop).await.unwrap();
                }
                let over = |node: &supervision::ActorNode| {
                    node.last_exit.is_some()
                        && matches!(node.state, ActorState::Running | ActorState::Ended)
                };
                let node = until(&tree.handle(), &["worker"], over).await;
                assert_eq!(
                    node.state == ActorState::Running,
                    again,
                    "{restart:?} {fails}"
                );
                assert_eq!(node.incarnation, 1 + u64::from(again));
                stop(tree).await;
            }
        }
    });
}

#[test]
fn the_next_life_waits_for_the_back_off() {
    run(async {
        let policy = RestartPolicy {
            first_delay: Duration::from_secs(3600),
            ..AT_ONCE
        };
        let policy = RestartPolicy {
            max_delay: policy.first_delay,
            ..policy
        };
        let spec = puppet("worker", &Journal::default()).policy(policy);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        worker.tell(Panic("planned")).unwrap();
        in_state(&tree.handle(), &["worker"], ActorState::BackingOff).await;
        let refused = worker.ask(Increment).await;
        assert!(
            matches!(refused, Err(AskError::Unavailable { .. })),
            "{refused:?}"
        );
        // A tree that backs off stops at once all the same.
        stop(tree).await;
    });
}

#[test]
fn a_parked_child_is_resumed_by_hand_with_its_failures_forgotten() {
    run(async {
        let once = RestartPolicy {
            intensity: 1,
            ..AT_ONCE
        };
        let spec = puppet("worker", &Journal::default()).policy(once);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        for incarnation in [0, 2, 4] {
            for failed in 0..2 {
                worker.ready_after(incarnation + failed).await;
                worker.tell(Panic("planned")).unwrap();
            }
            let node = in_state(&tree.handle(), &["worker"], ActorState::Parked).await;
            assert_eq!(
                node.incarnation,
                incarnation + 2,
                "one restart, as if it were the first"
            );
            tree.handle().supervisor().resume_child("worker").unwrap();
        }
        worker.ready_after(6).await;
        assert_eq!(worker.ask(Increment).await, Ok(1));
        // Resuming one that runs changes nothing.
        tree.handle().supervisor().resume_child("worker").unwrap();
        assert_eq!(worker.ask(Increment).await, Ok(2));
        stop(tree).await;
    });
}
