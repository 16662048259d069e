//! The monitor of one incarnation: awaits its join handle, pings it, stops it, and says how it
//! ended.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_rt::time::{sleep, timeout};
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinError, JoinHandle},
};

use crate::{
    exit::{Exit, TaskEnd, panic_text},
    pings::Pings,
    signals::ChildSignals,
};

/// After an abort: how long its end is waited for. A task ends at its next await; one that blocks
/// its thread may never, and is given up.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// A supervisor's command to a monitor. When the sender is gone the incarnation is aborted: a
/// supervisor that dies leaves no orphans.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MonitorCommand {
    /// Stop; after this time abort.
    Stop(Duration),
}

/// The supervisor's end of the line to a monitor.
pub(crate) type MonitorCommands = mpsc::Sender<MonitorCommand>;

/// A line to a monitor. It has room for one command: those after the first change nothing.
pub(crate) fn commands() -> (MonitorCommands, mpsc::Receiver<MonitorCommand>) {
    mpsc::channel(1)
}

/// An incarnation's task. Dropping it aborts the incarnation.
pub(crate) enum Task {
    /// Spawned on this thread.
    Spawned(JoinHandle<TaskEnd>),
    /// Being spawned on another arbiter, which sends the handle.
    Sent(oneshot::Receiver<JoinHandle<TaskEnd>>),
}

/// What comes of awaiting a [`Task`]; `None` when its arbiter dropped it before it began.
type JoinedThread = Option<Result<TaskEnd, JoinError>>;

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
    type Output = JoinedThread;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<JoinedThread> {
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

/// Watches one incarnation until it ends or is given up.
pub(crate) struct IncarnationMonitor {
    pub(crate) signals: Arc<ChildSignals>,
    pub(crate) task: Task,
    pub(crate) pings: Option<Pings>,
    pub(crate) commands: mpsc::Receiver<MonitorCommand>,
}

impl IncarnationMonitor {
    /// The incarnation's end.
    pub(crate) async fn watch(mut self) -> Exit {
        let mut missed = 0;
        loop {
            let interval = self.pings.map_or(Duration::MAX, Pings::safe_interval);
            tokio::select! {
                biased;
                joined = &mut self.task => return self.exit(joined),
                command = self.commands.recv() => return match command {
                    Some(MonitorCommand::Stop(within)) => self.stop(within).await,
                    None => self.abort().await,
                },
                () = sleep(interval) => {
                    missed = if self.signals.answered() { 0 } else { missed + 1 };
                    if self.pings.is_some_and(|pings| missed >= pings.misses) {
                        // Dropping the task aborts it, as far as that is possible.
                        self.signals.abandon();
                        return Exit::Hung { missed };
                    }
                    self.signals.ping();
                }
            }
        }
    }

    /// Stops it; aborts when the time is over or the supervisor dies meanwhile.
    async fn stop(mut self, within: Duration) -> Exit {
        self.signals.stop();
        let joined = tokio::select! {
            biased;
            joined = timeout(within, &mut self.task) => joined.ok(),
            () = supervisor_gone(&mut self.commands) => None,
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
                self.signals.abandon();
                Exit::Aborted
            }
        }
    }

    fn exit(&self, joined: JoinedThread) -> Exit {
        match joined {
            Some(Ok(TaskEnd::Normal)) => Exit::Normal,
            Some(Ok(TaskEnd::Failed(reason))) => Exit::Failed(reason),
            Some(Ok(TaskEnd::FailedToStart(reason))) => Exit::FailedToStart(reason),
            Some(Err(error)) => match error.try_into_panic() {
                Ok(payload) if self.signals.has_started() => Exit::Panicked(panic_text(&*payload)),
                Ok(payload) => Exit::FailedToStart(panic_text(&*payload)),
                Err(_) => Exit::Aborted,
            },
            None => Exit::Aborted,
        }
    }
}

/// Further commands change nothing; only the supervisor's death does.
async fn supervisor_gone(commands: &mut mpsc::Receiver<MonitorCommand>) {
    while commands.recv().await.is_some() {}
}
