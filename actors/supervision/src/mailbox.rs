//! A child's mailbox: a future in the actor's own context which hands it the messages.
//!
//! actix's own mailbox is not used for messages through references: its bound holds nothing back
//! (`do_send` ignores it, `send` passes it with a sender of its own), it gives no way to count what
//! leaves it, and it cannot answer a ping without a handler in each actor. As a future of the
//! context this one has the same place in the event loop: one message at a time, none while
//! `ctx.wait` waits.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll},
};

use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message,
    dev::{MessageResponse, OneshotSender},
    fut::ActorFuture,
};

use crate::{
    life::{Duty, Life},
    queue::Post,
};

/// A message on its way, without its type.
pub(crate) trait Deliver<A: Actor>: Send {
    /// Gives the message to its handler.
    fn deliver(self: Box<Self>, actor: &mut A, ctx: &mut A::Context);
}

/// A message and where its reply goes.
pub(crate) struct Parcel<M: Message> {
    pub(crate) message: M,
    pub(crate) reply: Option<OneshotSender<M::Result>>,
}

impl<A, M> Deliver<A> for Parcel<M>
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

/// The receiving end, spawned into the context before the actor starts.
pub(crate) struct Mailbox<A: Actor<Context = Context<A>>> {
    life: Arc<Life<A>>,
    /// Messages taken out of the queue and not handled yet.
    batch: VecDeque<Post<A>>,
}

/// Messages handled before other tasks of the thread have a turn.
const BUDGET: usize = 128;

impl<A: Actor<Context = Context<A>>> Mailbox<A> {
    pub(crate) fn new(life: Arc<Life<A>>) -> Self {
        Self {
            life,
            batch: VecDeque::new(),
        }
    }

    /// Signs of life and orders; false when no message may be handled now.
    #[inline]
    fn may_handle(&self, ctx: &mut Context<A>) -> bool {
        if self.life.pulse.wants_attention() {
            match self.life.pulse.attend() {
                Duty::None => {}
                Duty::Started => self.life.shared.node.started(self.life.incarnation),
                Duty::Stop => ctx.stop(),
                Duty::Terminate => ctx.terminate(),
            }
        }
        !ctx.waiting()
    }

    /// The next message. The first look at the queue in each turn arms the waker.
    #[inline]
    fn next(&mut self, looked: &mut bool, task: &Task<'_>) -> Option<Post<A>> {
        let queue = &self.life.shared.queue;
        if let Some(post) = self.batch.pop_front() {
            queue.left_in_batch(self.batch.len());
            return Some(post);
        }
        if *looked && !queue.has_more() {
            return None;
        }
        let arm = (!*looked).then_some(task);
        *looked = true;
        queue.take(self.life.incarnation, &mut self.batch, arm)
    }
}

impl<A: Actor<Context = Context<A>>> ActorFuture<A> for Mailbox<A> {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut Context<A>,
        task: &mut Task<'_>,
    ) -> Poll<()> {
        let this = self.get_mut();
        let mut looked = false;
        for _ in 0..BUDGET {
            if !this.may_handle(ctx) {
                return Poll::Pending;
            }
            match this.next(&mut looked, task) {
                Some(post) => post.deliver(actor, ctx),
                None => return Poll::Pending,
            }
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<A: Actor<Context = Context<A>>> Drop for Mailbox<A> {
    /// However the life ends, its reference says so at that moment, not when the supervisor hears.
    fn drop(&mut self) {
        self.life.shared.vacate(self.life.incarnation);
    }
}
