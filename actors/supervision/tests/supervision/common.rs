//! An actor that does what a test tells it, and what every test needs.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use actix::prelude::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message, ResponseFuture, Running, System,
    WrapFuture,
};
use supervision::{
    ActorNode, ActorState, ChildContext, ChildSpec, PastLimit, Pings, RestartPolicy, Root,
    RootHandle, SupervisorSpec,
};
use tokio::{sync::Notify, time::timeout};

/// Long enough on any machine; nothing waits for it unless the test fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Runs a test in a system of its own, with a deadline.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    System::new().block_on(async { timeout(DEADLINE, test).await.expect("in time") })
}

/// Restarts at once, as often as five times.
pub(crate) const AT_ONCE: RestartPolicy = RestartPolicy {
    intensity: 5,
    period: Duration::from_secs(30),
    first_delay: Duration::ZERO,
    max_delay: Duration::ZERO,
};

/// A hang is found within about 60 ms.
pub(crate) const BRISK: Pings = Pings {
    interval: Duration::from_millis(20),
    misses: 3,
};

/// What happened, in order, over all actors of a test.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<parking_lot::Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn add(&self, entry: impl Into<String>) {
        self.0.lock().push(entry.into());
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    pub(crate) fn count(&self, entry: &str) -> usize {
        self.0.lock().iter().filter(|known| *known == entry).count()
    }
}

/// An actor that does what it is told.
pub(crate) struct Puppet {
    pub(crate) incarnation: ChildContext,
    pub(crate) journal: Journal,
    pub(crate) value: usize,
    pub(crate) stubborn: bool,
}

impl Actor for Puppet {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.journal
            .add(format!("{} started", self.incarnation.id()));
    }

    fn stopping(&mut self, _: &mut Context<Self>) -> Running {
        if self.stubborn {
            Running::Continue
        } else {
            Running::Stop
        }
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        self.journal
            .add(format!("{} stopped", self.incarnation.id()));
    }
}

/// A worker that does what it is told and writes down what happens.
pub(crate) fn puppet(id: &str, journal: &Journal) -> ChildSpec<Puppet> {
    let journal = journal.clone();
    ChildSpec::new(id, move |incarnation| Puppet {
        incarnation,
        journal: journal.clone(),
        value: 0,
        stubborn: false,
    })
}

macro_rules! message {
    ($(#[$doc:meta])* $name:ident $(($($field:ty),*))?, $reply:ty, |$it:ident, $self:ident, $ctx:ident| $body:expr) => {
        $(#[$doc])*
        pub(crate) struct $name $(($(pub(crate) $field),*))?;

        impl Message for $name {
            type Result = $reply;
        }

        impl Handler<$name> for Puppet {
            type Result = $reply;

            fn handle(&mut $self, $it: $name, $ctx: &mut Context<Self>) -> $reply {
                $body
            }
        }
    };
}

message!(
    /// Counts one up.
    Increment, usize, |_m, self, _ctx| { self.value += 1; self.value });
message!(
    /// Writes an entry.
    Note(String), (), |m, self, _ctx| self.journal.add(m.0));
message!(
    /// Panics with the text.
    Panic(&'static str), (), |m, self, _ctx| panic!("{}", m.0));
message!(
    /// Ends with a reason.
    Fail(&'static str), (), |m, self, _ctx| self.incarnation.fail(m.0));
message!(
    /// Ends without a reason.
    Stop, (), |_m, self, ctx| ctx.stop());
message!(
    /// Handles nothing more, its thread stays free.
    WaitForEver, (), |_m, self, ctx| ctx.wait(std::future::pending::<()>().into_actor(self)));
message!(
    /// Blocks its thread until the sender is dropped.
    Block(mpsc::Receiver<()>), (), |m, self, _ctx| { let _ = m.0.recv(); });
message!(
    /// Refuses to stop from now on.
    BeStubborn, (), |_m, self, _ctx| self.stubborn = true);
message!(
    /// The thread it runs on.
    WhichThread, std::thread::ThreadId, |_m, self, _ctx| std::thread::current().id());

impl actix::dev::MessageResponse<Puppet, WhichThread> for std::thread::ThreadId {
    fn handle(self, _: &mut Context<Puppet>, reply: Option<actix::dev::OneshotSender<Self>>) {
        let _ = reply.map(|reply| reply.send(self));
    }
}

/// Replies when notified, without keeping the actor from other messages.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ReplyWhen(pub(crate) Arc<Notify>);

impl Handler<ReplyWhen> for Puppet {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, ReplyWhen(told): ReplyWhen, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async move { told.notified().await })
    }
}

/// A root that restarts at once and parks.
pub(crate) fn root() -> SupervisorSpec {
    SupervisorSpec::root("root")
        .policy(AT_ONCE)
        .past_limit(PastLimit::Park)
}

/// The node at this path, when `wanted` says so of it.
pub(crate) async fn until(
    root: &RootHandle,
    path: &[&str],
    wanted: impl Fn(&ActorNode) -> bool,
) -> ActorNode {
    loop {
        let found = root.tree().snapshot().find(path).cloned();
        match found {
            Some(node) if wanted(&node) => return node,
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// The node at this path in this state.
pub(crate) async fn in_state(root: &RootHandle, path: &[&str], state: ActorState) -> ActorNode {
    until(root, path, |node| node.state == state).await
}

/// Stops the tree and expects that it stops as it should.
pub(crate) async fn stop(root: Root) {
    root.handle().stop();
    assert_eq!(root.verdict().await, supervision::TreeExit::Stopped);
}
