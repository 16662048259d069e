//! Events of a machine, passed on to whoever has the machine at the moment.

use std::sync::Arc;

use parking_lot::Mutex;
use vm_engine::{MachineEvent, OnMachineEvent};

type Listener = Box<dyn Fn(MachineEvent) + Send>;

/// A machine is made in the pool and then given to a VM's actor; its events follow it. One that
/// came while nobody listened is kept for the next listener.
#[derive(Default)]
pub(crate) struct EventRelay(Mutex<RelayState>);

#[derive(Default)]
struct RelayState {
    listener: Option<Listener>,
    early: Option<MachineEvent>,
}

impl std::fmt::Debug for EventRelay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventRelay")
    }
}

impl EventRelay {
    /// A relay, and what the machine calls.
    pub(crate) fn new() -> (Arc<Self>, OnMachineEvent) {
        let relay = Arc::new(Self::default());
        let called = Arc::clone(&relay);
        (relay, Box::new(move |event| called.deliver(event)))
    }

    fn deliver(&self, event: MachineEvent) {
        let mut state = self.0.lock();
        match &state.listener {
            Some(listener) => listener(event),
            None => state.early = Some(event),
        }
    }

    /// Events go to `listener` from now on, one that waits at once.
    pub(crate) fn attach(&self, listener: impl Fn(MachineEvent) + Send + 'static) {
        let mut state = self.0.lock();
        if let Some(event) = state.early.take() {
            listener(event);
        }
        state.listener = Some(Box::new(listener));
    }

    /// Events wait for the next listener; whether one waits.
    pub(crate) fn detach(&self) {
        self.0.lock().listener = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vm_core::FailureReason;

    #[test]
    fn an_event_between_two_listeners_is_not_lost() {
        let (relay, machine) = EventRelay::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listen = |name: &'static str| {
            let seen = Arc::clone(&seen);
            move |_: MachineEvent| seen.lock().push(name)
        };
        let gone = || MachineEvent::Terminated {
            reason: FailureReason::ProcessGone,
            detail: String::new(),
        };
        relay.attach(listen("pool"));
        machine(gone());
        relay.detach();
        machine(gone());
        relay.attach(listen("vm"));
        assert_eq!(*seen.lock(), ["pool", "vm"]);
    }
}
