//! Permits for work that is bounded in all and for each repository: one repository with slow work
//! holds only its own share, or more of it while nobody else wants it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use runner_core::fair_share::Shares;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A pool of permits that every repository may use a part of; clones share it.
#[derive(Clone)]
pub(crate) struct RepositoryPermits(Arc<Pool>);

struct Pool {
    shares: Shares,
    state: Mutex<PoolState>,
}

/// Who holds permits, and who waits.
#[derive(Default)]
struct PoolState {
    /// By repository, in lower case; only those that hold some.
    in_use: HashMap<String, usize>,
    /// In the order in which they came.
    waiting: Vec<WaitingMember>,
    next: u64,
}

struct WaitingMember {
    number: u64,
    repository: String,
    sender: oneshot::Sender<WorkPermit>,
}

/// What somebody waits for, and how many begin up to them, themselves included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueuePosition {
    /// The repository has its share, and others wait.
    OfRepository { most: usize, place: usize },
    /// So many of all work already.
    OfAll { most: usize, place: usize },
}

/// Permits that are held; dropped, they are free again.
pub(crate) struct HeldPermits(
    #[expect(dead_code, reason = "held")] pub(crate) Vec<OwnedSemaphorePermit>,
);

/// A permit of a pool that is held; dropped, the next one has it.
pub(crate) struct WorkPermit {
    pool: Arc<Pool>,
    repository: String,
}

impl RepositoryPermits {
    /// `total` permits, of which one repository has at most `per_repository`.
    pub(crate) fn new(total: usize, per_repository: usize) -> Self {
        Self::with_lending(total, per_repository, false)
    }

    /// The same, but a repository has more while nobody of another one waits: the next one that
    /// becomes free is then theirs.
    pub(crate) fn lending(total: usize, per_repository: usize) -> Self {
        Self::with_lending(total, per_repository, true)
    }

    fn with_lending(total: usize, per_repository: usize, lends: bool) -> Self {
        let shares = Shares {
            total: total.max(1),
            per_repository: per_repository.max(1),
            lends,
        };
        let state = Mutex::default();
        Self(Arc::new(Pool { shares, state }))
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(&self, repository: &str) -> WorkPermit {
        self.acquire_in_turn(repository, async |_| {}).await
    }

    /// The same; `told` hears what is waited for.
    pub(crate) async fn acquire_in_turn(
        &self,
        repository: &str,
        mut told: impl AsyncFnMut(QueuePosition),
    ) -> WorkPermit {
        let (sender, permit) = oneshot::channel();
        if let Some(turn) = self.0.enqueue(repository, sender) {
            told(turn).await;
        }
        match permit.await {
            Ok(permit) => permit,
            // The line is this pool's, which is held here.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Pool {
    /// Takes the last place of the line; what is waited for there, unless the permit is had at
    /// once.
    fn enqueue(
        self: &Arc<Self>,
        repository: &str,
        sender: oneshot::Sender<WorkPermit>,
    ) -> Option<QueuePosition> {
        let (turn, admitted) = {
            let mut state = self.state.lock();
            let number = state.next;
            state.next += 1;
            state.waiting.push(WaitingMember {
                number,
                repository: repository.to_lowercase(),
                sender,
            });
            let admitted = state.admit(self);
            let waits = state
                .waiting
                .last()
                .is_some_and(|last| last.number == number);
            (waits.then(|| state.turn_of_last(self.shares)), admitted)
        };
        grant(admitted);
        turn
    }
}

/// Gives permits to those whose turn it is; nothing may be locked, since one that nobody takes any
/// more comes back.
fn grant(admitted: Vec<(oneshot::Sender<WorkPermit>, WorkPermit)>) {
    for (sender, permit) in admitted {
        drop(sender.send(permit));
    }
}

impl PoolState {
    /// Takes those out of the line whose turn it is.
    fn admit(&mut self, pool: &Arc<Pool>) -> Vec<(oneshot::Sender<WorkPermit>, WorkPermit)> {
        // Those that were cancelled meanwhile wait no more.
        self.waiting.retain(|waiting| !waiting.sender.is_closed());
        let mut admitted = Vec::new();
        while let Some(index) = pool.shares.next(&self.in_use, &self.repositories()) {
            let WaitingMember {
                repository, sender, ..
            } = self.waiting.remove(index);
            *self.in_use.entry(repository.clone()).or_default() += 1;
            let pool = Arc::clone(pool);
            admitted.push((sender, WorkPermit { pool, repository }));
        }
        admitted
    }

    /// The repositories of those that wait.
    fn repositories(&self) -> Vec<&str> {
        let waiting = self.waiting.iter();
        waiting.map(|waiting| waiting.repository.as_str()).collect()
    }

    fn turn_of_last(&self, shares: Shares) -> QueuePosition {
        let standing = shares.last_standing(&self.in_use, &self.repositories());
        let place = standing.place;
        match standing.is_beyond_share {
            true => QueuePosition::OfRepository {
                most: shares.per_repository,
                place,
            },
            false => QueuePosition::OfAll {
                most: shares.total,
                place,
            },
        }
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        let admitted = {
            let mut state = self.pool.state.lock();
            if let Some(used) = state.in_use.get_mut(&self.repository) {
                *used -= 1;
            }
            state.in_use.retain(|_, used| *used > 0);
            state.admit(&self.pool)
        };
        grant(admitted);
    }
}

impl QueuePosition {
    /// What is waited for, whoever else does.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::OfRepository { most, .. } => format!(
                "waits for its turn: others wait, and of this repository's jobs {most} run already (`max_jobs_per_repository`)"
            ),
            Self::OfAll { most, .. } => {
                format!("waits for its turn: of all jobs {most} run at once (`max_jobs`)")
            }
        }
    }
}

