//! A child's mailbox: a future in the actor's own context which hands it the messages.
//!
//! actix's own mailbox is not used for messages through references: its bound holds nothing back
//! (`do_send` ignores it, `send` passes it with a sender of its own), it gives no way to count what
//! leaves it, and it cannot answer a ping without a handler in each actor. As a future of the
//! context this one has the same place in the event loop: one message at a time, none while
//! `ctx.wait` waits.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll},
};

use actix::{Actor, ActorContext, AsyncContext, Context, fut::ActorFuture};

use crate::{
    endpoint::Endpoint,
    inbox::Inbox,
    signals::{ChildSignals, Instruction},
};

/// The receiving end, spawned into the context before the actor starts.
pub(crate) struct Mailbox<A: Actor<Context = Context<A>>> {
    pub(crate) endpoint: Arc<Endpoint<A>>,
    pub(crate) inbox: Arc<Inbox<A>>,
    pub(crate) signals: Arc<ChildSignals>,
}

impl<A: Actor<Context = Context<A>>> Mailbox<A> {
    /// Answers pings and follows instructions; false when no message may be handled now.
    #[inline]
    fn may_handle(&self, ctx: &mut Context<A>) -> bool {
        if self.signals.is_pending() {
            match self.signals.take() {
                Instruction::None => {}
                Instruction::Started => self.endpoint.node.started(self.inbox.incarnation),
                Instruction::Stop => ctx.stop(),
                Instruction::Terminate => ctx.terminate(),
            }
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
        self.signals.register(task.waker());
        // tokio's budget for a task ends the loop after 128 messages, so that others have a turn.
        while self.may_handle(ctx) {
            match self.inbox.poll_next(task) {
                Poll::Ready(Some(message)) => message.deliver(actor, ctx),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Poll::Pending
    }
}

impl<A: Actor<Context = Context<A>>> Drop for Mailbox<A> {
    /// However the incarnation ends, its reference says so at that moment, not when the supervisor
    /// hears of it.
    fn drop(&mut self) {
        self.endpoint.vacate(self.inbox.incarnation);
    }
}
