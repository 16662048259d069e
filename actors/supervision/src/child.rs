//! A child in its supervisor's hands: its phase, its failures, its current incarnation.

use std::{io, sync::Arc, time::Duration};

use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::oneshot;

use crate::{
    exit::Exit,
    monitor::{MonitorCommand, MonitorCommands},
    plan::{ChildPhase, ChildStatus},
    policy::{Restart, RestartDecision, RestartHistory, RestartPolicy},
    spec::{ChildCell, StartedChild, ThreadPlacement},
    tree::ActorState,
};

/// A child of a supervisor, over all its incarnations.
pub(crate) struct Child {
    /// Names the child in messages from its monitors; never used again.
    pub(crate) key: u64,
    pub(crate) cell: Arc<dyn ChildCell>,
    pub(crate) status: ChildStatus,
    pub(crate) history: RestartHistory,
    /// Told when the child is down for good.
    pub(crate) when_down: Vec<oneshot::Sender<()>>,
    current: Option<CurrentIncarnation>,
    arbiter: Option<OwnArbiter>,
}

/// The current incarnation. Dropping it makes the monitor abort the incarnation.
struct CurrentIncarnation {
    incarnation: u64,
    commands: MonitorCommands,
}

impl Child {
    pub(crate) fn new(key: u64, cell: Arc<dyn ChildCell>, dynamic: bool) -> Self {
        Self {
            key,
            cell,
            status: ChildStatus::new(dynamic),
            history: RestartHistory::default(),
            when_down: Vec::new(),
            current: None,
            arbiter: None,
        }
    }

    pub(crate) fn runs(&self, key: u64, incarnation: u64) -> bool {
        self.key == key
            && self
                .current
                .as_ref()
                .is_some_and(|current| current.incarnation == incarnation)
    }

    pub(crate) fn restart(&self) -> Restart {
        self.cell.options().restart
    }

    /// Makes an incarnation where the spec wants it; fails when no thread can be started for it.
    pub(crate) fn start(&mut self, commands: MonitorCommands) -> io::Result<StartedChild> {
        let placement = self.cell.options().placement.clone();
        let started = match placement {
            ThreadPlacement::Beside => self.cell.start(None),
            ThreadPlacement::On(arbiter) => self.cell.start(Some(&arbiter)),
            ThreadPlacement::Own => {
                let own = match self.arbiter.take() {
                    Some(own) => self.arbiter.insert(own),
                    None => self.arbiter.insert(OwnArbiter::new()?),
                };
                self.cell.start(Some(&own.0))
            }
        };
        let incarnation = started.incarnation;
        self.current = Some(CurrentIncarnation {
            incarnation,
            commands,
        });
        self.status = ChildStatus {
            phase: ChildPhase::Running,
            after_stop: None,
            ..self.status
        };
        Ok(started)
    }

    /// Tells the current incarnation to stop.
    pub(crate) fn stop(&mut self) {
        self.status.phase = ChildPhase::Stopping;
        self.cell.node().stopping();
        if let Some(current) = &self.current {
            // A monitor that is gone has reported the end already; one that was told knows.
            let _ = current
                .commands
                .try_send(MonitorCommand::Stop(self.cell.options().shutdown));
        }
    }

    /// The current incarnation has ended.
    pub(crate) fn record_exit(&mut self, exit: &Exit) {
        if let Some(current) = self.current.take() {
            self.cell.vacate(current.incarnation);
            self.cell.node().record_exit(current.incarnation, exit);
        }
        // Its thread may be blocked for ever: the next incarnation gets another one.
        if matches!(exit, Exit::Hung { .. } | Exit::Aborted) {
            self.arbiter = None;
        }
    }

    /// Counts the failure.
    pub(crate) fn decide(&mut self, default: RestartPolicy, now: Duration) -> RestartDecision {
        self.history
            .decide(&self.cell.options().policy.unwrap_or(default), now)
    }

    pub(crate) fn back_off(&mut self, now: Duration, delay: Duration) {
        self.status.phase = ChildPhase::BackingOff(now + delay);
        self.cell.node().backing_off(delay);
    }

    pub(crate) fn idle(&mut self) {
        self.status.phase = ChildPhase::Idle;
        self.cell.node().set_state(ActorState::Idle);
    }

    /// Lets go of what only a running child needs, and tells those who waited for its end.
    pub(crate) fn release(&mut self) {
        self.arbiter = None;
        for waiting in self.when_down.drain(..) {
            // Who no longer waits need not know.
            let _ = waiting.send(());
        }
    }
}

/// A thread for one child; it ends with its owner, or as soon as nothing blocks it.
struct OwnArbiter(ArbiterHandle);

impl OwnArbiter {
    fn new() -> io::Result<Self> {
        Arbiter::try_new().map(|arbiter| Self(arbiter.handle()))
    }
}

impl Drop for OwnArbiter {
    fn drop(&mut self) {
        // False when the thread has ended already.
        let _ = self.0.stop();
    }
}
