//! Where messages to a child enter, over all its incarnations: the bounds and the present inbox.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix::{Actor, Context, Handler, Message, dev::OneshotSender};
use tokio::sync::{oneshot, watch};

use crate::{
    errors::TellError,
    inbox::{Envelope, Inbox, SendRefusal},
    tree::{Backlog as _, ChildNode},
};

/// What references to a child and its supervisor have in common.
pub(crate) struct Endpoint<A: Actor<Context = Context<A>>> {
    pub(crate) node: Arc<ChildNode>,
    /// The inbox of the incarnation that takes messages.
    inbox: watch::Sender<Option<Arc<Inbox<A>>>>,
    /// Questions that are not answered yet, of all incarnations.
    unanswered: AtomicUsize,
}

/// A question that is not answered yet; dropped with its answer, or when nobody waits any more.
pub(crate) struct UnansweredPermit<'a>(&'a AtomicUsize);

impl Drop for UnansweredPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<A: Actor<Context = Context<A>>> Endpoint<A> {
    pub(crate) fn new(node: Arc<ChildNode>) -> Self {
        Self {
            node,
            inbox: watch::Sender::new(None),
            unanswered: AtomicUsize::new(0),
        }
    }

    /// From now on messages are for this incarnation.
    pub(crate) fn occupy(&self, incarnation: u64) -> Arc<Inbox<A>> {
        let inbox = Arc::new(Inbox::new(incarnation, self.node.settings.capacity()));
        let previous = self.inbox.send_replace(Some(Arc::clone(&inbox)));
        if let Some(given_up) = previous {
            given_up.close();
        }
        inbox
    }

    /// This incarnation takes no messages any more; those that wait are dropped. Nothing happens
    /// when a later one has taken its place.
    pub(crate) fn vacate(&self, incarnation: u64) {
        let mut closed = None;
        self.inbox.send_if_modified(|inbox| {
            closed = inbox.take_if(|inbox| inbox.incarnation == incarnation);
            closed.is_some()
        });
        if let Some(inbox) = closed {
            inbox.close();
        }
    }

    /// Which incarnation takes messages; changes are seen by whoever subscribes.
    pub(crate) fn incarnation(&self) -> Option<u64> {
        self.inbox.borrow().as_ref().map(|inbox| inbox.incarnation)
    }

    /// Waits for an incarnation after this one, and says which.
    pub(crate) async fn incarnation_after(&self, incarnation: u64) -> u64 {
        let mut inbox = self.inbox.subscribe();
        let later = |now: &Option<Arc<Inbox<A>>>| {
            now.as_ref()
                .is_some_and(|now| now.incarnation > incarnation)
        };
        // The sender lives as long as `self`, so waiting cannot fail.
        let now = inbox.wait_for(later).await;
        now.map_or(0, |now| now.as_ref().map_or(0, |now| now.incarnation))
    }

    pub(crate) fn waiting(&self) -> usize {
        self.inbox
            .borrow()
            .as_ref()
            .map_or(0, |inbox| inbox.waiting())
    }

    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    pub(crate) fn tell<M>(&self, message: M) -> Result<(), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let inbox = self.open_inbox()?;
        self.push(&inbox, message, None)
    }

    /// The answer comes in the channel; the permit is held until somebody has it.
    pub(crate) fn ask<M>(
        &self,
        message: M,
    ) -> Result<(UnansweredPermit<'_>, oneshot::Receiver<M::Result>), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let inbox = self.open_inbox()?;
        let capacity = self.node.settings.capacity();
        let counted =
            self.unanswered
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |unanswered| {
                    (unanswered < capacity).then_some(unanswered + 1)
                });
        counted.map_err(|_| self.refused(SendRefusal::Full))?;
        let permit = UnansweredPermit(&self.unanswered);
        let (reply, answer) = oneshot::channel();
        self.push(&inbox, message, Some(reply))?;
        Ok((permit, answer))
    }

    fn open_inbox(&self) -> Result<Arc<Inbox<A>>, TellError> {
        let inbox = self.inbox.borrow().clone();
        inbox.ok_or_else(|| self.refused(SendRefusal::Closed))
    }

    fn push<M>(
        &self,
        inbox: &Inbox<A>,
        message: M,
        reply: Option<OneshotSender<M::Result>>,
    ) -> Result<(), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        if self.node.settings.capacity() == 0 {
            return Err(self.refused(SendRefusal::Full));
        }
        let pushed = inbox.push(Box::new(Envelope { message, reply }));
        pushed.map_err(|refusal| self.refused(refusal))
    }

    #[cold]
    fn refused(&self, refusal: SendRefusal) -> TellError {
        let actor = self.node.shared_name();
        match refusal {
            SendRefusal::Closed => TellError::Unavailable { actor },
            SendRefusal::Full => TellError::Full {
                actor,
                retry_after: self.node.settings.retry_after(),
            },
        }
    }
}
