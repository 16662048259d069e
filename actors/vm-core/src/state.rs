//! The life of a VM: states, and the table of what leads from one to the next.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a VM is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VmState {
    /// Its process starts, or its agent has not said hello yet.
    Starting,
    /// It can be given work.
    Ready,
    /// Something runs in it.
    Busy,
    /// It is being killed and its files removed.
    Stopping,
    /// Nothing of it is left. Terminal.
    Gone,
    /// It ended in a way nobody asked for; what is left of it must still be removed.
    Failed,
}

/// Where a VM came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It waited, booted, in the warm pool.
    Pool,
    /// It was cloned from a template on demand.
    Clone,
    /// It was booted from nothing.
    Cold,
}

/// Why a VM failed, or was released as stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// Its process could not be started.
    NotStarted,
    /// Its agent said nothing within the deadline for booting.
    BootDeadline,
    /// Its agent does not answer any more.
    GuestSilent,
    /// Its process has ended by itself or was killed by somebody else.
    ProcessGone,
    /// Its agent broke the rules of the protocol: what it sent is none, is out of turn, or it does
    /// not read what it is sent.
    BadProtocol,
    /// Its clock does not go as the host's does.
    ClockWrong,
    /// Its lease was not extended in time.
    LeaseOver,
    /// A former life of the manager left it behind.
    LeftBehind,
}

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

impl VmState {
    /// The state after `event`. Late events of a VM that ends or has ended change nothing.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the event cannot happen in this state.
    pub fn after(self, event: VmEvent) -> Result<Self, IllegalTransition> {
        use VmEvent as E;
        use VmState as S;
        Ok(match (self, event) {
            (S::Starting, E::AgentReady) | (S::Busy, E::WorkEnded) => S::Ready,
            (S::Ready, E::WorkStarted) => S::Busy,
            (S::Starting | S::Ready | S::Busy | S::Failed, E::StopAsked) => S::Stopping,
            (S::Starting | S::Ready | S::Busy, E::Broke) => S::Failed,
            (S::Stopping | S::Failed | S::Gone, E::CleanedUp) => S::Gone,
            // What is ending can still report what it did before it heard.
            (S::Stopping | S::Failed | S::Gone, E::AgentReady | E::WorkEnded | E::Broke) => self,
            (S::Stopping | S::Gone, E::StopAsked) => self,
            (state, event) => return Err(IllegalTransition { state, event }),
        })
    }

    /// Whether it holds memory and processors.
    pub fn is_alive(self) -> bool {
        matches!(
            self,
            Self::Starting | Self::Ready | Self::Busy | Self::Stopping
        )
    }

    /// Whether work can be given to it.
    pub fn takes_work(self) -> bool {
        matches!(self, Self::Ready | Self::Busy)
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
                let shown = state
                    .after(event)
                    .map_or_else(|_| "-".to_owned(), |next| format!("{next:?}"));
                assert_eq!(shown, cell, "{state:?} after {event:?}");
            }
        }
    }

    #[test]
    fn nothing_leads_out_of_gone_and_failed_leads_only_to_the_end() {
        for event in EVENTS {
            assert!(matches!(
                VmState::Gone.after(event),
                Ok(VmState::Gone) | Err(_)
            ));
            assert!(!matches!(
                VmState::Failed.after(event),
                Ok(VmState::Ready | VmState::Busy)
            ));
        }
        assert!(!VmState::Failed.is_alive() && VmState::Busy.takes_work());
    }
}
