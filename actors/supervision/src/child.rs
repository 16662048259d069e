//! A child in its supervisor's hands: its phase, its failures, its current incarnation.

use std::{io, sync::Arc, time::Duration};

use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::oneshot;

use crate::{
    exit::Exit,
    monitor::{Command, Commands},
    plan::{ChildStatus, Phase},
    policy::{Decision, Restart, RestartHistory, RestartPolicy},
    spec::{ChildCell, Placement, StartedChild},
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
    current: Option<Current>,
    arbiter: Option<OwnArbiter>,
}

/// The current incarnation. Dropping it makes the monitor abort the incarnation.
struct Current {
    incarnation: u64,
    commands: Commands,
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
    pub(crate) fn start(&mut self, commands: Commands) -> io::Result<StartedChild> {
        let placement = self.cell.options().placement.clone();
        let started = match placement {
            Placement::Beside => self.cell.start(None),
            Placement::On(arbiter) => self.cell.start(Some(&arbiter)),
            Placement::Own => {
                let own = match self.arbiter.take() {
                    Some(own) => self.arbiter.insert(own),
                    None => self.arbiter.insert(OwnArbiter::new()?),
                };
                self.cell.start(Some(&own.0))
            }
        };
        let incarnation = started.incarnation;
        self.current = Some(Current {
            incarnation,
            commands,
        });
        self.status = ChildStatus {
            phase: Phase::Running,
            after_stop: None,
            ..self.status
        };
        Ok(started)
    }

    /// Tells the current incarnation to stop.
    pub(crate) fn stop(&mut self) {
        self.status.phase = Phase::Stopping;
        self.cell.node().stopping();
        if let Some(current) = &self.current {
            // A monitor that is gone has reported the end already; one that was told knows.
            let _ = current
                .commands
                .try_send(Command::Stop(self.cell.options().shutdown));
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
    pub(crate) fn decide(&mut self, default: RestartPolicy, now: Duration) -> Decision {
        self.history
            .decide(&self.cell.options().policy.unwrap_or(default), now)
    }

    pub(crate) fn back_off(&mut self, now: Duration, delay: Duration) {
        self.status.phase = Phase::BackingOff(now + delay);
        self.cell.node().backing_off(delay);
    }

    pub(crate) fn idle(&mut self) {
        self.status.phase = Phase::Idle;
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
