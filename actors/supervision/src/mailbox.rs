//! A child's mailbox: a future in the actor's own context which hands it the messages.
//!
//! actix's own mailbox is not used for messages through references: it gives no way to count what
//! leaves it (so no permits), its `send` waits for ever when it is full, and it cannot answer a
//! ping without a handler in each actor. As a future of the context this one has the same place in
//! the event loop: one message at a time, none while `ctx.wait` waits.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context as Task, Poll},
};

use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message,
    dev::{MessageResponse, OneshotSender},
    fut::ActorFuture,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{life::Life, reference::Shared};

/// What goes through the queue: a message, or nothing but a turn of the event loop.
pub(crate) type Post<A> = Option<Box<dyn Deliver<A>>>;

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
    pub(crate) posts: UnboundedReceiver<Post<A>>,
    pub(crate) life: Arc<Life<A>>,
    pub(crate) shared: Arc<Shared<A>>,
}

impl<A: Actor<Context = Context<A>>> Mailbox<A> {
    /// Signs of life and orders; false when no message may be handled now.
    fn may_handle(&self, ctx: &mut Context<A>) -> bool {
        let pulse = &self.life.pulse;
        if pulse.take_stop() {
            ctx.stop();
        } else if pulse.turn() {
            self.shared.started(self.life.incarnation);
        }
        !ctx.waiting()
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
        while this.may_handle(ctx) {
            match this.posts.poll_recv(task) {
                Poll::Ready(Some(Some(parcel))) => {
                    this.life.waiting.fetch_sub(1, Ordering::Relaxed);
                    parcel.deliver(actor, ctx);
                }
                Poll::Ready(Some(None)) => {}
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }
}

impl<A: Actor<Context = Context<A>>> Drop for Mailbox<A> {
    /// However the life ends, its reference says so at that moment, not when the supervisor hears.
    fn drop(&mut self) {
        self.shared.vacate(self.life.incarnation);
    }
}
