//! Actors that hang, block their thread, or do not stop in time.

use std::{sync::mpsc, time::Duration};

use supervision::{Exit, Root, ThreadPlacement};

use crate::common::{
    BRISK, BeStubborn, Block, Increment, Journal, Note, Panic, WaitForEver, WhichThread, puppet,
    root, run, stop,
};

#[test]
fn an_actor_that_waits_for_ever_is_found_to_hang() {
    run(async {
        let spec = puppet("worker", &Journal::default()).pings(BRISK);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        worker.tell(WaitForEver).unwrap();
        worker.ready_after(1).await;
        assert_eq!(worker.ask(Increment).await, Ok(1));
        let node = tree
            .handle()
            .tree()
            .snapshot()
            .find(&["worker"])
            .cloned()
            .unwrap();
        assert_eq!(node.last_exit, Some(Exit::Hung { missed: 3 }));
        stop(tree).await;
    });
}

#[test]
fn a_blocked_thread_is_left_behind_and_the_next_life_gets_another() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal)
            .pings(BRISK)
            .placement(ThreadPlacement::Own);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let blocked_thread = worker.ask(WhichThread).await.unwrap();
        assert_ne!(blocked_thread, std::thread::current().id());
        // While the first message holds the thread the others gather, to be taken in one go.
        let (gather, gathering) = mpsc::channel();
        worker.tell(Block(gathering)).unwrap();
        let (release, held) = mpsc::channel();
        worker.tell(Block(held)).unwrap();
        for _ in 0..10 {
            worker
                .tell(Note("of the incarnation given up".into()))
                .unwrap();
        }
        drop(gather);
        worker.ready_after(1).await;
        assert_ne!(worker.ask(WhichThread).await.unwrap(), blocked_thread);
        assert_eq!(worker.ask(Increment).await, Ok(1));
        // The incarnation that hung goes on now, and must not take the reference from the new one.
        drop(release);
        while journal.count("worker stopped") == 0 {
            assert!(worker.ask(Increment).await.is_ok());
        }
        assert_eq!(journal.count("of the incarnation given up"), 0);
        assert_eq!(worker.incarnation(), Some(2));
        stop(tree).await;
    });
}

#[test]
fn a_busy_actor_with_a_long_queue_does_not_hang() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal).pings(BRISK).capacity(10_000);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        for _ in 0..10_000 {
            worker.tell(Increment).unwrap();
        }
        tokio::time::sleep(BRISK.interval * 6).await;
        assert_eq!(worker.ask(Increment).await, Ok(10_001));
        assert_eq!(worker.incarnation(), Some(1));
        stop(tree).await;
    });
}

#[test]
fn a_panic_leaves_the_thread_of_its_own_in_use() {
    run(async {
        let spec = puppet("worker", &Journal::default()).placement(ThreadPlacement::Own);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let thread = worker.ask(WhichThread).await.unwrap();
        worker.tell(Panic("planned")).unwrap();
        worker.ready_after(1).await;
        assert_eq!(worker.ask(WhichThread).await.unwrap(), thread);
        stop(tree).await;
    });
}

#[test]
fn who_does_not_stop_in_time_is_aborted() {
    run(async {
        let journal = Journal::default();
        let spec = puppet("worker", &journal).shutdown(Duration::from_millis(50));
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        worker.ask(BeStubborn).await.unwrap();
        let handle = tree.handle();
        stop(tree).await;
        let node = handle.tree().snapshot().find(&["worker"]).cloned().unwrap();
        assert_eq!(node.last_exit, Some(Exit::Aborted));
        assert_eq!(journal.count("worker stopped"), 0, "it refused to the last");
    });
}
