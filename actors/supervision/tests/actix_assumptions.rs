//! What `supervision` takes for granted about actix, one test for each assumption: when an upgrade
//! changes one of them, the test that names it fails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::prelude::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, MailboxError,
    Message, ResponseActFuture, ResponseFuture, Running, Supervised, Supervisor, SyncArbiter,
    SyncContext, System, WrapFuture,
};
use tokio::{sync::oneshot, time::timeout};

/// Long enough on any machine; nothing waits for it unless the test fails.
const DEADLINE: Duration = Duration::from_secs(30);

fn run<F: Future>(test: F) -> F::Output {
    System::new().block_on(async { timeout(DEADLINE, test).await.expect("in time") })
}

/// What happened in an actor's life.
#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    stopping: AtomicUsize,
    stopped: AtomicUsize,
    unwinding: AtomicUsize,
    handled: AtomicUsize,
    restarting: AtomicUsize,
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::SeqCst);
}

struct Subject {
    counts: Arc<Counts>,
    /// Changed by messages; tells whether a value is fresh.
    value: usize,
}

impl Subject {
    fn new(counts: &Arc<Counts>) -> Self {
        Self {
            counts: Arc::clone(counts),
            value: 0,
        }
    }
}

impl Actor for Subject {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        add(&self.counts.started);
    }

    fn stopping(&mut self, _: &mut Context<Self>) -> Running {
        add(&self.counts.stopping);
        Running::Stop
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        add(&self.counts.stopped);
        if std::thread::panicking() {
            add(&self.counts.unwinding);
        }
    }
}

impl Supervised for Subject {
    fn restarting(&mut self, _: &mut Context<Self>) {
        add(&self.counts.restarting);
    }
}

macro_rules! message {
    ($name:ident, $reply:ty) => {
        struct $name;

        impl Message for $name {
            type Result = $reply;
        }
    };
}

message!(Increment, usize);
message!(Panic, ());
message!(PanicInFuture, ());
message!(PanicInActorFuture, ());
message!(Stop, ());

impl Handler<Increment> for Subject {
    type Result = usize;

    fn handle(&mut self, _: Increment, _: &mut Context<Self>) -> usize {
        add(&self.counts.handled);
        self.value += 1;
        self.value
    }
}

impl Handler<Panic> for Subject {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Context<Self>) {
        panic!("planned");
    }
}

impl Handler<PanicInFuture> for Subject {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: PanicInFuture, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async { panic!("planned") })
    }
}

impl Handler<PanicInActorFuture> for Subject {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: PanicInActorFuture, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async {}.into_actor(self).map(|(), _, _| panic!("planned")))
    }
}

impl Handler<Stop> for Subject {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// Waits until the actor behind the address is gone.
async fn gone(addr: &Addr<Subject>) {
    while addr.connected() {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_panic_kills_only_that_actor() {
    run(async {
        let counts = Arc::default();
        let (one, other) = (Subject::new(&counts).start(), Subject::new(&counts).start());
        assert_eq!(one.send(Panic).await, Err(MailboxError::Closed));
        gone(&one).await;
        assert_eq!(other.send(Increment).await, Ok(1));
    });
}

#[test]
fn a_panic_is_in_the_join_handle_of_a_context_spawned_by_hand() {
    run(async {
        let ctx = Context::new();
        let addr = ctx.address();
        let task = actix_rt::spawn(ctx.into_future(Subject::new(&Arc::default())));
        addr.do_send(Panic);
        let payload = task.await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"planned"));
    });
}

#[test]
fn a_panic_inside_a_response_future_leaves_the_actor_alive() {
    run(async {
        let addr = Subject::new(&Arc::default()).start();
        assert_eq!(addr.send(PanicInFuture).await, Err(MailboxError::Closed));
        assert_eq!(addr.send(Increment).await, Ok(1));
    });
}

#[test]
fn a_panic_inside_an_actor_future_kills_the_actor() {
    run(async {
        let addr = Subject::new(&Arc::default()).start();
        assert_eq!(
            addr.send(PanicInActorFuture).await,
            Err(MailboxError::Closed)
        );
        gone(&addr).await;
    });
}

#[test]
fn stopping_and_stopped_run_during_the_unwind() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Subject::new(&counts).start();
        addr.do_send(Panic);
        gone(&addr).await;
        assert_eq!((count(&counts.stopping), count(&counts.stopped)), (1, 1));
        assert_eq!(count(&counts.unwinding), 1);
    });
}