impl fmt::Display for QueuePosition {
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
        assert!(permits.0.state.lock().in_use.is_empty(), "nothing is left");
    }

    #[actix_rt::test]
    async fn i17_no_job_waits_for_its_share_while_nobody_else_does() {
        let permits = RepositoryPermits::lending(3, 1);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.extend(permits.acquire("a/b").now_or_never());
        }
        assert_eq!(held.len(), 3, "it is alone");
        let mut own = Box::pin(permits.acquire("a/b"));
        let mut other = Box::pin(permits.acquire("c/d"));
        assert!(own.as_mut().now_or_never().is_none());
        assert!(other.as_mut().now_or_never().is_none());
        held.pop();
        assert!(own.as_mut().now_or_never().is_none(), "another came");
        let other = other.now_or_never();
        assert!(other.is_some(), "and has the next one");
        drop(other);
        assert!(own.now_or_never().is_some());
    }

    #[actix_rt::test]
    async fn i17_a_permit_that_nobody_takes_goes_to_the_next_one() {
        let permits = RepositoryPermits::lending(1, 1);
        let first = permits.acquire("a/b").await;
        let mut second = Box::pin(permits.acquire("a/b"));
        let mut third = Box::pin(permits.acquire("a/b"));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        // The second one has it, and is gone before it hears of it.
        drop(first);
        drop(second);
        assert!(third.now_or_never().is_some());
    }

    #[actix_rt::test]
    async fn i17_who_waits_hears_for_what_and_its_place() {
        let permits = RepositoryPermits::lending(2, 1);
        let said = RefCell::new(Vec::new());
        let told = async |turn: QueuePosition| said.borrow_mut().push(turn.to_string());
        let first = permits.acquire_in_turn("a/b", told).await;
        let _second = permits.acquire_in_turn("a/b", told).await;
        assert!(said.take().is_empty());
        let mut third = Box::pin(permits.acquire_in_turn("a/b", told));
        let mut other = Box::pin(permits.acquire_in_turn("c/d", told));
        let mut fourth = Box::pin(permits.acquire_in_turn("a/b", told));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(other.as_mut().now_or_never().is_none());
        assert!(fourth.as_mut().now_or_never().is_none());
        let all = "waits for its turn: of all jobs 2 run at once (`max_jobs`); place";
        let own = "waits for its turn: others wait, and of this repository's jobs 1 run already (`max_jobs_per_repository`); place";
        assert_eq!(
            said.take(),
            [format!("{all} 1"), format!("{all} 1"), format!("{own} 3")]
        );
        drop(first);
        assert!(other.now_or_never().is_some());
        assert!(third.now_or_never().is_some());
    }
}
