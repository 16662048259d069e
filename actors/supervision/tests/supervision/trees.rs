//! Supervisors and their children: strategies, escalation, shutdown, the tree as data,
//! the events.

use std::{
    io::Write,
    sync::{Arc, mpsc},
    time::Duration,
};

use supervision::{
    ActorState, ChildKind, ChildRef, Exit, PastLimit, Restart, RestartPolicy, RestartStrategy,
    Root, SupervisorSpec, ThreadPlacement, TreeExit,
};

use crate::common::{
    AT_ONCE, BRISK, Block, Fail, Increment, Journal, Panic, Puppet, WaitForEver, in_state, puppet,
    root, run, stop, until,
};

const ONCE: RestartPolicy = RestartPolicy {
    intensity: 1,
    ..AT_ONCE
};

const NEVER: RestartPolicy = RestartPolicy {
    intensity: 0,
    ..AT_ONCE
};

/// Three children of a root, and their references.
fn three(spec: SupervisorSpec, journal: &Journal) -> (SupervisorSpec, Vec<ChildRef<Puppet>>) {
    let mut spec = spec;
    let mut children = Vec::new();
    for id in ["a", "b", "c"] {
        let child = puppet(id, journal);
        children.push(child.reference());
        spec = spec.child(child);
    }
    (spec, children)
}

async fn all_ready(children: &[ChildRef<Puppet>]) {
    for child in children {
        child.ready().await;
        child.ask(Increment).await.expect("it runs");
    }
}

#[test]
fn children_start_in_order_and_stop_in_reverse() {
    run(async {
        let journal = Journal::default();
        let (spec, children) = three(root(), &journal);
        let tree = Root::start(spec);
        all_ready(&children).await;
        stop(tree).await;
        let expected = [
            "a started",
            "b started",
            "c started",
            "c stopped",
            "b stopped",
            "a stopped",
        ];
        assert_eq!(journal.entries(), expected);
    });
}

#[test]
fn a_part_of_a_tree_stops_alone_and_its_supervisors_in_reverse() {
    run(async {
        let journal = Journal::default();
        let tree = Root::start(root());
        let part = |id: &str, child: &str| {
            let child = puppet(child, &journal);
            let reference = child.reference();
            (SupervisorSpec::new(id).child(child), reference)
        };
        let ((first, a), (second, b), (third, c)) =
            (part("1", "a"), part("2", "b"), part("3", "c"));
        let kept = Root::start_below(&tree.handle(), vec![first])
            .await
            .unwrap();
        let ended = Root::start_below(&tree.handle(), vec![second, third])
            .await
            .unwrap();
        all_ready(&[a.clone(), b, c]).await;
        let shown = ended.handle().tree().snapshot();
        assert!(shown.find(&["1", "a"]).is_some(), "the whole tree is shown");
        assert!(
            Root::start_below(&tree.handle(), vec![SupervisorSpec::new("1")])
                .await
                .is_err()
        );
        journal.take();
        ended.handle().stop();
        assert_eq!(ended.verdict().await, TreeExit::Stopped);
        assert_eq!(journal.take(), ["c stopped", "b stopped"]);
        a.ask(Increment).await.expect("the rest goes on");
        let handle = tree.handle();
        assert!(handle.tree().snapshot().find(&["2"]).is_none());
        stop(tree).await;
        assert_eq!(
            kept.verdict().await,
            TreeExit::Stopped,
            "it ended with the tree"
        );
        assert!(
            Root::start_below(&handle, vec![SupervisorSpec::new("4")])
                .await
                .is_err()
        );
    });
}