#[test]
fn messages_queued_behind_a_panic_get_closed() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Subject::new(&counts).start();
        addr.do_send(Panic);
        let queued = addr.send(Increment);
        assert_eq!(queued.await, Err(MailboxError::Closed));
        assert_eq!(count(&counts.handled), 0);
    });
}

#[test]
fn do_send_to_a_dead_actor_is_dropped_in_silence() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Subject::new(&counts).start();
        addr.do_send(Panic);
        gone(&addr).await;
        // Returns nothing, so nothing can be learned from it.
        let () = addr.do_send(Increment);
        assert_eq!(count(&counts.handled), 0);
        assert!(addr.try_send(Increment).is_err(), "try_send does say it");
    });
}

#[test]
fn do_send_ignores_the_bound_of_the_mailbox() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Subject::create(|ctx| {
            ctx.set_mailbox_capacity(1);
            Subject::new(&counts)
        });
        // Nothing is handled before this test awaits: all of it is queued.
        for _ in 0..1000 {
            addr.do_send(Increment);
        }
        assert_eq!(addr.clone().send(Increment).await, Ok(1001));
    });
}

/// Why permits are counted in front of the mailbox: each `send` that finds it full gets a sender of
/// its own, and each sender has a place of its own.
#[test]
fn send_passes_the_bound_of_the_mailbox_as_soon_as_it_is_polled() {
    use futures_util::FutureExt;

    run(async {
        let addr = Subject::create(|ctx| {
            ctx.set_mailbox_capacity(1);
            Subject::new(&Arc::default())
        });
        let woken = Arc::new(AtomicUsize::new(0));
        let waker = futures_util::task::waker(Arc::new(CountWakes(Arc::clone(&woken))));
        let mut task = std::task::Context::from_waker(&waker);
        let mut questions: Vec<_> = (0..100).map(|_| Box::pin(addr.send(Increment))).collect();
        for question in &mut questions {
            assert!(question.poll_unpin(&mut task).is_pending());
        }
        // None is polled again, and yet all are answered: all were in the mailbox at once.
        while count(&woken) < questions.len() {
            tokio::task::yield_now().await;
        }
        for (answer, question) in questions.into_iter().enumerate() {
            assert_eq!(question.await, Ok(answer + 1));
        }
    });
}

struct CountWakes(Arc<AtomicUsize>);

impl futures_util::task::ArcWake for CountWakes {
    fn wake_by_ref(this: &Arc<Self>) {
        add(&this.0);
    }
}

#[test]
fn a_question_nobody_waits_for_is_not_handled() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Subject::new(&counts).start();
        drop(addr.send(Increment));
        assert_eq!(addr.send(Increment).await, Ok(1));
        assert_eq!(count(&counts.handled), 1);
    });
}

#[test]
fn actix_supervisor_restarts_on_stop_and_keeps_the_same_value() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Supervisor::start({
            let counts = Arc::clone(&counts);
            move |_| Subject::new(&counts)
        });
        assert_eq!(addr.send(Increment).await, Ok(1));
        addr.send(Stop).await.unwrap();
        assert_eq!(
            addr.send(Increment).await,
            Ok(2),
            "the state of the previous incarnation"
        );
        assert_eq!(count(&counts.restarting), 1);
        for _ in 0..100 {
            addr.send(Stop).await.unwrap();
        }
        assert_eq!(addr.send(Increment).await, Ok(3), "no limit, no back-off");
        assert_eq!(count(&counts.restarting), 101);
    });
}

