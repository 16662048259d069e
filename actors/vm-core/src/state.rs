//! The lifecycle of a VM: the table of what leads from one state to the next.

use vmm_api_core::VmState;

/// What happens to a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VmEvent {
    /// The agent said hello.
    AgentReady,
    /// The first of the things running in it was started.
    WorkStarted,
    /// The last of the things running in it has ended.
    WorkEnded,
    /// Somebody wants it gone.
    StopAsked,
    /// Its process, its sockets and its folder are gone.
    CleanedUp,
    /// It broke.
    Broke,
}

/// An event that cannot happen in this state: a bug of the caller, not of the outside world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a VM that is {state:?} cannot take {event:?}")]
pub struct IllegalTransition {
    /// Where it was.
    pub state: VmState,
    /// What was said to have happened.
    pub event: VmEvent,
}

impl VmEvent {
    /// The state that this leads to. Late events of a VM that ends or has ended change nothing.
    ///
    /// # Errors
    /// [`IllegalTransition`] when it cannot happen in this state.
    pub fn apply_to(self, state: VmState) -> Result<VmState, IllegalTransition> {
        use VmEvent as E;
        use VmState as S;
        Ok(match (state, self) {
            (S::Starting, E::AgentReady) | (S::Busy, E::WorkEnded) => S::Ready,
            (S::Ready, E::WorkStarted) => S::Busy,
            (S::Starting | S::Ready | S::Busy | S::Failed, E::StopAsked) => S::Stopping,
            (S::Starting | S::Ready | S::Busy, E::Broke) => S::Failed,
            (S::Stopping | S::Failed | S::Gone, E::CleanedUp) => S::Gone,
            // What is ending can still report what it did before it heard.
            (S::Stopping | S::Failed | S::Gone, E::AgentReady | E::WorkEnded | E::Broke) => state,
            (S::Stopping | S::Gone, E::StopAsked) => state,
            (state, event) => return Err(IllegalTransition { state, event }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [VmState; 6] = [
        VmState::Starting,
        VmState::Ready,
        VmState::Busy,
        VmState::Stopping,
        VmState::Gone,
        VmState::Failed,
    ];
    const EVENTS: [VmEvent; 6] = [
        VmEvent::AgentReady,
        VmEvent::WorkStarted,
        VmEvent::WorkEnded,
        VmEvent::StopAsked,
        VmEvent::CleanedUp,
        VmEvent::Broke,
    ];

    /// A row a state, a column an event, `-` for what cannot happen.
    const TABLE: &str = "\
        Starting Ready    -    -     Stopping -    Failed
        Ready    -        Busy -     Stopping -    Failed
        Busy     -        -    Ready Stopping -    Failed
        Stopping Stopping -    Stopping Stopping Gone Stopping
        Gone     Gone     -    Gone  Gone     Gone Gone
        Failed   Failed   -    Failed Stopping Gone Failed";

    #[test]
    fn every_state_and_event() {
        for (state, row) in STATES.into_iter().zip(TABLE.lines()) {
            let mut cells = row.split_whitespace();
            assert_eq!(cells.next(), Some(format!("{state:?}").as_str()));
            for (event, cell) in EVENTS.into_iter().zip(cells) {
                let shown = event
                    .apply_to(state)
                    .map_or_else(|_| "-".to_owned(), |next| format!("{next:?}"));
                assert_eq!(shown, cell, "{state:?} after {event:?}");
            }
        }
    }

    #[test]
    fn nothing_leads_out_of_gone_and_failed_leads_only_to_the_end() {
        for event in EVENTS {
            assert!(matches!(
                event.apply_to(VmState::Gone),
                Ok(VmState::Gone) | Err(_)
            ));
            assert!(!matches!(
                event.apply_to(VmState::Failed),
                Ok(VmState::Ready | VmState::Busy)
            ));
        }
        assert!(!VmState::Failed.is_alive() && VmState::Busy.takes_work());
    }
}
