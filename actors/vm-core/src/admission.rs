//! Whether a VM may start now: memory and processors of the host, and a bounded queue in front.

use std::collections::VecDeque;
use std::time::Duration;

/// What VMs may use of the host together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Memory of all VMs together, in MiB.
    pub mem_mib: u64,
    /// Virtual processors of all VMs together; may exceed the host's, as most wait most of the
    /// time.
    pub vcpus: u32,
    /// VMs at once.
    pub vms: u32,
    /// Requests that may wait.
    pub queue: usize,
}

/// What a request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedResources {
    /// Memory in MiB, what the monitor itself uses included.
    pub mem_mib: u64,
    /// Virtual processors.
    pub vcpus: u32,
}

/// What is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// Memory in MiB.
    pub mem_mib: u64,
    /// Virtual processors.
    pub vcpus: u32,
    /// VMs.
    pub vms: u32,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionDecision {
    /// It starts.
    Admit,
    /// It waits for others to end.
    Wait,
    /// The queue is full: 503.
    Full {
        /// For the header `Retry-After`.
        retry_after: Duration,
    },
    /// It could not start if it were alone: 422.
    Never,
}

impl InUse {
    /// With one more.
    #[must_use]
    pub fn with(self, need: RequestedResources) -> Self {
        Self {
            mem_mib: self.mem_mib.saturating_add(need.mem_mib),
            vcpus: self.vcpus.saturating_add(need.vcpus),
            vms: self.vms.saturating_add(1),
        }
    }

    /// With one less.
    #[must_use]
    pub fn without(self, need: RequestedResources) -> Self {
        Self {
            mem_mib: self.mem_mib.saturating_sub(need.mem_mib),
            vcpus: self.vcpus.saturating_sub(need.vcpus),
            vms: self.vms.saturating_sub(1),
        }
    }

    fn fits(self, capacity: Capacity) -> bool {
        self.mem_mib <= capacity.mem_mib && self.vcpus <= capacity.vcpus && self.vms <= capacity.vms
    }
}

/// What becomes of a request when `waiting` others wait already. Nobody overtakes: while somebody
/// waits, a smaller request waits as well, or big ones would starve.
pub fn decide(
    need: RequestedResources,
    in_use: InUse,
    waiting: usize,
    capacity: Capacity,
) -> AdmissionDecision {
    if !InUse::default().with(need).fits(capacity) {
        return AdmissionDecision::Never;
    }
    if waiting == 0 && in_use.with(need).fits(capacity) {
        return AdmissionDecision::Admit;
    }
    if waiting < capacity.queue {
        return AdmissionDecision::Wait;
    }
    // The longer the queue, the less it helps to come back soon; bounded to a minute.
    let seconds = u64::try_from(waiting).unwrap_or(60).clamp(1, 60);
    AdmissionDecision::Full {
        retry_after: Duration::from_secs(seconds),
    }
}

/// Which VMs that may be ended for others are, so that a request fits: of `held`, oldest first, as
/// few as it takes. None when all of them would not be enough.
pub fn reclaim(
    need: RequestedResources,
    in_use: InUse,
    held: &[RequestedResources],
    capacity: Capacity,
) -> usize {
    let mut used = in_use.with(need);
    for (count, one) in held.iter().enumerate() {
        if used.fits(capacity) {
            return count;
        }
        used = used.without(*one);
    }
    if used.fits(capacity) { held.len() } else { 0 }
}

/// How many of the waiting may start now, oldest first.
pub fn admit_waiting(
    waiting: &VecDeque<RequestedResources>,
    in_use: InUse,
    capacity: Capacity,
) -> usize {
    let mut used = in_use;
    let mut count = 0;
    for need in waiting {
        used = used.with(*need);
        if !used.fits(capacity) {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Capacity = Capacity {
        mem_mib: 1000,
        vcpus: 4,
        vms: 3,
        queue: 2,
    };

    fn need(mem_mib: u64, vcpus: u32) -> RequestedResources {
        RequestedResources { mem_mib, vcpus }
    }

    #[test]
    fn decisions() {
        let empty = InUse::default();
        let busy = empty.with(need(600, 2));
        let table = [
            (need(1000, 4), empty, 0, AdmissionDecision::Admit),
            (need(1001, 1), empty, 0, AdmissionDecision::Never),
            (need(1, 5), empty, 0, AdmissionDecision::Never),
            (need(400, 2), busy, 0, AdmissionDecision::Admit),
            (need(401, 2), busy, 0, AdmissionDecision::Wait),
            (need(1, 3), busy, 0, AdmissionDecision::Wait),
            (need(1, 1), busy, 1, AdmissionDecision::Wait),
            (
                need(1, 1),
                busy,
                2,
                AdmissionDecision::Full {
                    retry_after: Duration::from_secs(2),
                },
            ),
        ];
        for (need, in_use, waiting, wanted) in table {
            assert_eq!(
                decide(need, in_use, waiting, HOST),
                wanted,
                "{need:?} {waiting}"
            );
        }
        let three = InUse { vms: 3, ..empty };
        assert_eq!(
            decide(need(1, 1), three, 0, HOST),
            AdmissionDecision::Wait,
            "as many VMs as there may be"
        );
    }

    #[test]
    fn i17_kept_vms_are_ended_only_when_that_is_enough_and_as_few_as_it_takes() {
        let held = [need(300, 1), need(100, 1), need(100, 1)];
        let in_use = held
            .iter()
            .fold(InUse::default(), |sum, one| sum.with(*one));
        // Need, how many are ended: three VMs are as many as there may be.
        let table = [
            (need(1, 1), 1),
            (need(800, 1), 1),
            (need(801, 1), 2),
            (need(1000, 4), 3),
            (need(1001, 1), 0),
        ];
        for (need, ended) in table {
            assert_eq!(reclaim(need, in_use, &held, HOST), ended, "{need:?}");
        }
        let others = in_use.with(need(500, 1));
        assert_eq!(reclaim(need(600, 1), others, &held, HOST), 0);
        let roomy = Capacity { vms: 9, ..HOST };
        assert_eq!(reclaim(need(1, 1), in_use, &held, roomy), 0);
    }

    #[test]
    fn the_oldest_start_first_and_nobody_overtakes() {
        let in_use = InUse::default().with(need(500, 1));
        let waiting = VecDeque::from([need(300, 1), need(300, 1), need(1, 1)]);
        assert_eq!(
            admit_waiting(&waiting, in_use, HOST),
            1,
            "the third would fit, but waits its turn"
        );
        assert_eq!(admit_waiting(&waiting, InUse::default(), HOST), 3);
    }

    #[test]
    fn what_was_added_can_be_taken_away() {
        let in_use = InUse::default().with(need(5, 1)).with(need(7, 2));
        assert_eq!(
            in_use.without(need(5, 1)).without(need(7, 2)),
            InUse::default()
        );
        assert_eq!(InUse::default().without(need(5, 1)), InUse::default());
    }
}
