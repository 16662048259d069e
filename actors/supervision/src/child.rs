//! A child in its supervisor's hands: its phase, its failures, its present life.

use std::{io, sync::Arc, time::Duration};

use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::{
    ActorState, Exit, Restart, RestartPolicy,
    monitor::Order,
    plan::{Phase, Slot},
    policy::{Decision, RestartHistory},
    spec::{ChildCell, Placement, Started},
};

/// A child of a supervisor, over all its lives.
pub(crate) struct Child {
    /// Names the child in messages from its monitors; never used again.
    pub(crate) key: u64,
    pub(crate) cell: Arc<dyn ChildCell>,
    pub(crate) slot: Slot,
    pub(crate) history: RestartHistory,
    /// Told when the child is down for good.
    pub(crate) when_down: Vec<oneshot::Sender<()>>,
    life: Option<Present>,
    arbiter: Option<OwnArbiter>,
}

/// The present life. Dropping it makes the monitor abort the life.
struct Present {
    incarnation: u64,
    orders: UnboundedSender<Order>,
}

impl Child {
    pub(crate) fn new(key: u64, cell: Arc<dyn ChildCell>, dynamic: bool) -> Self {
        Self {
            key,
            cell,
            slot: Slot::new(dynamic),
            history: RestartHistory::default(),
            when_down: Vec::new(),
            life: None,
            arbiter: None,
        }
    }

    pub(crate) fn runs(&self, key: u64, incarnation: u64) -> bool {
        self.key == key
            && self
                .life
                .as_ref()
                .is_some_and(|life| life.incarnation == incarnation)
    }

    pub(crate) fn restart(&self) -> Restart {
        self.cell.facts().restart
    }

    /// Makes a life where the spec wants it; fails when no thread can be started for it.
    pub(crate) fn start(&mut self, orders: UnboundedSender<Order>) -> io::Result<Started> {
        let placement = self.cell.facts().placement.clone();
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
        self.life = Some(Present {
            incarnation,
            orders,
        });
        self.slot = Slot {
            phase: Phase::Up,
            fate: None,
            ..self.slot
        };
        Ok(started)
    }

    /// Orders the present life to stop.
    pub(crate) fn order_stop(&mut self) {
        self.slot.phase = Phase::Stopping;
        self.cell.node().stopping();
        if let Some(life) = &self.life {
            // A monitor that is gone has sent the life's end already.
            let _ = life.orders.send(Order::Stop(self.cell.facts().shutdown));
        }
    }

    /// The present life is over.
    pub(crate) fn exited(&mut self, exit: &Exit) {
        if let Some(life) = self.life.take() {
            self.cell.vacate(life.incarnation);
            self.cell.node().exited(life.incarnation, exit);
        }
        // Its thread may be blocked for ever: the next life gets another one.
        if matches!(exit, Exit::Hung { .. } | Exit::Aborted) {
            self.arbiter = None;
        }
    }

    /// Counts the failure.
    pub(crate) fn decide(&mut self, default: RestartPolicy, now: Duration) -> Decision {
        self.history
            .decide(&self.cell.facts().policy.unwrap_or(default), now)
    }

    pub(crate) fn back_off(&mut self, now: Duration, delay: Duration) {
        self.slot.phase = Phase::BackingOff(now + delay);
        self.cell.node().backing_off(delay);
    }

    pub(crate) fn idle(&mut self) {
        self.slot.phase = Phase::Idle;
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
