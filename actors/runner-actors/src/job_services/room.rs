//! The disk that one job's transfers may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ServiceFault;
use crate::stored_tar::MAX_STORED;

/// Bytes of all transfers of one job: its largest upload, its parts put together, and a download.
pub(super) const MAX_TRANSFERS: u64 = 3 * MAX_STORED;

/// What the job's transfers take; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransferRoom(Arc<AtomicU64>);

impl TransferRoom {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// [`ServiceFault::Full`] when all transfers of the job would be larger than they may be.
    pub(super) fn take(&self, bytes: u64) -> Result<(), ServiceFault> {
        let taken = |before: u64| {
            before
                .checked_add(bytes)
                .filter(|sum| *sum <= MAX_TRANSFERS)
        };
        let order = Ordering::Relaxed;
        match self.0.fetch_update(order, order, taken) {
            Ok(_) => Ok(()),
            Err(_) => Err(ServiceFault::Full(format!(
                "the job's transfers are larger than {MAX_TRANSFERS} bytes"
            ))),
        }
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
