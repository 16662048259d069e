//! References to children: what peers hold instead of an address.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context as Task, Poll, ready},
    time::Duration,
};

use actix::{Actor, Context, Handler, Message, dev::OneshotSender};
use tokio::sync::{oneshot, watch};

use crate::{
    deadline::{self, Elapsed, Within},
    mailbox::Parcel,
    queue::{Queue, Refusal},
    tree::Node,
};

/// Why a message was not accepted; it was not and will not be handled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TellError {
    /// The child is between two lives, parked, or gone.
    #[error("{actor} is not running")]
    Unavailable {
        /// The child's id.
        actor: Arc<str>,
    },
    /// Every permit is out.
    #[error("{actor} is full, try again in {retry_after:?}")]
    Full {
        /// The child's id.
        actor: Arc<str>,
        /// When to try again, for `Retry-After`.
        retry_after: Duration,
    },
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The child is between two lives, parked, or gone; the message was not and will not be
    /// handled.
    #[error("{actor} is not running")]
    Unavailable {
        /// The child's id.
        actor: Arc<str>,
    },
    /// Every permit is out; the message was not and will not be handled.
    #[error("{actor} is full, try again in {retry_after:?}")]
    Full {
        /// The child's id.
        actor: Arc<str>,
        /// When to try again, for `Retry-After`.
        retry_after: Duration,
    },
    /// No reply in time. If the handler has not begun it never will; if it has, its effects may
    /// still happen.
    #[error("{actor} did not reply within {after:?}")]
    TimedOut {
        /// The child's id.
        actor: Arc<str>,
        /// The timeout.
        after: Duration,
    },
    /// The child ended (or dropped the reply) after it accepted the message: whether it was
    /// handled is unknown.
    #[error("{actor} ended before it replied")]
    NoReply {
        /// The child's id.
        actor: Arc<str>,
    },
}

impl From<TellError> for AskError {
    fn from(error: TellError) -> Self {
        match error {
            TellError::Unavailable { actor } => Self::Unavailable { actor },
            TellError::Full { actor, retry_after } => Self::Full { actor, retry_after },
        }
    }
}

/// A reference to a supervised child: stays good across its lives.
///
/// Two bounds hold, both [`capacity`](Self::capacity): the messages that wait in the mailbox, and
/// the questions that are not answered yet (waiting or in work, so that handlers which reply later
/// are bounded too). Cheap to clone; `Send` and `Sync`.
pub struct ChildRef<A: Actor<Context = Context<A>>> {
    shared: Arc<Shared<A>>,
}

impl<A: Actor<Context = Context<A>>> Clone for ChildRef<A> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
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
    pub(crate) fn new(shared: Arc<Shared<A>>) -> Self {
        Self { shared }
    }

    /// The child's id.
    pub fn id(&self) -> &str {
        self.shared.node.name()
    }

    /// Asks; the answer is waited for as long as the child's spec says
    /// ([`ChildSpec::ask_timeout`](crate::ChildSpec::ask_timeout)).
    ///
    /// The question is sent by this call, before the answer is awaited; dropping what is returned
    /// takes it back when it was not begun.
    ///
    /// # Errors
    /// [`AskError`] says whether the message may have been handled.
    pub fn ask<M>(&self, message: M) -> Ask<'_, M::Result>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.question(
            message,
            self.shared
                .node
                .settings
                .ask_timeout_ms
                .load(Ordering::Relaxed),
        )
    }

    /// Asks, with a timeout of one's own, counted from the first poll. It is kept to about 20 ms
    /// and never early.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_within<M>(&self, message: M, timeout: Duration) -> Ask<'_, M::Result>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.question(message, millis(timeout))
    }

    fn question<M>(&self, message: M, timeout_ms: u64) -> Ask<'_, M::Result>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let shared = &*self.shared;
        let (reply, answer) = oneshot::channel();
        let state = match shared.post(message, Some(reply)) {
            Ok(()) => Asking::Waiting(Question {
                answered: shared.queue.answered(),
                answer: deadline::within(timeout_ms, answer),
            }),
            Err(refused) => Asking::Refused(refused),
        };
        Ask {
            node: &shared.node,
            timeout_ms,
            state,
        }
    }

    /// Sends without waiting for a reply. `Ok` means: it is in the mailbox of a running life,
    /// which a crash empties; what must not be lost is written down first.
    ///
    /// # Errors
    /// [`TellError`]: the message was not accepted.
    pub fn tell<M>(&self, message: M) -> Result<(), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.shared.post(message, None)
    }

    /// Waits until the child runs; returns at once when it does. Pending for ever when it never
    /// runs again, so put a timeout around it.
    pub async fn ready(&self) {
        let mut running = self.shared.running.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = running.wait_for(|incarnation| *incarnation != 0).await;
    }

    /// Waits at most `patience` until the child runs, and says whether it does. For a server that is
    /// about to take requests: the first ones should not meet a child that is still coming up.
    pub async fn ready_within(&self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.ready()).await.is_ok()
    }

    /// Waits until a life after `incarnation` runs, and says which.
    pub async fn ready_after(&self, incarnation: u64) -> u64 {
        let mut running = self.shared.running.subscribe();
        running
            .wait_for(|now| *now > incarnation)
            .await
            .map_or(0, |now| *now)
    }

    /// Which life runs now, counted from 1; `None` between two lives.
    pub fn incarnation(&self) -> Option<u64> {
        Some(*self.shared.running.borrow()).filter(|incarnation| *incarnation != 0)
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
        self.shared.queue.waiting()
    }

    /// Questions that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.shared.queue.unanswered()
    }

    /// Permits: the bound on [`waiting`](Self::waiting) and on [`unanswered`](Self::unanswered).
    pub fn capacity(&self) -> usize {
        self.shared.node.settings.capacity()
    }
}

