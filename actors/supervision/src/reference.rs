//! References to children: what peers hold instead of an address.

use std::{future::Future, sync::Arc, time::Duration};

use actix::{Actor, Context, Handler, Message};
use tokio::time::timeout;

use crate::{
    endpoint::Endpoint,
    errors::{AskError, TellError},
    settings::millis,
};

/// A reference to a supervised child: stays good across its incarnations.
///
/// Two bounds hold, both [`capacity`](Self::capacity): the messages that wait in the mailbox, and
/// the questions that are not answered yet (waiting or in work, so that handlers which reply later
/// are bounded too). Cheap to clone; `Send` and `Sync`.
pub struct ChildRef<A: Actor<Context = Context<A>>> {
    endpoint: Arc<Endpoint<A>>,
}

impl<A: Actor<Context = Context<A>>> Clone for ChildRef<A> {
    fn clone(&self) -> Self {
        Self {
            endpoint: Arc::clone(&self.endpoint),
        }
    }
}

impl<A: Actor<Context = Context<A>>> std::fmt::Debug for ChildRef<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildRef")
            .field("id", &self.id())
            .field("incarnation", &self.incarnation())
            .finish_non_exhaustive()
    }
}

impl<A: Actor<Context = Context<A>>> ChildRef<A> {
    pub(crate) fn new(endpoint: Arc<Endpoint<A>>) -> Self {
        Self { endpoint }
    }

    /// The child's id.
    pub fn id(&self) -> &str {
        self.endpoint.node.name()
    }

    /// Asks; the answer is waited for as long as the child's spec says
    /// ([`ChildSpec::ask_timeout`](crate::ChildSpec::ask_timeout)).
    ///
    /// The question is sent by this call, before the answer is awaited; dropping what is returned
    /// takes it back when it was not begun.
    ///
    /// # Errors
    /// [`AskError`] says whether the message may have been handled.
    pub fn ask<M>(
        &self,
        message: M,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<'_, A, M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.ask_within(message, self.endpoint.node.settings.ask_timeout())
    }

    /// Asks, with a timeout of one's own, counted from the first poll and never early.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_within<M>(
        &self,
        message: M,
        within: Duration,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<'_, A, M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let asked = self.endpoint.ask(message);
        async move {
            let (_permit, answer) = asked?;
            let after = Duration::from_millis(millis(within));
            let actor = || self.endpoint.node.shared_name();
            match timeout(after, answer).await {
                Ok(Ok(reply)) => Ok(reply),
                Ok(Err(_)) => Err(AskError::NoReply { actor: actor() }),
                Err(_) => Err(AskError::TimedOut {
                    actor: actor(),
                    after,
                }),
            }
        }
    }

    /// Sends without waiting for a reply. `Ok` means: it is in the mailbox of a running
    /// incarnation, which a crash empties; what must not be lost is written down first.
    ///
    /// # Errors
    /// [`TellError`]: the message was not accepted.
    pub fn tell<M>(&self, message: M) -> Result<(), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.endpoint.tell(message)
    }

    /// Waits until the child runs; returns at once when it does. Pending for ever when it never
    /// runs again, so put a timeout around it.
    pub async fn ready(&self) {
        self.ready_after(0).await;
    }

    /// Waits until the child runs, at most so long, and says whether it does. For a server that is
    /// about to take requests: the first ones should not meet a child that is still coming up.
    pub async fn ready_within(&self, within: Duration) -> bool {
        timeout(within, self.ready()).await.is_ok()
    }

    /// Waits until an incarnation after `incarnation` runs, and says which.
    pub async fn ready_after(&self, incarnation: u64) -> u64 {
        self.endpoint.incarnation_after(incarnation).await
    }

    /// Which incarnation runs now, counted from 1; `None` while it is restarting.
    pub fn incarnation(&self) -> Option<u64> {
        self.endpoint.incarnation()
    }

    /// Whether it runs, as a condition of a server's readiness; the error says why not.
    pub fn condition(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<A> {
        let child = self.clone();
        move || match child.incarnation() {
            Some(_) => Ok(()),
            None => Err("is being restarted".to_owned()),
        }
    }

    /// Messages that wait in the mailbox now.
    pub fn waiting(&self) -> usize {
        self.endpoint.waiting()
    }

    /// Questions that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.endpoint.unanswered()
    }

    /// Permits: the bound on [`waiting`](Self::waiting) and on [`unanswered`](Self::unanswered).
    pub fn capacity(&self) -> usize {
        self.endpoint.node.settings.capacity()
    }
}
