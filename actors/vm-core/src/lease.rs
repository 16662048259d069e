//! Leases: nobody holds a VM longer than they keep saying they need it.

use std::time::Duration;

use crate::UnixMs;

/// Until when a VM is somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// When it was given out.
    pub granted: UnixMs,
    /// When it ends unless extended.
    pub until: UnixMs,
}

/// Bounds of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLimits {
    /// The furthest that one grant or extension may reach from now.
    pub longest: Duration,
    /// The longest that a VM may live in all, however often it is extended.
    pub total: Duration,
}

/// Why a lease is not extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// It has ended; the VM is already being released.
    #[error("the lease ended at {until}; the VM is being released")]
    Over {
        /// When it ended.
        until: UnixMs,
    },
    /// The VM has lived as long as any may.
    #[error("the VM may not be held beyond {until}")]
    Exhausted {
        /// The last moment allowed.
        until: UnixMs,
    },
    /// An extension of nothing.
    #[error("a lease must be at least one second")]
    Zero,
}

impl Lease {
    /// A lease from now on, cut to what the limits allow.
    pub fn grant(now: UnixMs, wanted: Duration, limits: LeaseLimits) -> Self {
        Self {
            granted: now,
            until: now.plus(wanted.min(limits.longest).min(limits.total)),
        }
    }

    /// Whether it has ended.
    pub fn is_over(self, now: UnixMs) -> bool {
        now >= self.until
    }

    /// The lease, reaching `wanted` from now on; never shortened, never beyond the limits.
    ///
    /// # Errors
    /// [`LeaseError`] when it has ended, cannot reach any further, or nothing was asked for.
    pub fn extend(
        self,
        now: UnixMs,
        wanted: Duration,
        limits: LeaseLimits,
    ) -> Result<Self, LeaseError> {
        if self.is_over(now) {
            return Err(LeaseError::Over { until: self.until });
        }
        if wanted < Duration::from_secs(1) {
            return Err(LeaseError::Zero);
        }
        let last = self.granted.plus(limits.total);
        let until = now.plus(wanted.min(limits.longest)).min(last);
        if until <= self.until && self.until >= last {
            return Err(LeaseError::Exhausted { until: last });
        }
        Ok(Self {
            until: until.max(self.until),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LeaseLimits = LeaseLimits {
        longest: Duration::from_secs(100),
        total: Duration::from_secs(150),
    };

    fn at(seconds: u64) -> UnixMs {
        UnixMs(seconds * 1000)
    }

    #[test]
    fn a_lease_ends_at_its_end_and_is_cut_to_the_limits() {
        let lease = Lease::grant(at(10), Duration::from_secs(500), LIMITS);
        assert_eq!(lease.until, at(110));
        assert!(!lease.is_over(UnixMs(109_999)));
        assert!(lease.is_over(at(110)));
    }

    #[test]
    fn extensions_reach_forward_never_back_and_come_to_an_end() {
        let lease = Lease::grant(at(0), Duration::from_secs(60), LIMITS);
        let same = lease
            .extend(at(10), Duration::from_secs(5), LIMITS)
            .unwrap();
        assert_eq!(same.until, at(60), "an extension does not shorten");
        let longer = lease
            .extend(at(50), Duration::from_secs(60), LIMITS)
            .unwrap();
        assert_eq!(longer.until, at(110));
        let last = longer
            .extend(at(100), Duration::from_secs(100), LIMITS)
            .unwrap();
        assert_eq!(last.until, at(150), "never beyond the total");
        assert_eq!(
            last.extend(at(149), Duration::from_secs(9), LIMITS),
            Err(LeaseError::Exhausted { until: at(150) })
        );
        assert_eq!(
            last.extend(at(150), Duration::from_secs(9), LIMITS),
            Err(LeaseError::Over { until: at(150) })
        );
        assert_eq!(
            lease.extend(at(1), Duration::ZERO, LIMITS),
            Err(LeaseError::Zero)
        );
    }
}
