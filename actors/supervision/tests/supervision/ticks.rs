//! Ticks of actors: they never overlap, wakes are coalesced, and nobody else's failures touch them
//! (F07).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::prelude::{Actor, ActorFutureExt, AsyncContext, Context, fut};
use supervision::{
    ActorState, ChildSpec, Exit, RestartPolicy, Root, TickHandle, TickRun, start_tick,
};

use crate::common::{Puppet, in_state, root, run, stop};

/// A sibling whose ticks are counted.
struct Ticking {
    ticks: Arc<AtomicUsize>,
    tick: Option<TickHandle>,
}

impl Actor for Ticking {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let run = |this: &mut Self, _: &mut Context<Self>| -> TickRun<Self> {
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

struct Slow {
    overlaps: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
    running: bool,
}

impl Actor for Slow {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let run = |this: &mut Self, _: &mut Context<Self>| -> TickRun<Self> {
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
        let run = |this: &mut Self, _: &mut Context<Self>| -> TickRun<Self> {
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
