//! Permits for work that is bounded in all and for each repository: one repository with slow work
//! holds only its own share.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A pool of permits that every repository may use a part of; clones share it.
#[derive(Clone)]
pub(crate) struct RepositoryPermits {
    total: Arc<Semaphore>,
    per_repository: usize,
    by_repository: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

/// Permits that are held; dropped, they are free again.
pub(crate) struct HeldPermits(
    #[expect(dead_code, reason = "held")] pub(crate) Vec<OwnedSemaphorePermit>,
);

impl RepositoryPermits {
    /// `total` permits, of which one repository has at most `per_repository`.
    pub(crate) fn new(total: usize, per_repository: usize) -> Self {
        Self {
            total: Arc::new(Semaphore::new(total.max(1))),
            per_repository: per_repository.max(1),
            by_repository: Arc::default(),
        }
    }

    /// Waits for a permit: first the repository's, so that one that waits for its own share holds
    /// nobody else up.
    pub(crate) async fn acquire(&self, repository: &str) -> HeldPermits {
        let own = {
            let mut all = self.by_repository.lock();
            // Entries that nobody holds or waits for are removed.
            all.retain(|_, own| {
                Arc::strong_count(own) > 1 || own.available_permits() < self.per_repository
            });
            Arc::clone(
                all.entry(repository.to_lowercase())
                    .or_insert_with(|| Arc::new(Semaphore::new(self.per_repository))),
            )
        };
        // Neither is ever closed.
        let own = own.acquire_owned().await.ok();
        let total = Arc::clone(&self.total).acquire_owned().await.ok();
        HeldPermits(own.into_iter().chain(total).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[actix_rt::test]
    async fn t6_permits_are_bounded_of_a_repository_and_of_all() {
        let permits = RepositoryPermits::new(3, 2);
        let first = permits.acquire("evil/fork").await;
        let second = permits.acquire("Evil/Fork").await;
        assert!(permits.acquire("evil/fork").now_or_never().is_none());
        let other = permits.acquire("a/b").now_or_never();
        assert!(other.is_some(), "another repository has permits left");
        assert!(
            permits.acquire("c/d").now_or_never().is_none(),
            "three at once"
        );
        drop(first);
        assert!(permits.acquire("c/d").now_or_never().is_some());
        drop((second, other));
        assert!(permits.acquire("evil/fork").now_or_never().is_some());
    }
}
