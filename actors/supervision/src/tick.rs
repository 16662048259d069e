//! A repeated job of an actor that books itself.
//!
//! The next run is booked when the previous one ended: a slow run delays the next, it never piles
//! up. `wake` brings the next run forward; many wakes are one run.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use actix::{
    Actor, AsyncContext, Context, SpawnHandle,
    fut::{ActorFuture, LocalBoxActorFuture},
};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep};

use crate::schedule::{TickDecision, TickSchedule};

/// One run of a tick, with access to the actor between its awaits.
pub type TickRun<A> = LocalBoxActorFuture<A, ()>;

/// Wakes a tick and stops it. Cheap to clone; may be used from any task or thread.
#[derive(Debug, Clone)]
pub struct TickHandle {
    signal: Arc<TickSignal>,
    spawned: SpawnHandle,
}

impl TickHandle {
    /// Asks for a run as soon as possible instead of at its time. Called before a run begins it is
    /// that run, however often; called during a run it asks for one more after it. Nothing happens
    /// when the actor is gone.
    pub fn wake(&self) {
        self.signal.woken.store(true, Ordering::Release);
        if let Some(waker) = self.signal.waker.lock().take() {
            waker.wake();
        }
    }

    /// Another interval, from the run that is booked on: a shorter one brings it forward, a longer
    /// one takes effect after it.
    pub fn set_interval(&self, interval: Duration) {
        *self.signal.interval.lock() = Some(interval);
        if let Some(waker) = self.signal.waker.lock().take() {
            waker.wake();
        }
    }

    /// Ends the tick; a run in work ends at its present await.
    pub fn cancel<A: Actor<Context = Context<A>>>(&self, ctx: &mut Context<A>) {
        ctx.cancel_future(self.spawned);
    }
}

#[derive(Debug, Default)]
struct TickSignal {
    woken: AtomicBool,
    interval: Mutex<Option<Duration>>,
    waker: Mutex<Option<Waker>>,
}

/// Starts a tick in an actor's context: `run` begins `interval` from now, and again `interval`
/// after each end. It ends with the actor. For a run without awaits return
/// `Box::pin(actix::fut::ready(()))`.
///
/// ```
/// use std::time::Duration;
///
/// use actix::prelude::{Actor, Context, WrapFuture};
/// use supervision::start_tick;
///
/// struct Cleaner {
///     rounds: u64,
/// }
///
/// impl Actor for Cleaner {
///     type Context = Context<Self>;
///
///     fn started(&mut self, ctx: &mut Context<Self>) {
///         start_tick(ctx, Duration::from_secs(300), |cleaner: &mut Self, _| {
///             cleaner.rounds += 1;
///             Box::pin(async { /* the part that waits */ }.into_actor(cleaner))
///         });
///     }
/// }
/// ```
pub fn start_tick<A, F>(ctx: &mut Context<A>, interval: Duration, run: F) -> TickHandle
where
    A: Actor<Context = Context<A>>,
    F: FnMut(&mut A, &mut Context<A>) -> TickRun<A> + Unpin + 'static,
{
    let signal = Arc::new(TickSignal::default());
    let origin = Instant::now();
    let spawned = ctx.spawn(Tick {
        schedule: TickSchedule::new(interval, Duration::ZERO),
        origin,
        signal: Arc::clone(&signal),
        run,
        state: TickState::Idle,
    });
    TickHandle { signal, spawned }
}

struct Tick<A, F> {
    schedule: TickSchedule,
    /// The origin of the clock the schedule sees; it is monotonic, so that it does not jump with
    /// the wall clock.
    origin: Instant,
    signal: Arc<TickSignal>,
    run: F,
    state: TickState<A>,
}

enum TickState<A> {
    Idle,
    Sleeping(Pin<Box<Sleep>>),
    Running(TickRun<A>),
}

impl<A, F> ActorFuture<A> for Tick<A, F>
where
    A: Actor<Context = Context<A>>,
    F: FnMut(&mut A, &mut Context<A>) -> TickRun<A> + Unpin + 'static,
{
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut Context<A>,
        task: &mut Task<'_>,
    ) -> Poll<()> {
        let this = self.get_mut();
        *this.signal.waker.lock() = Some(task.waker().clone());
        if let Some(interval) = this.signal.interval.lock().take() {
            this.schedule.set_interval(interval);
            if matches!(this.state, TickState::Sleeping(_)) {
                this.state = TickState::Idle;
            }
        }
        loop {
            if !this.advance(actor, ctx, task) {
                return Poll::Pending;
            }
            match this.schedule.next(this.origin.elapsed()) {
                TickDecision::Run => this.state = TickState::Running((this.run)(actor, ctx)),
                TickDecision::Wait(time) => this.state = TickState::Sleeping(Box::pin(sleep(time))),
                // `advance` has told the schedule of each end.
                TickDecision::Running => return Poll::Pending,
            }
            if ctx.waiting() {
                // The actor stops, or waits for a future of its own, from now on.
                return Poll::Pending;
            }
        }
    }
}

impl<A, F> Tick<A, F>
where
    A: Actor<Context = Context<A>>,
{
    /// Goes on with the present run or sleep; true when the schedule is to be asked.
    fn advance(&mut self, actor: &mut A, ctx: &mut Context<A>, task: &mut Task<'_>) -> bool {
        match &mut self.state {
            TickState::Idle => true,
            TickState::Running(run) => {
                let ended = run.as_mut().poll(actor, ctx, task).is_ready();
                if ended {
                    self.state = TickState::Idle;
                    self.schedule.record_end(self.origin.elapsed());
                    self.take_wake();
                }
                ended
            }
            TickState::Sleeping(sleep) => {
                let over = sleep.as_mut().poll(task).is_ready();
                self.take_wake() || over
            }
        }
    }

    fn take_wake(&mut self) -> bool {
        let woken = self.signal.woken.swap(false, Ordering::AcqRel);
        if woken {
            self.schedule.wake();
        }
        woken
    }
}