#[test]
fn a_part_that_fails_too_often_takes_the_tree_along_and_says_so() {
    run(async {
        let journal = Journal::default();
        let tree = Root::start(SupervisorSpec::new("root").policy(NEVER));
        let child = puppet("a", &journal);
        let reference = child.reference();
        let part = SupervisorSpec::new("part").policy(NEVER).child(child);
        let part = Root::start_below(&tree.handle(), vec![part]).await.unwrap();
        reference.ready().await;
        reference.tell(Fail("planned")).unwrap();
        assert!(part.verdict().await.is_failure());
        assert!(tree.verdict().await.is_failure());
    });
}

#[test]
fn one_for_one_restarts_only_the_child_that_failed() {
    run(async {
        let journal = Journal::default();
        let (spec, children) = three(root(), &journal);
        let tree = Root::start(spec);
        all_ready(&children).await;
        journal.take();
        children[1].tell(Panic("planned")).unwrap();
        children[1].ready_after(1).await;
        children[1].ask(Increment).await.unwrap();
        assert_eq!(journal.take(), ["b stopped", "b started"]);
        stop(tree).await;
    });
}

#[test]
fn rest_for_one_restarts_those_that_depend_on_the_child_as_well() {
    run(async {
        let journal = Journal::default();
        let (spec, children) = three(root().strategy(RestartStrategy::RestForOne), &journal);
        let tree = Root::start(spec);
        all_ready(&children).await;
        journal.take();
        children[0].tell(Panic("planned")).unwrap();
        for child in &children {
            child.ready_after(1).await;
            assert_eq!(child.ask(Increment).await, Ok(1), "fresh");
        }
        let expected = [
            "a stopped",
            "c stopped",
            "b stopped",
            "a started",
            "b started",
            "c started",
        ];
        assert_eq!(journal.take(), expected);
        let node = tree
            .handle()
            .tree()
            .snapshot()
            .find(&["c"])
            .cloned()
            .unwrap();
        assert_eq!(node.last_exit, Some(Exit::Normal), "it was asked to stop");

        children[2].tell(Panic("planned")).unwrap();
        children[2].ready_after(2).await;
        children[2].ask(Increment).await.unwrap();
        assert_eq!(
            journal.take(),
            ["c stopped", "c started"],
            "nobody depends on the last"
        );
        stop(tree).await;
    });
}

#[test]
fn a_parked_child_holds_those_down_that_depend_on_it_until_it_is_resumed() {
    run(async {
        let journal = Journal::default();
        let never = RestartPolicy {
            intensity: 0,
            ..AT_ONCE
        };
        let spec = root().strategy(RestartStrategy::RestForOne).policy(never);
        let (spec, children) = three(spec, &journal);
        let tree = Root::start(spec);
        all_ready(&children).await;
        children[1].tell(Panic("planned")).unwrap();
        in_state(&tree.handle(), &["b"], ActorState::Parked).await;
        in_state(&tree.handle(), &["c"], ActorState::Idle).await;
        assert_eq!(
            children[0].ask(Increment).await,
            Ok(2),
            "it depends on nobody"
        );
        tree.handle().supervisor().resume_child("b").unwrap();
        for child in &children[1..] {
            child.ready_after(1).await;
            assert_eq!(child.ask(Increment).await, Ok(1));
        }
        stop(tree).await;
    });
}

#[test]
fn past_the_limit_the_failure_moves_up_and_the_supervisor_is_built_anew() {
    run(async {
        let journal = Journal::default();
        let inner = SupervisorSpec::new("inner").policy(ONCE);
        let (inner, children) = three(inner, &journal);
        let tree = Root::start(root().supervisor(inner));
        all_ready(&children).await;
        for incarnation in 1..=2 {
            children[1].tell(Panic("planned")).unwrap();
            children[1].ready_after(incarnation).await;
        }
        // The second failure took the supervisor and all its children with it.
        for child in &children {
            child.ready_after(u64::from(child.id() == "b") + 1).await;
            assert_eq!(child.ask(Increment).await, Ok(1));
        }
        let node = until(&tree.handle(), &["inner"], |node| node.restarts == 1).await;
        let reason = "b failed 2 times, last: panicked: planned";
        assert_eq!(node.last_exit, Some(Exit::Failed(reason.into())));
        assert_eq!(node.kind, ChildKind::Supervisor);
        stop(tree).await;
    });
}

