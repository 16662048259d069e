//! The disk that one job's transfers may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ServiceFault;

/// How often what is largest may lie there: an upload, its parts put together, and a download.
const AT_ONCE: u64 = 3;

/// What the job's transfers take; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct TransferRoom {
    taken: Arc<AtomicU64>,
    most: u64,
}

impl TransferRoom {
    /// For transfers of which the largest has so many bytes.
    pub(crate) fn for_largest(bytes: u64) -> Self {
        Self {
            taken: Arc::default(),
            most: bytes.saturating_mul(AT_ONCE),
        }
    }

    /// Takes so many bytes more.
    ///
    /// # Errors
    /// [`ServiceFault::Full`] when all transfers of the job would be larger than they may be.
    pub(super) fn take(&self, bytes: u64) -> Result<(), ServiceFault> {
        let taken = |before: u64| before.checked_add(bytes).filter(|sum| *sum <= self.most);
        let order = Ordering::Relaxed;
        match self.taken.fetch_update(order, order, taken) {
            Ok(_) => Ok(()),
            Err(_) => Err(ServiceFault::Full(format!(
                "the job's transfers are larger than {} bytes",
                self.most
            ))),
        }
    }

    /// Gives back what was taken.
    pub(super) fn release(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}
