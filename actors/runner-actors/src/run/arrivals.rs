//! Runs on their way to their concurrency groups: they come to them in the order in which they were
//! received, however long each takes to be fetched and planned. So the newest waits last, and
//! after a restart the one that ran before is the first again.

use std::collections::BTreeMap;
use std::ops::Bound;

use tokio::sync::watch;

/// The runs under way that have not come to their groups yet, by id: later ones sort behind earlier
/// ones. Their repositories are known once their records have been read.
type PendingRuns = BTreeMap<String, Option<String>>;

/// Who is still on the way.
#[derive(Clone, Default)]
pub(crate) struct RunArrivals(watch::Sender<PendingRuns>);

impl RunArrivals {
    /// A run is about to be started.
    pub(crate) fn announce(&self, run: &str) {
        self.0.send_modify(|coming| {
            coming.insert(run.to_owned(), None);
        });
    }

    /// Which repository a run is of. Groups are a repository's: others need not wait for it.
    pub(super) fn belongs_to(&self, run: &str, repository: &str) {
        self.0.send_if_modified(|coming| match coming.get_mut(run) {
            Some(of) => {
                *of = Some(repository.to_lowercase());
                true
            }
            None => false,
        });
    }

    /// A run has its place in its group, needs none, or has ended.
    pub(crate) fn remove(&self, run: &str) {
        self.0
            .send_if_modified(|coming| coming.remove(run).is_some());
    }

    /// Waits until no earlier run of the repository is on its way.
    pub(super) async fn turn(&self, run: &str, repository: &str) {
        let repository = repository.to_lowercase();
        let is_first = |coming: &PendingRuns| {
            let mut earlier = coming.range::<str, _>((Bound::Unbounded, Bound::Excluded(run)));
            !earlier.any(|(_, of)| of.as_ref().is_none_or(|of| *of == repository))
        };
        // The sender is here, so it cannot be gone.
        let _ = self.0.subscribe().wait_for(is_first).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// Whether the turn of `run` has come.
    fn has_turn(arrivals: &RunArrivals, run: &str, repository: &str) -> bool {
        let turn = pin!(arrivals.turn(run, repository));
        turn.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn i17_the_earlier_run_of_a_repository_comes_first() {
        let arrivals = RunArrivals::default();
        for run in ["2", "1", "3"] {
            arrivals.announce(run);
        }
        arrivals.belongs_to("2", "a/b");
        arrivals.belongs_to("3", "c/d");
        assert!(has_turn(&arrivals, "1", "A/B"));
        assert!(
            !has_turn(&arrivals, "2", "a/b"),
            "the first one's is not known"
        );
        arrivals.belongs_to("1", "A/B");
        assert!(
            !has_turn(&arrivals, "2", "a/b"),
            "the same in other letters"
        );
        assert!(has_turn(&arrivals, "3", "c/d"), "nobody else of that one");
        arrivals.remove("1");
        assert!(has_turn(&arrivals, "2", "a/b"));
        arrivals.belongs_to("1", "a/b");
        assert!(
            has_turn(&arrivals, "2", "a/b"),
            "who has come is not on the way"
        );
    }
}
