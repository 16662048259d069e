//! Bytes that all VMs of this process may hold for their guests together.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is given out before anything is held: a window that was granted can always be filled.
#[derive(Debug)]
pub(super) struct WindowBudget {
    left: AtomicU64,
}

/// For streams and tars of all VMs: some 700 streams at once, unless [`bound_buffers`] says
/// otherwise.
pub(super) static ALL_VMS: WindowBudget = WindowBudget::new(DEFAULT);

const DEFAULT: u64 = 256 << 20;

/// Sets how many bytes this process may hold for all its guests together. For its start, before
/// there is a VM.
pub fn bound_buffers(bytes: u64) {
    ALL_VMS.left.store(bytes, Ordering::SeqCst);
}

/// Bytes that were set aside; given back when dropped.
#[derive(Debug)]
pub(super) struct BudgetReservation {
    budget: &'static WindowBudget,
    bytes: u64,
}

impl WindowBudget {
    pub(super) const fn new(bytes: u64) -> Self {
        Self {
            left: AtomicU64::new(bytes),
        }
    }

    /// Sets bytes aside; `None` when so many are not left.
    pub(super) fn reserve(&'static self, bytes: u64) -> Option<BudgetReservation> {
        let take = |left: u64| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .ok()
            .map(|_| BudgetReservation {
                budget: self,
                bytes,
            })
    }
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t5_what_all_guests_may_have_is_a_setting() {
        assert!(ALL_VMS.reserve(DEFAULT + 1).is_none());
        bound_buffers(2 * DEFAULT);
        assert!(ALL_VMS.reserve(DEFAULT + 1).is_some());
        bound_buffers(DEFAULT);
    }

    #[test]
    fn t5_no_more_is_given_out_than_there_is_and_it_comes_back() {
        static SMALL: WindowBudget = WindowBudget::new(10);
        let (six, four) = (SMALL.reserve(6).unwrap(), SMALL.reserve(4).unwrap());
        assert!(SMALL.reserve(1).is_none());
        drop(six);
        assert!(SMALL.reserve(7).is_none());
        assert!(SMALL.reserve(6).is_some());
        drop(four);
        assert!(SMALL.reserve(10).is_some());
    }
}
