//! How much work with git goes on at once: of one repository, and of all; and how much of the disk
//! its checkouts take.

use std::sync::Arc;

use git_engine::TreeSize;
use tokio::sync::Semaphore;

use crate::permits::{HeldPermits, RepositoryPermits, WorkPermit};
use crate::settings::CheckoutLimits;

/// What is counted on the disk: bytes in these units.
const UNIT: u64 = 1 << 20;
/// What an entry takes beside its bytes.
const ENTRY: u64 = 4 << 10;

/// Bounds of git's work; clones share them.
#[derive(Clone)]
pub(crate) struct CheckoutPermits {
    work: RepositoryPermits,
    disk: Arc<Semaphore>,
    units: u32,
}

impl CheckoutPermits {
    pub(crate) fn new(limits: &CheckoutLimits) -> Self {
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let units = u32::try_from(limits.total_bytes / UNIT).unwrap_or(most);
        let units = units.clamp(1, most);
        Self {
            work: RepositoryPermits::new(limits.at_once, limits.per_repository),
            disk: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Waits until git may work for the repository.
    pub(crate) async fn acquire(&self, repository: &str) -> WorkPermit {
        self.work.acquire(repository).await
    }

    /// Waits for room on the disk; one that is larger than all of it waits for all of it.
    pub(crate) async fn acquire_disk(&self, size: &TreeSize) -> HeldPermits {
        let bytes = size
            .bytes
            .saturating_add(size.entries.saturating_mul(ENTRY));
        // Its files lie there twice: in the work tree, and packed in `.git`.
        let units = u32::try_from(bytes.saturating_mul(2) / UNIT + 1).unwrap_or(u32::MAX);
        let disk = Arc::clone(&self.disk);
        let room = disk.acquire_many_owned(units.min(self.units)).await.ok();
        HeldPermits(room.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[actix_rt::test]
    async fn t6_the_disk_is_shared_and_what_is_larger_than_it_has_it_alone() {
        let checkouts = CheckoutPermits::new(&CheckoutLimits {
            total_bytes: 10 * UNIT,
            ..CheckoutLimits::default()
        });
        let size = |bytes| TreeSize {
            bytes,
            ..TreeSize::default()
        };
        let small = checkouts.acquire_disk(&size(2 * UNIT)).await;
        assert!(
            checkouts
                .acquire_disk(&size(u64::MAX))
                .now_or_never()
                .is_none()
        );
        drop(small);
        let large = checkouts.acquire_disk(&size(u64::MAX)).now_or_never();
        assert!(large.is_some());
        assert!(checkouts.acquire_disk(&size(0)).now_or_never().is_none());
    }
}