#[test]
fn past_the_limit_of_the_root_the_verdict_is_a_failure() {
    run(async {
        let journal = Journal::default();
        let spec = SupervisorSpec::root("root").policy(ONCE);
        let (spec, children) = three(spec, &journal);
        let tree = Root::start(spec);
        all_ready(&children).await;
        children[0].ask(Fail("first")).await.unwrap();
        children[0].ready_after(1).await;
        children[0].ask(Fail("second")).await.unwrap();
        let verdict = tree.verdict().await;
        assert!(verdict.is_failure());
        let reason = "a failed 2 times, last: failed: second";
        assert_eq!(verdict, TreeExit::Failed(Exit::Failed(reason.into())));
        let entries = journal.entries();
        assert_eq!(
            &entries[entries.len() - 2..],
            ["c stopped", "b stopped"],
            "no orphans"
        );
    });
}

#[test]
fn two_children_of_one_name_are_a_failed_start() {
    run(async {
        let journal = Journal::default();
        let spec = root()
            .child(puppet("a", &journal))
            .child(puppet("a", &journal));
        let verdict = Root::start(spec).verdict().await;
        let reason = "two children are named a";
        assert_eq!(
            verdict,
            TreeExit::Failed(Exit::FailedToStart(reason.into()))
        );
    });
}

#[test]
fn a_tree_without_owner_is_aborted_and_leaves_no_orphans() {
    run(async {
        let journal = Journal::default();
        let (inner, children) = three(SupervisorSpec::new("inner"), &journal);
        let tree = Root::start(root().supervisor(inner));
        all_ready(&children).await;
        drop(tree);
        for child in &children {
            while child.incarnation().is_some() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        for id in ["a", "b", "c"] {
            assert_eq!(journal.count(&format!("{id} stopped")), 1);
        }
    });
}

#[test]
fn the_tree_is_shown_while_a_supervisor_hangs_and_it_is_replaced() {
    run(async {
        let journal = Journal::default();
        let child = puppet("child", &journal).pings(None);
        let worker = child.reference();
        let inner = SupervisorSpec::new("inner").child(child).into_child();
        let inner = inner
            .placement(ThreadPlacement::Own)
            .pings(BRISK)
            .policy(AT_ONCE);
        let tree = Root::start(root().child(inner));
        worker.ready().await;
        let (release, held) = mpsc::channel();
        // The child blocks the thread it shares with its supervisor.
        worker.tell(Block(held)).unwrap();
        let node = until(&tree.handle(), &["inner"], |node| node.restarts == 1).await;
        assert_eq!(node.last_exit, Some(Exit::Hung { missed: 3 }));
        assert!(node.last_exit_at_ms.is_some());
        drop(release);
        stop(tree).await;
    });
}

#[test]
fn the_tree_is_data() {
    run(async {
        let journal = Journal::default();
        let child = puppet("keeper", &journal)
            .capacity(7)
            .restart(Restart::Transient);
        let keeper = child.reference();
        let tree = Root::start(root().supervisor(SupervisorSpec::new("search").child(child)));
        keeper.ready().await;
        keeper.ask(Increment).await.unwrap();
        let snapshot = tree.handle().tree().snapshot();
        let json = serde_json::to_value(snapshot.find(&["search", "keeper"]).unwrap()).unwrap();
        let expected = serde_json::json!({
            "name": "keeper", "kind": "worker", "restart": "transient", "state": "running",
            "incarnation": 1, "restarts": 0, "mailbox": 0, "capacity": 7,
            "last_exit": null, "last_exit_at_ms": null, "children": [],
        });
        assert_eq!(json, expected);
        assert_eq!(snapshot.name, "root");
        assert_eq!(snapshot.state, ActorState::Running);
        let handle = tree.handle();
        stop(tree).await;
        let ended = handle.tree().snapshot();
        assert_eq!(ended.state, ActorState::Ended);
        assert_eq!(
            ended.find(&["search", "keeper"]).unwrap().state,
            ActorState::Ended
        );
    });
}

#[derive(Clone, Default)]
struct Lines(Arc<parking_lot::Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_events_have_stable_names() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    run(async {
        let journal = Journal::default();
        let parked = puppet("parked", &journal)
            .policy(ONCE)
            .past_limit(PastLimit::Park);
        let hung = puppet("hung", &journal).pings(BRISK);
        let escalating = puppet("escalating", &journal).policy(RestartPolicy {
            intensity: 0,
            ..ONCE
        });
        let (worker, hanging, last) =
            (parked.reference(), hung.reference(), escalating.reference());
        let spec = SupervisorSpec::root("root").policy(AT_ONCE);
        let tree = Root::start(spec.child(parked).child(hung).child(escalating));
        worker.ready().await;
        worker.tell(Panic("planned")).unwrap();
        worker.ready_after(1).await;
        worker.tell(Panic("planned")).unwrap();
        in_state(&tree.handle(), &["parked"], ActorState::Parked).await;
        hanging.tell(WaitForEver).unwrap();
        hanging.ready_after(1).await;
        last.tell(Panic("planned")).unwrap();
        assert!(tree.verdict().await.is_failure());
    });
    let text = String::from_utf8(lines.0.lock().clone()).unwrap();
    let events: Vec<(String, String)> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| {
            let field = |name: &str| line["fields"][name].as_str().unwrap_or_default().to_owned();
            (field("event"), field("actor"))
        })
        .collect();
    let expected = [
        ("actor.started", "root"),
        ("actor.started", "root/parked"),
        ("actor.exited", "root/parked"),
        ("actor.restarting", "root/parked"),
        ("actor.parked", "root/parked"),
        ("actor.hung", "root/hung"),
        ("actor.restarting", "root/hung"),
        ("actor.escalated", "root/escalating"),
        ("actor.exited", "root"),
    ];
    for (event, actor) in expected {
        let found = events.iter().any(|(e, a)| e == event && a == actor);
        assert!(found, "{event} of {actor} is not in\n{text}");
    }
}

