//! Signals between a supervisor and one incarnation of a child: stop, ping, and why it ended.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    task::Waker,
};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::exit::TaskEnd;

/// The event loop looks at it before each message, so an instruction overtakes the queue, and a
/// ping is answered however long the queue is.
#[derive(Debug)]
pub(crate) struct ChildSignals {
    /// Set with each change of the others, so that the event loop has one thing to look at.
    pending: AtomicBool,
    stop: AtomicBool,
    given_up: AtomicBool,
    started: AtomicBool,
    pinged: AtomicU32,
    ponged: AtomicU32,
    reason: Mutex<Option<String>>,
    /// Of the event loop's task.
    waker: AtomicWaker,
}

/// What the event loop has to do when it [takes](ChildSignals::take) its signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Handle messages.
    None,
    /// As `None`; this was the first turn of the event loop.
    Started,
    /// Stop. Given once: an actor that refuses (`Running::Continue`) is not asked again.
    Stop,
    /// Handle nothing more: the supervisor counts the incarnation as ended.
    Terminate,
}

impl Default for ChildSignals {
    fn default() -> Self {
        Self {
            // For the first turn.
            pending: AtomicBool::new(true),
            stop: AtomicBool::default(),
            given_up: AtomicBool::default(),
            started: AtomicBool::default(),
            pinged: AtomicU32::default(),
            ponged: AtomicU32::default(),
            reason: Mutex::default(),
            waker: AtomicWaker::new(),
        }
    }
}

impl ChildSignals {
    /// Which task is woken by a signal; called before each look at them.
    #[inline]
    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Whether there is anything to [take](Self::take).
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire)
    }

    /// The event loop turns: answers the last ping and takes its instructions.
    #[cold]
    pub(crate) fn take(&self) -> Instruction {
        // First of all: what is set from here on is seen with the next look.
        self.pending.swap(false, Ordering::AcqRel);
        let pinged = self.pinged.load(Ordering::Acquire);
        self.ponged.store(pinged, Ordering::Release);
        if self.given_up.load(Ordering::Acquire) {
            Instruction::Terminate
        } else if self.stop.swap(false, Ordering::AcqRel) {
            Instruction::Stop
        } else if self.started.swap(true, Ordering::AcqRel) {
            Instruction::None
        } else {
            Instruction::Started
        }
    }

    /// Stop: after the message in work; what waits behind it is not handled any more.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.notify();
    }

    /// The supervisor counts the incarnation as ended. Should its blocked thread ever go on, it
    /// handles nothing more.
    pub(crate) fn abandon(&self) {
        self.given_up.store(true, Ordering::Release);
        self.notify();
    }

    pub(crate) fn ping(&self) {
        self.pinged.fetch_add(1, Ordering::AcqRel);
        self.notify();
    }

    /// Stop with a reason; the first one is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.reason.lock().get_or_insert(reason);
        self.stop();
    }

    fn notify(&self) {
        self.pending.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether the event loop ever turned, that is whether the actor started.
    pub(crate) fn has_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Whether the last ping was answered.
    pub(crate) fn answered(&self) -> bool {
        self.ponged.load(Ordering::Acquire) == self.pinged.load(Ordering::Acquire)
    }

    /// How the incarnation ended, seen from its own end.
    pub(crate) fn ending(&self) -> TaskEnd {
        match self.reason.lock().take() {
            None => TaskEnd::Normal,
            Some(reason) if self.has_started() => TaskEnd::Failed(reason),
            Some(reason) => TaskEnd::FailedToStart(reason),
        }
    }
}
