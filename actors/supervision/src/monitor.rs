//! The monitor of one life: awaits its join handle, pings it, stops it, and says how it ended.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_rt::time::{sleep, timeout};
use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    task::{JoinError, JoinHandle},
};

use crate::{
    Exit,
    exit::panic_text,
    life::{self, Vital},
    spec::Pings,
};

/// After an abort: how long its end is waited for. A task ends at its next await; one that blocks
/// its thread may never, and is given up.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// How a life's task ended by itself.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Without a reason.
    Normal,
    /// With a reason given by [`ChildContext::fail`](crate::ChildContext::fail).
    Failed(String),
    /// The factory failed, or the reason was given before the event loop turned.
    FailedToStart(String),
}

/// A supervisor's order to a monitor. When the sender is gone the life is aborted: a supervisor
/// that dies leaves no orphans.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Stop; after this time abort.
    Stop(Duration),
}

/// A life's task. Dropping it aborts the life.
pub(crate) enum Task {
    /// Spawned on this thread.
    Spawned(JoinHandle<Ending>),
    /// Being spawned on another arbiter, which sends the handle.
    Sent(oneshot::Receiver<JoinHandle<Ending>>),
}

/// What comes of awaiting a [`Task`]; `None` when its arbiter dropped it before it began.
type Joined = Option<Result<Ending, JoinError>>;

impl Task {
    fn abort(&mut self) {
        match self {
            Self::Spawned(handle) => handle.abort(),
            // Whoever is to send the handle sees that nobody takes it, and aborts.
            Self::Sent(take) => match take.try_recv() {
                Ok(handle) => {
                    handle.abort();
                    *self = Self::Spawned(handle);
                }
                Err(_) => take.close(),
            },
        }
    }
}

impl Future for Task {
    type Output = Joined;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Joined> {
        loop {
            match &mut *self {
                Self::Spawned(handle) => return Pin::new(handle).poll(cx).map(Some),
                Self::Sent(take) => match ready!(Pin::new(take).poll(cx)) {
                    Ok(handle) => *self = Self::Spawned(handle),
                    Err(_) => return Poll::Ready(None),
                },
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Watches one life until it ends or is given up.
pub(crate) struct Monitor {
    pub(crate) life: Arc<dyn Vital>,
    pub(crate) task: Task,
    pub(crate) pings: Option<Pings>,
    pub(crate) orders: UnboundedReceiver<Order>,
}

impl Monitor {
    /// The life's end.
    pub(crate) async fn watch(mut self) -> Exit {
        let mut missed = 0;
        loop {
            let interval = self.pings.map_or(Duration::MAX, Pings::safe_interval);
            tokio::select! {
                biased;
                joined = &mut self.task => return self.exit(joined),
                order = self.orders.recv() => return match order {
                    Some(Order::Stop(within)) => self.stop(within).await,
                    None => self.abort().await,
                },
                () = sleep(interval) => {
                    missed = if self.life.pulse().answered() { 0 } else { missed + 1 };
                    if self.pings.is_some_and(|pings| missed >= pings.misses) {
                        // Dropping the task aborts it, as far as that is possible.
                        self.life.pulse().give_up();
                        return Exit::Hung { missed };
                    }
                    life::ping(&*self.life);
                }
            }
        }
    }

    /// Orders the stop; aborts when the time is over or the supervisor dies meanwhile.
    async fn stop(mut self, within: Duration) -> Exit {
        life::stop(&*self.life);
        let joined = tokio::select! {
            biased;
            joined = timeout(within, &mut self.task) => joined.ok(),
            () = orders_closed(&mut self.orders) => None,
        };
        match joined {
            Some(joined) => self.exit(joined),
            None => self.abort().await,
        }
    }

    async fn abort(mut self) -> Exit {
        self.task.abort();
        match timeout(ABORT_GRACE, &mut self.task).await {
            // It may have ended by itself just before.
            Ok(joined) => self.exit(joined),
            Err(_) => {
                self.life.pulse().give_up();
                Exit::Aborted
            }
        }
    }

    fn exit(&self, joined: Joined) -> Exit {
        match joined {
            Some(Ok(Ending::Normal)) => Exit::Normal,
            Some(Ok(Ending::Failed(reason))) => Exit::Failed(reason),
            Some(Ok(Ending::FailedToStart(reason))) => Exit::FailedToStart(reason),
            Some(Err(error)) => match error.try_into_panic() {
                Ok(payload) if self.life.pulse().has_turned() => {
                    Exit::Panicked(panic_text(&*payload))
                }
                Ok(payload) => Exit::FailedToStart(panic_text(&*payload)),
                Err(_) => Exit::Aborted,
            },
            None => Exit::Aborted,
        }
    }
}

/// Further orders change nothing; only the supervisor's death does.
async fn orders_closed(orders: &mut UnboundedReceiver<Order>) {
    while orders.recv().await.is_some() {}
}