/// What a spec sets and references read with each message. Atomics, because a reference may be
/// given out before the spec is complete.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) capacity: AtomicUsize,
    pub(crate) ask_timeout_ms: AtomicU64,
    pub(crate) retry_after_ms: AtomicU64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            capacity: AtomicUsize::new(64),
            ask_timeout_ms: AtomicU64::new(5_000),
            retry_after_ms: AtomicU64::new(1_000),
        }
    }
}

impl Settings {
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }
}

/// At least as long as `duration`, so that a timeout is never early.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// What all references to a child and its supervisor share.
pub(crate) struct Shared<A: Actor<Context = Context<A>>> {
    pub(crate) node: Arc<Node>,
    pub(crate) queue: Queue<A>,
    /// The incarnation of the life that takes messages, 0 for none.
    running: watch::Sender<u64>,
}

impl<A: Actor<Context = Context<A>>> Shared<A> {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self {
            node,
            queue: Queue::new(),
            running: watch::Sender::new(0),
        }
    }

    /// Gives the child's reference to this life.
    pub(crate) fn occupy(&self, incarnation: u64) {
        self.queue.open(incarnation);
        self.running.send_replace(incarnation);
    }

    /// Takes the reference from this life; nothing happens when a later one has it already.
    pub(crate) fn vacate(&self, incarnation: u64) {
        self.queue.close(incarnation);
        self.running.send_if_modified(|running| {
            let current = *running == incarnation;
            if current {
                *running = 0;
            }
            current
        });
    }

    /// Takes a permit and puts the message into the mailbox.
    fn post<M>(&self, message: M, reply: Option<OneshotSender<M::Result>>) -> Result<(), TellError>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let asks = reply.is_some();
        let parcel = Box::new(Parcel { message, reply });
        let posted = self.queue.post(parcel, asks, self.node.settings.capacity());
        posted.map_err(|refusal| self.refused(refusal))
    }

    #[cold]
    fn refused(&self, refusal: Refusal) -> TellError {
        let actor = self.node.shared_name();
        match refusal {
            Refusal::Closed => TellError::Unavailable { actor },
            Refusal::Full => {
                let retry_after = self.node.settings.retry_after_ms.load(Ordering::Relaxed);
                TellError::Full {
                    actor,
                    retry_after: Duration::from_millis(retry_after),
                }
            }
        }
    }
}

/// A question on its way; awaiting it gives the answer. See [`ChildRef::ask`].
#[must_use = "a question that is dropped is taken back"]
pub struct Ask<'a, R> {
    node: &'a Node,
    timeout_ms: u64,
    state: Asking<'a, R>,
}

enum Asking<'a, R> {
    Waiting(Question<'a, R>),
    Refused(TellError),
    Over,
}

/// A question that is not answered yet; dropped with its answer, or when nobody waits any more.
struct Question<'a, R> {
    answered: &'a AtomicUsize,
    answer: Within<oneshot::Receiver<R>>,
}

impl<R> Drop for Question<'_, R> {
    fn drop(&mut self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

impl<R> Future for Ask<'_, R> {
    type Output = Result<R, AskError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Asking::Waiting(question) = &mut this.state {
            let answer = ready!(Pin::new(&mut question.answer).poll(task));
            this.state = Asking::Over;
            return Poll::Ready(match answer {
                Ok(Ok(reply)) => Ok(reply),
                Ok(Err(_)) => Err(AskError::NoReply {
                    actor: this.node.shared_name(),
                }),
                Err(Elapsed) => Err(AskError::TimedOut {
                    actor: this.node.shared_name(),
                    after: Duration::from_millis(this.timeout_ms),
                }),
            });
        }
        match mem::replace(&mut this.state, Asking::Over) {
            Asking::Refused(refused) => Poll::Ready(Err(refused.into())),
            // As with any future that is polled after its end.
            _ => panic!("an answer was awaited twice"),
        }
    }
}

impl<R> std::fmt::Debug for Ask<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask")
            .field("of", &self.node.name())
            .finish_non_exhaustive()
    }
}
