//! Child references: permits, refusals, timeouts, order, and what a crash does to messages.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use actix::prelude::Arbiter;
use futures_util::{StreamExt, stream::FuturesUnordered};
use supervision::{AskError, RestartPolicy, Root, TellError, ThreadPlacement};
use tokio::sync::{Notify, oneshot};

use crate::common::{
    AT_ONCE, Block, Increment, Journal, Note, Panic, ReplyWhen, puppet, root, run, stop,
};

#[test]
fn before_the_first_life_and_after_the_last_one_is_told_so() {
    run(async {
        let spec = puppet("worker", &Journal::default());
        let worker = spec.reference();
        let unavailable = AskError::Unavailable {
            actor: "worker".into(),
        };
        assert_eq!(worker.ask(Increment).await, Err(unavailable.clone()));
        assert_eq!(worker.incarnation(), None);
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        assert_eq!(worker.incarnation(), Some(1));
        assert_eq!(worker.ask(Increment).await, Ok(1));
        stop(tree).await;
        assert_eq!(worker.ask(Increment).await, Err(unavailable));
        assert_eq!(
            worker.tell(Increment),
            Err(TellError::Unavailable {
                actor: "worker".into()
            })
        );
    });
}

#[test]
fn messages_of_one_sender_are_handled_in_the_order_they_were_sent() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal).capacity(1000);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        journal.take();
        for number in 0..500 {
            worker.tell(Note(number.to_string())).unwrap();
        }
        worker.ask(Note("500".into())).await.unwrap();
        assert_eq!(
            journal.take(),
            (0..=500).map(|n| n.to_string()).collect::<Vec<_>>()
        );
        stop(tree).await;
    });
}

#[test]
fn a_full_mailbox_refuses_and_says_when_to_come_back() {
    run(async {
        let spec = puppet("worker", &Journal::default())
            .capacity(3)
            .retry_after(Duration::from_millis(1500));
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        // Nothing is handled before this test awaits.
        for waiting in 1..=3 {
            worker.tell(Increment).unwrap();
            assert_eq!(worker.waiting(), waiting);
        }
        let retry_after = Duration::from_millis(1500);
        let full = TellError::Full {
            actor: "worker".into(),
            retry_after,
        };
        assert_eq!(worker.tell(Increment), Err(full.clone()));
        assert_eq!(worker.ask(Increment).await, Err(full.into()));
        let node = tree
            .handle()
            .tree()
            .snapshot()
            .find(&["worker"])
            .cloned()
            .unwrap();
        assert_eq!((node.mailbox, node.capacity), (3, 3));
        while worker.waiting() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            worker.ask(Increment).await,
            Ok(4),
            "what was refused was not handled"
        );
        stop(tree).await;
    });
}

#[test]
fn questions_in_work_are_bounded_as_well() {
    run(async {
        let spec = puppet("worker", &Journal::default()).capacity(2);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let answer = Arc::new(Notify::new());
        let asked: Vec<_> = (0..2)
            .map(|_| {
                let (worker, answer) = (worker.clone(), Arc::clone(&answer));
                actix_rt::spawn(async move { worker.ask(ReplyWhen(answer)).await })
            })
            .collect();
        while worker.unanswered() < 2 || worker.waiting() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = worker.ask(Increment).await;
        assert!(matches!(refused, Err(AskError::Full { .. })), "{refused:?}");
        worker.tell(Increment).expect("the mailbox is empty");
        answer.notify_waiters();
        for task in asked {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
        assert_eq!(worker.unanswered(), 0);
        assert_eq!(worker.ask(Increment).await, Ok(2));
        stop(tree).await;
    });
}

#[test]
fn a_crash_answers_what_waits_and_gives_its_permits_back() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal).capacity(10);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        worker.tell(Panic("planned")).unwrap();
        for _ in 0..4 {
            worker.tell(Note("never".into())).unwrap();
        }
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let worker = worker.clone();
                actix_rt::spawn(async move { worker.ask(Note("never".into())).await })
            })
            .collect();
        for task in waiting {
            let answer = task.await.unwrap();
            assert!(
                matches!(
                    answer,
                    Err(AskError::NoReply { .. } | AskError::Unavailable { .. })
                ),
                "{answer:?}"
            );
        }
        worker.ready_after(1).await;
        assert_eq!((worker.waiting(), worker.unanswered()), (0, 0));
        assert_eq!(worker.ask(Increment).await, Ok(1));
        assert_eq!(journal.count("never"), 0);
        stop(tree).await;
    });
}

