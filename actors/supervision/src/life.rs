//! What a supervisor and one life of a child share: orders, signs of life, and why it ended.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use actix::{Actor, Context};
use parking_lot::Mutex;

use crate::{monitor::Ending, reference::Shared, tree::Node};

/// One life of an actor.
pub(crate) struct Life<A: Actor<Context = Context<A>>> {
    /// Counted from 1.
    pub(crate) incarnation: u64,
    pub(crate) shared: Arc<Shared<A>>,
    pub(crate) pulse: Pulse,
}

/// A [`Life`] without the actor's type.
pub(crate) trait Vital: Send + Sync {
    fn pulse(&self) -> &Pulse;
    /// Messages in the mailbox.
    fn waiting(&self) -> usize;
    /// Makes the actor's event loop turn once.
    fn nudge(&self);
}

impl<A: Actor<Context = Context<A>>> Vital for Life<A> {
    fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    fn waiting(&self) -> usize {
        self.shared.queue.waiting()
    }

    fn nudge(&self) {
        self.shared.queue.nudge(self.incarnation);
    }
}

/// Orders to a life and its signs of life. The event loop looks at it before each message, so an
/// order overtakes the queue, and a ping is answered however long the queue is.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Set with each change of the others, so that the event loop has one thing to look at.
    attention: AtomicBool,
    stop: AtomicBool,
    given_up: AtomicBool,
    turned: AtomicBool,
    pinged: AtomicU32,
    ponged: AtomicU32,
    reason: Mutex<Option<String>>,
}

/// What the event loop has to do when it [attends](Pulse::attend) to its pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Handle messages.
    None,
    /// As `None`; this was the first turn of the event loop.
    Started,
    /// Stop. Heard once: an actor that refuses (`Running::Continue`) is not asked again.
    Stop,
    /// Handle nothing more: the supervisor counts the life as over.
    Terminate,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            // For the first turn.
            attention: AtomicBool::new(true),
            stop: AtomicBool::default(),
            given_up: AtomicBool::default(),
            turned: AtomicBool::default(),
            pinged: AtomicU32::default(),
            ponged: AtomicU32::default(),
            reason: Mutex::default(),
        }
    }
}

impl Pulse {
    /// Whether there is anything to [attend](Self::attend) to.
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.attention.load(Ordering::Acquire)
    }

    /// The event loop turns: answers the last ping and takes its orders.
    #[cold]
    pub(crate) fn attend(&self) -> Duty {
        // First of all: what is set from here on is seen with the next look.
        self.attention.swap(false, Ordering::AcqRel);
        let pinged = self.pinged.load(Ordering::Acquire);
        self.ponged.store(pinged, Ordering::Release);
        if self.given_up.load(Ordering::Acquire) {
            Duty::Terminate
        } else if self.stop.swap(false, Ordering::AcqRel) {
            Duty::Stop
        } else if self.turned.swap(true, Ordering::AcqRel) {
            Duty::None
        } else {
            Duty::Started
        }
    }

    fn order_stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.attention.store(true, Ordering::Release);
    }

    /// The supervisor counts the life as over. Should its blocked thread ever go on, it handles
    /// nothing more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.attention.store(true, Ordering::Release);
    }

    fn ping(&self) {
        self.pinged.fetch_add(1, Ordering::AcqRel);
        self.attention.store(true, Ordering::Release);
    }

    /// Whether the event loop ever turned, that is whether the actor started.
    pub(crate) fn has_turned(&self) -> bool {
        self.turned.load(Ordering::Acquire)
    }

    /// Whether the last ping was answered.
    pub(crate) fn answered(&self) -> bool {
        self.ponged.load(Ordering::Acquire) == self.pinged.load(Ordering::Acquire)
    }

    fn fail(&self, reason: String) {
        self.reason.lock().get_or_insert(reason);
        self.order_stop();
    }

    /// How the life ended, seen from its own end.
    pub(crate) fn ending(&self) -> Ending {
        match self.reason.lock().take() {
            None => Ending::Normal,
            Some(reason) if self.has_turned() => Ending::Failed(reason),
            Some(reason) => Ending::FailedToStart(reason),
        }
    }
}

/// Sends a ping.
pub(crate) fn ping(life: &dyn Vital) {
    life.pulse().ping();
    life.nudge();
}

/// Orders a stop: after the message in work; what waits behind it is not handled any more.
pub(crate) fn stop(life: &dyn Vital) {
    life.pulse().order_stop();
    life.nudge();
}

/// A child's line to its supervisor, given to the factory with each life.
///
/// Cheap to clone and free to send to other threads; keep it in the actor.
#[derive(Clone)]
pub struct ChildContext {
    pub(crate) life: Arc<dyn Vital>,
    pub(crate) node: Arc<Node>,
    pub(crate) incarnation: u64,
}

impl ChildContext {
    /// The child's id, as its spec has it.
    pub fn id(&self) -> &str {
        self.node.name()
    }

    /// The path of ids from the root, for logs: `root/search/keeper`.
    pub fn path(&self) -> String {
        self.node.path()
    }

    /// Which life this is, counted from 1.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Ends this life as [`Exit::Failed`](crate::Exit::Failed) with this reason: after the message
    /// in work, ahead of all that wait. The first reason given is kept. May be called from any
    /// task or thread; when the life is over already, nothing happens.
    pub fn fail(&self, reason: impl Into<String>) {
        self.life.pulse().fail(reason.into());
        self.life.nudge();
    }

    /// Ends this life as [`Exit::Normal`](crate::Exit::Normal), as `ctx.stop()` does, from any
    /// task or thread.
    pub fn stop(&self) {
        stop(&*self.life);
    }
}

impl std::fmt::Debug for ChildContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildContext")
            .field("path", &self.path())
            .field("incarnation", &self.incarnation)
            .finish_non_exhaustive()
    }
}
