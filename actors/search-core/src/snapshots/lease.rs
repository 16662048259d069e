//! Who may publish: the one whose epoch is in the pointer. A holder that writes nothing for a while
//! is taken over; what it writes later is refused, as the pointer it knew is not there any more.
//!
//! No clocks are compared: each process measures by its own how long the pointer has not changed.

use std::time::Duration;

use super::manifest::SnapshotPointer;

/// How often a holder writes the pointer though nothing is published.
pub const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// A pointer that has not changed for this time has no holder any more.
pub const LEASE_TIMEOUT: Duration = Duration::from_secs(6);

/// What a pointer says of its holder, for one who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderState {
    /// Nobody has it: there is none yet, or the last one gave it back.
    Free,
    /// Somebody has it, as far as is known.
    Held,
    /// Its holder has not been heard of for too long.
    Silent,
}

/// Watches a pointer that another one holds.
#[derive(Debug, Default)]
pub struct LeaseWatch {
    /// The pointer as it was seen last, and when it was first seen so.
    seen: Option<(u64, u64, Duration)>,
}

impl LeaseWatch {
    /// The pointer was read at `now`, by a clock that only goes forward.
    pub fn observe(&mut self, pointer: Option<&SnapshotPointer>, now: Duration) -> HolderState {
        let Some(pointer) = pointer.filter(|pointer| !pointer.owner.is_empty()) else {
            self.seen = None;
            return HolderState::Free;
        };
        let (epoch, beat) = (pointer.epoch, pointer.beat);
        match self.seen {
            Some((e, b, since)) if (e, b) == (epoch, beat) => {
                if now.saturating_sub(since) >= LEASE_TIMEOUT {
                    HolderState::Silent
                } else {
                    HolderState::Held
                }
            }
            _ => {
                self.seen = Some((epoch, beat, now));
                HolderState::Held
            }
        }
    }

    /// The storage did not answer: its holder could not write either, so its time begins anew.
    pub fn record_unreachable(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(epoch: u64, beat: u64) -> SnapshotPointer {
        SnapshotPointer {
            owner: "a".to_owned(),
            epoch,
            beat,
            ..SnapshotPointer::default()
        }
    }

    #[test]
    fn i18_a_silent_holder_is_taken_over_and_a_heard_one_never() {
        let mut watch = LeaseWatch::default();
        let at = Duration::from_secs;
        assert_eq!(watch.observe(None, at(0)), HolderState::Free);
        assert_eq!(watch.observe(Some(&held(1, 1)), at(100)), HolderState::Held);
        assert_eq!(watch.observe(Some(&held(1, 1)), at(105)), HolderState::Held);
        // It was heard of.
        assert_eq!(watch.observe(Some(&held(1, 2)), at(106)), HolderState::Held);
        assert_eq!(watch.observe(Some(&held(1, 2)), at(111)), HolderState::Held);
        assert_eq!(
            watch.observe(Some(&held(1, 2)), at(112)),
            HolderState::Silent
        );
        // Another one was faster.
        assert_eq!(watch.observe(Some(&held(2, 3)), at(113)), HolderState::Held);
        // Nobody can write while the storage is away.
        watch.record_unreachable();
        assert_eq!(watch.observe(Some(&held(2, 3)), at(500)), HolderState::Held);
        assert_eq!(
            watch.observe(Some(&held(2, 3)), at(506)),
            HolderState::Silent
        );
        // Given back.
        assert_eq!(
            watch.observe(Some(&SnapshotPointer::default()), at(507)),
            HolderState::Free
        );
    }
}