#[test]
fn whoever_ends_with_a_tree_hears_of_the_shutdown_and_of_a_tree_that_gave_up() {
    run(async {
        let journal = Journal::default();
        let part = SupervisorSpec::new("part").child(puppet("a", &journal));
        let tree = Root::start_named("root", vec![part]);
        until(&tree.handle(), &["part", "a"], |node| {
            node.state == ActorState::Running
        })
        .await;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (actors, ended) = tree.watch_until(async {
            let _ = stopped.await;
        });
        stop.send(()).expect("somebody waits");
        ended.await;
        actors.shut_down().await.expect("it was asked to stop");
        assert_eq!(journal.entries(), ["a started", "a stopped"]);

        let child = puppet("b", &Journal::default());
        let reference = child.reference();
        let tree = Root::start(SupervisorSpec::root("root").policy(NEVER).child(child));
        let (actors, ended) = tree.watch_until(std::future::pending());
        reference.ready().await;
        reference.tell(Panic("planned")).expect("it runs");
        ended.await;
        let verdict = actors
            .shut_down()
            .await
            .expect_err("nobody asked it to stop");
        assert!(verdict.is_failure(), "{verdict}");
    });
}

#[test]
fn a_supervisor_answers_until_its_tree_has_ended() {
    run(async {
        let tree = Root::start(root());
        let handle = tree.handle();
        handle.supervisor().ready().await;
        assert!(handle.answers(Duration::from_secs(30)).await);
        stop(tree).await;
        assert!(!handle.answers(Duration::from_secs(30)).await);
    });
}
