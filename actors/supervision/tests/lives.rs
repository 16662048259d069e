//! How lives end, and what follows: typed exits, restarts, back-off, parking, hangs.

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use actix::prelude::{Actor, ActorFutureExt, AsyncContext, Context, fut};
use common::{
    AT_ONCE, BRISK, BeStubborn, Block, Fail, Increment, Journal, Note, Panic, Puppet, Stop,
    WaitForEver, WhichThread, in_state, puppet, root, run, stop, until,
};
use supervision::{
    ActorState, AskError, ChildContext, ChildSpec, Exit, Placement, Restart, RestartPolicy, Root,
    TickHandle, start_tick,
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
            let spec = ChildSpec::fallible("flawed", move |life| match flaw {
                Flaw::FactoryErr => Err("flawed"),
                Flaw::FactoryPanic => panic!("flawed"),
                Flaw::StartedPanic | Flaw::StartedFail => Ok(Flawed(life, flaw)),
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

/// A sibling whose ticks are counted.
struct Ticking {
    ticks: Arc<AtomicUsize>,
    tick: Option<TickHandle>,
}

impl Actor for Ticking {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let run = |this: &mut Self, _: &mut Context<Self>| -> supervision::TickRun<Self> {
            this.ticks.fetch_add(1, Ordering::SeqCst);
            Box::pin(fut::ready(()))
        };
        self.tick = Some(start_tick(ctx, Duration::from_millis(1), run));
    }
}

#[test]
fn f07_a_child_that_fails_at_start_is_parked_and_its_siblings_go_on() {
    run(async {
        let starts = Arc::new(AtomicUsize::new(0));
        let ticks = Arc::new(AtomicUsize::new(0));
        let failing = ChildSpec::fallible("failing", {
            let starts = Arc::clone(&starts);
            move |_| -> Result<Puppet, &str> {
                starts.fetch_add(1, Ordering::SeqCst);
                Err("planned failure")
            }
        });
        // The real policy with its delays a hundredth as long.
        let failing = failing.policy(RestartPolicy {
            first_delay: Duration::from_micros(2500),
            max_delay: Duration::from_millis(40),
            ..RestartPolicy::WORKER
        });
        let sibling = ChildSpec::new("sibling", {
            let ticks = Arc::clone(&ticks);
            move |_| Ticking {
                ticks: Arc::clone(&ticks),
                tick: None,
            }
        });
        let tree = Root::start(root().child(failing).child(sibling));
        let node = in_state(&tree.handle(), &["failing"], ActorState::Parked).await;
        assert_eq!(
            starts.load(Ordering::SeqCst),
            6,
            "the first start and five restarts"
        );
        assert_eq!(node.restarts, 5);
        assert_eq!(
            node.last_exit,
            Some(Exit::FailedToStart("planned failure".into()))
        );

        let at_parking = ticks.load(Ordering::SeqCst);
        while ticks.load(Ordering::SeqCst) < at_parking + 50 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let snapshot = tree.handle().tree().snapshot();
        let sibling = snapshot.find(&["sibling"]).unwrap();
        assert_eq!(
            (sibling.incarnation, sibling.state),
            (1, ActorState::Running)
        );
        assert_eq!(starts.load(Ordering::SeqCst), 6, "parked means parked");
        stop(tree).await;
    });
}

#[test]
fn a_parked_child_is_resumed_by_hand_with_its_failures_forgotten() {
    run(async {
        let spec = puppet("worker", &Journal::default()).policy(RestartPolicy {
            intensity: 0,
            ..AT_ONCE
        });
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        for life in 0..3 {
            worker.ready_after(life).await;
            worker.tell(Panic("planned")).unwrap();
            in_state(&tree.handle(), &["worker"], ActorState::Parked).await;
            tree.handle()
                .supervisor()
                .resume_child("worker")
                .await
                .unwrap();
        }
        worker.ready_after(3).await;
        assert_eq!(worker.ask(Increment).await, Ok(1));
        // Resuming one that runs changes nothing.
        tree.handle()
            .supervisor()
            .resume_child("worker")
            .await
            .unwrap();
        assert_eq!(worker.ask(Increment).await, Ok(2));
        stop(tree).await;
    });
}

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
            .placement(Placement::Own);
        let worker = spec.reference();
        let tree = Root::start(root().child(spec));
        worker.ready().await;
        let blocked_thread = worker.ask(WhichThread).await.unwrap();
        assert_ne!(blocked_thread, std::thread::current().id());
        let (release, held) = mpsc::channel();
        worker.tell(Block(held)).unwrap();
        for _ in 0..10 {
            worker.tell(Note("of the life given up".into())).unwrap();
        }
        worker.ready_after(1).await;
        assert_ne!(worker.ask(WhichThread).await.unwrap(), blocked_thread);
        assert_eq!(worker.ask(Increment).await, Ok(1));
        // The life that hung goes on now, and must not take the reference from the new one.
        drop(release);
        while journal.count("worker stopped") == 0 {
            assert!(worker.ask(Increment).await.is_ok());
        }
        assert_eq!(journal.count("of the life given up"), 0);
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
        let spec = puppet("worker", &Journal::default()).placement(Placement::Own);
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

struct Slow {
    overlaps: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
    running: bool,
}

impl Actor for Slow {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let run = |this: &mut Self, _: &mut Context<Self>| -> supervision::TickRun<Self> {
            this.overlaps
                .fetch_add(usize::from(this.running), Ordering::SeqCst);
            this.running = true;
            let work = actix::fut::wrap_future(tokio::time::sleep(Duration::from_millis(5)));
            Box::pin(work.map(|(), this: &mut Self, _| {
                this.running = false;
                this.runs.fetch_add(1, Ordering::SeqCst);
            }))
        };
        let tick = start_tick(ctx, Duration::from_millis(1), run);
        // Wakes all the time, five times as often as a run takes.
        ctx.run_interval(Duration::from_millis(1), move |_, _| tick.wake());
    }
}

#[test]
fn ticks_never_overlap_however_slow_and_however_often_woken() {
    run(async {
        let (overlaps, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let spec = ChildSpec::new("slow", {
            let (overlaps, runs) = (Arc::clone(&overlaps), Arc::clone(&runs));
            move |_| Slow {
                overlaps: Arc::clone(&overlaps),
                runs: Arc::clone(&runs),
                running: false,
            }
        });
        let tree = Root::start(root().child(spec));
        while runs.load(Ordering::SeqCst) < 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(overlaps.load(Ordering::SeqCst), 0);
        stop(tree).await;
    });
}

struct Sleeper {
    runs: Arc<AtomicUsize>,
    give: Option<tokio::sync::oneshot::Sender<TickHandle>>,
}

impl Actor for Sleeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let run = |this: &mut Self, _: &mut Context<Self>| -> supervision::TickRun<Self> {
            this.runs.fetch_add(1, Ordering::SeqCst);
            Box::pin(fut::ready(()))
        };
        let tick = start_tick(ctx, Duration::from_secs(3600), run);
        let _ = self.give.take().expect("started once").send(tick);
    }
}

#[test]
fn many_wakes_are_one_early_run() {
    run(async {
        let runs = Arc::new(AtomicUsize::new(0));
        let (give, take) = tokio::sync::oneshot::channel();
        let actor = Sleeper {
            runs: Arc::clone(&runs),
            give: Some(give),
        }
        .start();
        let tick = take.await.unwrap();
        for round in 1..=5 {
            for _ in 0..100 {
                tick.wake();
            }
            while runs.load(Ordering::SeqCst) < round {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(runs.load(Ordering::SeqCst), round);
        }
        drop(actor);
    });
}
