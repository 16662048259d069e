//! The messages that wait for one incarnation of a child: a bounded channel.

use std::task::{Context as Task, Poll};

use actix::{
    Actor, Handler, Message,
    dev::{MessageResponse, OneshotSender},
};
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::tree::Backlog;

/// A message on its way, without its type.
pub(crate) trait Deliver<A: Actor>: Send {
    /// Gives the message to its handler.
    fn deliver(self: Box<Self>, actor: &mut A, ctx: &mut A::Context);
}

/// A message and where its reply goes.
pub(crate) struct Envelope<M: Message> {
    pub(crate) message: M,
    pub(crate) reply: Option<OneshotSender<M::Result>>,
}

impl<A, M> Deliver<A> for Envelope<M>
where
    A: Actor + Handler<M>,
    M: Message + Send,
    M::Result: Send,
{
    fn deliver(self: Box<Self>, actor: &mut A, ctx: &mut A::Context) {
        let Self { message, reply } = *self;
        // Whoever asked has gone (timed out): work nobody waits for is not begun.
        if reply.as_ref().is_some_and(OneshotSender::is_closed) {
            return;
        }
        actor.handle(message, ctx).handle(ctx, reply);
    }
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendRefusal {
    /// The incarnation takes no messages.
    Closed,
    /// No permit is free.
    Full,
}

/// See the module.
pub(crate) struct Inbox<A: Actor> {
    /// Which incarnation takes the messages, counted from 1.
    pub(crate) incarnation: u64,
    sender: mpsc::Sender<Box<dyn Deliver<A>>>,
    /// Behind a lock, so that an incarnation whose thread is blocked can be cut off from what
    /// waits, and those who asked hear of it at once.
    receiver: Mutex<mpsc::Receiver<Box<dyn Deliver<A>>>>,
}

impl<A: Actor> Inbox<A> {
    pub(crate) fn new(incarnation: u64, capacity: usize) -> Self {
        // A channel without room is not to be had; `Endpoint` refuses what has no capacity.
        let capacity = capacity.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        let (sender, receiver) = mpsc::channel(capacity);
        Self {
            incarnation,
            sender,
            receiver: Mutex::new(receiver),
        }
    }

    pub(crate) fn push(&self, message: Box<dyn Deliver<A>>) -> Result<(), SendRefusal> {
        self.sender.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => SendRefusal::Full,
            TrySendError::Closed(_) => SendRefusal::Closed,
        })
    }

    /// The next message; `None` when the inbox was closed.
    pub(crate) fn poll_next(&self, task: &mut Task<'_>) -> Poll<Option<Box<dyn Deliver<A>>>> {
        self.receiver.lock().poll_recv(task)
    }

    /// Takes no messages any more and drops those that wait: who asked hears `NoReply`.
    pub(crate) fn close(&self) {
        let mut receiver = self.receiver.lock();
        receiver.close();
        let mut waiting = Vec::new();
        while let Ok(message) = receiver.try_recv() {
            waiting.push(message);
        }
        drop(receiver);
        // Without the lock: a message that is dropped may run code of its own.
        drop(waiting);
    }
}

impl<A: Actor> Backlog for Inbox<A> {
    fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }
}
