//! Which VMs are stuck: what `DELETE /vms/stuck` and the manager's own tick release.

use std::time::Duration;

use crate::{FailureReason, UnixMs, VmState};

/// What is known of a VM when it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmObservation {
    /// Where it is in its lifecycle.
    pub state: VmState,
    /// When it was started.
    pub started: UnixMs,
    /// When its lease ends; pool VMs have none.
    pub lease_until: Option<UnixMs>,
    /// When its agent was last heard.
    pub last_seen: UnixMs,
    /// Whether its process exists.
    pub process_alive: bool,
    /// Whether it is paused on purpose, as templates and pool clones are: it cannot answer.
    pub paused: bool,
}

/// How long silence is tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From the start of the process to the agent's hello.
    pub boot: Duration,
    /// Since the agent was last heard.
    pub silence: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            boot: Duration::from_secs(30),
            silence: Duration::from_secs(20),
        }
    }
}

/// Why the VM is to be released, or `None` when it is to be kept. A VM that is stopping or gone is
/// never stuck: its end is under way.
pub fn verdict(facts: &VmObservation, now: UnixMs, deadlines: Deadlines) -> Option<FailureReason> {
    match facts.state {
        VmState::Stopping | VmState::Gone => return None,
        // It broke and nobody has cleaned up behind it.
        VmState::Failed => return Some(FailureReason::ProcessGone),
        VmState::Starting | VmState::Ready | VmState::Busy => {}
    }
    if !facts.process_alive {
        return Some(FailureReason::ProcessGone);
    }
    if facts.lease_until.is_some_and(|until| now >= until) {
        return Some(FailureReason::LeaseOver);
    }
    if facts.paused {
        return None;
    }
    if facts.state == VmState::Starting {
        return (now.since(facts.started) >= deadlines.boot).then_some(FailureReason::BootDeadline);
    }
    (now.since(facts.last_seen) >= deadlines.silence).then_some(FailureReason::GuestSilent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        use FailureReason::{BootDeadline, GuestSilent, LeaseOver, ProcessGone};
        use VmState::{Busy, Failed, Gone, Ready, Starting, Stopping};
        // At 100 s; boot deadline 30 s, silence 20 s: state, started, lease, seen, alive, paused.
        let table = [
            (Starting, 80, None, 80, true, false, None),
            (Starting, 70, None, 70, true, false, Some(BootDeadline)),
            (Starting, 70, None, 70, true, true, None),
            (Ready, 0, Some(101), 90, true, false, None),
            (Ready, 0, Some(100), 99, true, false, Some(LeaseOver)),
            (Ready, 0, Some(200), 80, true, false, Some(GuestSilent)),
            (Ready, 0, None, 10, true, true, None),
            (Busy, 0, Some(200), 81, true, false, None),
            (Busy, 0, Some(200), 99, false, false, Some(ProcessGone)),
            (Failed, 0, Some(200), 99, true, false, Some(ProcessGone)),
            (Stopping, 0, Some(1), 1, true, false, None),
            (Gone, 0, Some(1), 1, false, false, None),
        ];
        for (state, started, lease, seen, process_alive, paused, wanted) in table {
            let facts = VmObservation {
                state,
                started: UnixMs(started * 1000),
                lease_until: lease.map(|second: u64| UnixMs(second * 1000)),
                last_seen: UnixMs(seen * 1000),
                process_alive,
                paused,
            };
            assert_eq!(
                verdict(&facts, UnixMs(100_000), Deadlines::default()),
                wanted,
                "{facts:?}"
            );
        }
    }

    #[test]
    fn a_clock_that_was_set_back_releases_nothing() {
        let facts = VmObservation {
            state: VmState::Busy,
            started: UnixMs(50_000),
            lease_until: Some(UnixMs(60_000)),
            last_seen: UnixMs(50_000),
            process_alive: true,
            paused: false,
        };
        assert_eq!(verdict(&facts, UnixMs(1), Deadlines::default()), None);
    }
}