#[test]
fn actix_supervisor_sees_no_panic() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let addr = Supervisor::start({
            let counts = Arc::clone(&counts);
            move |_| Subject::new(&counts)
        });
        assert_eq!(addr.send(Panic).await, Err(MailboxError::Closed));
        gone(&addr).await;
        assert_eq!(count(&counts.restarting), 0);
    });
}

struct Blocking(Arc<Counts>);

impl Actor for Blocking {
    type Context = SyncContext<Self>;

    fn started(&mut self, _: &mut SyncContext<Self>) {
        add(&self.0.started);
    }
}

impl Handler<Panic> for Blocking {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut SyncContext<Self>) {
        panic!("planned");
    }
}

impl Handler<Increment> for Blocking {
    type Result = usize;

    fn handle(&mut self, _: Increment, _: &mut SyncContext<Self>) -> usize {
        1
    }
}

#[test]
fn a_sync_arbiter_thread_that_panics_is_gone_for_good() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let pool = SyncArbiter::start(2, {
            let counts = Arc::clone(&counts);
            move || Blocking(Arc::clone(&counts))
        });
        assert_eq!(pool.send(Panic).await, Err(MailboxError::Closed));
        assert_eq!(
            pool.send(Increment).await,
            Ok(1),
            "the second thread is left"
        );
        assert_eq!(pool.send(Panic).await, Err(MailboxError::Closed));
        // No thread is left to take from the queue, and none was started again.
        let unanswered = pool
            .send(Increment)
            .timeout(Duration::from_millis(300))
            .await;
        assert!(unanswered.is_err());
        assert_eq!(count(&counts.started), 2);
    });
}

#[test]
fn an_aborted_context_still_runs_stopped() {
    run(async {
        let counts: Arc<Counts> = Arc::default();
        let ctx = Context::new();
        let addr = ctx.address();
        let task = actix_rt::spawn(ctx.into_future(Subject::new(&counts)));
        addr.send(Increment).await.unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!((count(&counts.stopping), count(&counts.stopped)), (1, 1));
        assert_eq!(count(&counts.unwinding), 0);
    });
}

struct Waiter(Option<oneshot::Receiver<()>>);

impl Actor for Waiter {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let released = self.0.take().expect("started once");
        ctx.wait(async { released.await.expect("released") }.into_actor(self));
    }
}

impl Handler<Increment> for Waiter {
    type Result = usize;

    fn handle(&mut self, _: Increment, _: &mut Context<Self>) -> usize {
        1
    }
}

#[test]
fn no_message_is_handled_while_the_context_waits() {
    run(async {
        let (release, released) = oneshot::channel();
        let addr = Waiter(Some(released)).start();
        let mut question = Box::pin(addr.send(Increment));
        let early = timeout(Duration::from_millis(100), &mut question).await;
        assert!(early.is_err());
        release.send(()).unwrap();
        assert_eq!(question.await, Ok(1));
    });
}

struct PanicsInStopped;

impl Actor for PanicsInStopped {
    type Context = Context<Self>;

    fn stopped(&mut self, _: &mut Context<Self>) {
        panic!("a second panic");
    }
}

impl Handler<Panic> for PanicsInStopped {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Context<Self>) {
        panic!("planned");
    }
}

const VICTIM: &str = "ORRERY_TEST_VICTIM";

/// Runs only as the child process of the test below.
#[test]
fn victim_of_a_panic_in_stopped() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    run(async {
        let addr = PanicsInStopped.start();
        let _ = addr.send(Panic).await;
    });
}

/// Why `stopped` of a supervised actor must not panic: nothing can catch this.
#[test]
fn a_panic_in_stopped_during_the_unwind_aborts_the_process() {
    let itself = std::env::current_exe().unwrap();
    let output = std::process::Command::new(itself)
        .args(["--exact", "victim_of_a_panic_in_stopped", "--nocapture"])
        .env(VICTIM, "1")
        .output()
        .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(6), "{output:?}");
    }
    assert!(!output.status.success());
}