#[test]
fn what_waits_when_a_life_ends_is_answered_though_no_life_follows() {
    run(async {
        let never = RestartPolicy {
            intensity: 0,
            ..AT_ONCE
        };
        let spec = puppet("worker", &Journal::default()).policy(never);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        // Sent when called: both are in the mailbox before the first is handled.
        let (panics, waits) = (worker.ask(Panic("planned")), worker.ask(Increment));
        let no_reply = AskError::NoReply {
            actor: "worker".into(),
        };
        assert_eq!(waits.await, Err(no_reply.clone()));
        assert_eq!(panics.await, Err(no_reply));
        stop(tree).await;
    });
}

#[test]
fn a_question_that_timed_out_before_its_turn_is_never_handled() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal).placement(ThreadPlacement::Own);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let (release, held) = mpsc::channel();
        worker.tell(Block(held)).unwrap();
        let timeout = Duration::from_millis(30);
        let late = worker.ask_within(Note("late".into()), timeout).await;
        assert_eq!(
            late,
            Err(AskError::TimedOut {
                actor: "worker".into(),
                after: timeout
            })
        );
        assert_eq!(worker.unanswered(), 0);
        drop(release);
        assert_eq!(worker.ask(Increment).await, Ok(1));
        assert_eq!(journal.count("late"), 0);
        stop(tree).await;
    });
}

#[test]
fn a_question_that_is_dropped_gives_its_permit_back() {
    run(async {
        let spec = puppet("worker", &Journal::default()).capacity(1);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        for _ in 0..100 {
            let (asked, was_asked) = oneshot::channel();
            let asking = {
                let worker = worker.clone();
                actix_rt::spawn(async move {
                    let question = worker.ask(ReplyWhen(Arc::default()));
                    let _ = asked.send(());
                    question.await
                })
            };
            was_asked.await.unwrap();
            tokio::task::yield_now().await;
            asking.abort();
            let _ = asking.await;
            assert_eq!(worker.unanswered(), 0);
            while worker.waiting() > 0 {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(worker.ask(Increment).await, Ok(1));
        stop(tree).await;
    });
}

/// Senders on several threads, a mailbox too small for them, incarnations that crash meanwhile:
/// every message is accepted or refused, and in the end every permit is back.
#[test]
fn under_contention_and_crashes_no_permit_is_lost() {
    run(async {
        let spec = puppet("worker", &Journal::default())
            .capacity(8)
            .placement(ThreadPlacement::Own)
            .policy(RestartPolicy {
                intensity: u32::MAX,
                ..AT_ONCE
            });
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let mut senders = Vec::new();
        let arbiters: Vec<_> = (0..3).map(|_| Arbiter::new()).collect();
        for arbiter in &arbiters {
            let (done, end) = oneshot::channel();
            let worker = worker.clone();
            arbiter.spawn(async move {
                for round in 0..200_u32 {
                    if round % 50 == 49 {
                        let _ = worker.tell(Panic("planned"));
                    }
                    let asks: FuturesUnordered<_> = (0..6).map(|_| worker.ask(Increment)).collect();
                    let _: Vec<_> = asks.collect().await;
                    assert!(worker.waiting() <= 8, "the bound holds");
                }
                let _ = done.send(());
            });
            senders.push(end);
        }
        for end in senders {
            end.await.expect("the sender did not panic");
        }
        for arbiter in arbiters {
            arbiter.stop();
        }
        worker.ready().await;
        while worker.waiting() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(worker.unanswered(), 0);
        stop(tree).await;
    });
}
