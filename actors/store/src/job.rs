//! A request on its way through the writer: the work, then its result, then the answer.

use crate::error::StoreError;
use crate::write::WriteTxn;
use tokio::sync::oneshot;

/// A request, whatever its types.
pub(crate) trait WriteJob: Send {
    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
    /// Does the work within the group's transaction; keeps the result for later.
    fn run(&mut self, txn: &mut WriteTxn<'_>);
    /// Answers, once the group's outcome is known.
    fn finish(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// Where an answer goes.
#[derive(Debug)]
pub(crate) enum ReplySender<A> {
    /// To a future.
    Future(oneshot::Sender<A>),
    /// To a blocked thread. (A oneshot's blocking receive panics on a runtime's thread.)
    Thread(crossbeam_channel::Sender<A>),
}

impl<A> ReplySender<A> {
    pub(crate) fn send(self, answer: A) {
        // Nobody waiting is no failure: they went away.
        match self {
            Self::Future(to) => drop(to.send(answer)),
            Self::Thread(to) => drop(to.send(answer)),
        }
    }

    fn is_abandoned(&self) -> bool {
        match self {
            Self::Future(to) => to.is_closed(),
            Self::Thread(_) => false,
        }
    }
}

/// A request with its types.
pub(crate) struct WriteJobRequest<F, T, E> {
    work: Option<F>,
    result: Option<Result<T, E>>,
    reply: ReplySender<Result<T, E>>,
}

impl<F, T, E> WriteJobRequest<F, T, E> {
    pub(crate) fn new(work: F, reply: ReplySender<Result<T, E>>) -> Self {
        Self {
            work: Some(work),
            result: None,
            reply,
        }
    }
}

impl<F, T, E> WriteJob for WriteJobRequest<F, T, E>
where
    F: FnOnce(&mut WriteTxn<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    fn run(&mut self, txn: &mut WriteTxn<'_>) {
        self.result = self.work.take().map(|work| txn.scope(work));
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        // A refusal of the request's own, too, is answered only if the group was committed: it
        // may rest on rows of the group ("this delivery is known already").
        let answer = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(StoreError::Closed.into()),
            (Err(error), _) => Err(error.into()),
        };
        self.reply.send(answer);
    }
}
