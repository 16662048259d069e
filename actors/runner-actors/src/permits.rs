//! Permits for work that is bounded in all and for each repository: one repository with slow work
//! holds only its own share.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cluster_actors::vm_hosts::WaitingLine;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A pool of permits that every repository may use a part of; clones share it.
#[derive(Clone)]
pub(crate) struct RepositoryPermits {
    total: Arc<Semaphore>,
    per_repository: usize,
    most: usize,
    by_repository: Arc<Mutex<HashMap<String, Arc<Share>>>>,
    line: WaitingLine,
}

/// What one repository may use.
struct Share {
    permits: Arc<Semaphore>,
    line: WaitingLine,
}

/// What somebody waits for, and how many wait for the same before them, themselves included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// So many of the repository work already.
    OfRepository { most: usize, place: usize },
    /// So many of all work already.
    OfAll { most: usize, place: usize },
}

/// Permits that are held; dropped, they are free again.
pub(crate) struct HeldPermits(
    #[expect(dead_code, reason = "held")] pub(crate) Vec<OwnedSemaphorePermit>,
);

impl RepositoryPermits {
    /// `total` permits, of which one repository has at most `per_repository`.
    pub(crate) fn new(total: usize, per_repository: usize) -> Self {
        let most = total.max(1);
        Self {
            total: Arc::new(Semaphore::new(most)),
            per_repository: per_repository.max(1),
            most,
            by_repository: Arc::default(),
            line: WaitingLine::default(),
        }
    }

    /// Waits for a permit: first the repository's, so that one that waits for its own share holds
    /// nobody else up.
    pub(crate) async fn acquire(&self, repository: &str) -> HeldPermits {
        self.acquire_in_turn(repository, async |_| {}).await
    }

    /// The same; `told` hears what is waited for.
    pub(crate) async fn acquire_in_turn(
        &self,
        repository: &str,
        mut told: impl AsyncFnMut(Turn),
    ) -> HeldPermits {
        let share = self.share(repository);
        let most = self.per_repository;
        let own = match Arc::clone(&share.permits).try_acquire_owned() {
            Ok(own) => Some(own),
            Err(_) => {
                let own = share.line.enter();
                let place = own.place();
                told(Turn::OfRepository { most, place }).await;
                // Neither is ever closed.
                Arc::clone(&share.permits).acquire_owned().await.ok()
            }
        };
        let total = match Arc::clone(&self.total).try_acquire_owned() {
            Ok(total) => Some(total),
            Err(_) => {
                let own = self.line.enter();
                let (most, place) = (self.most, own.place());
                told(Turn::OfAll { most, place }).await;
                Arc::clone(&self.total).acquire_owned().await.ok()
            }
        };
        HeldPermits(own.into_iter().chain(total).collect())
    }

    fn share(&self, repository: &str) -> Arc<Share> {
        let mut all = self.by_repository.lock();
        // Entries that nobody holds or waits for are removed.
        all.retain(|_, own| {
            Arc::strong_count(own) > 1 || own.permits.available_permits() < self.per_repository
        });
        let new = || {
            Arc::new(Share {
                permits: Arc::new(Semaphore::new(self.per_repository)),
                line: WaitingLine::default(),
            })
        };
        Arc::clone(all.entry(repository.to_lowercase()).or_insert_with(new))
    }
}

impl Turn {
    /// What is waited for, whoever else does.
    pub(crate) fn reason(self) -> String {
        let (Self::OfRepository { most, .. } | Self::OfAll { most, .. }) = self;
        let (of, setting) = match self {
            Self::OfRepository { .. } => ("this repository's jobs", "max_jobs_per_repository"),
            Self::OfAll { .. } => ("all jobs", "max_jobs"),
        };
        format!("waits for its turn: of {of} {most} run at once (`{setting}`)")
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::OfRepository { place, .. } | Self::OfAll { place, .. }) = self;
        write!(f, "{}; place {place}", self.reason())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures_util::FutureExt;

    use super::*;

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

    #[actix_rt::test]
    async fn i17_who_waits_hears_for_what_and_its_place() {
        let permits = RepositoryPermits::new(2, 1);
        let said = RefCell::new(Vec::new());
        let told = async |turn: Turn| said.borrow_mut().push(turn.to_string());
        let first = permits.acquire_in_turn("a/b", told).await;
        assert!(said.take().is_empty());
        let mut second = Box::pin(permits.acquire_in_turn("a/b", told));
        let mut third = Box::pin(permits.acquire_in_turn("a/b", told));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        let text = "waits for its turn: of this repository's jobs 1 run at once (`max_jobs_per_repository`); place";
        assert_eq!(said.take(), [format!("{text} 1"), format!("{text} 2")]);
        let _other = permits.acquire("c/d").await;
        assert!(
            permits
                .acquire_in_turn("e/f", told)
                .now_or_never()
                .is_none()
        );
        let text = "waits for its turn: of all jobs 2 run at once (`max_jobs`); place 1";
        assert_eq!(said.take(), [text]);
        drop(first);
        assert!(second.now_or_never().is_some());
    }
}
