//! News of runs, for those who subscribe to `runs` on `/ws`: a port. Whoever keeps runs in this process
//! publishes how they stand; this server knows nothing else of them.
//!
//! ```text
//! platform: what the runner and the orchestrator keep ──publish──▶ RunFeed ──subscribe──▶ /ws
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{Notify, watch};

/// A run as `/ws` tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunNews {
    /// Who keeps it: `runner` or `orchestrator`.
    pub product: &'static str,
    /// Its id there.
    pub id: String,
    /// What runs: the workflow's name, or the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `owner/repo`.
    pub repository: String,
    /// Where it is, in the words of who keeps it.
    pub state: String,
    /// Whether nothing follows.
    pub ended: bool,
    /// Why it ended as it did, or what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The runs as they stand. Clones are the same one.
#[derive(Debug, Clone)]
pub struct RunFeed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    now: watch::Sender<Arc<[RunNews]>>,
    asked: Notify,
}

impl Default for RunFeed {
    fn default() -> Self {
        Self(Arc::new(Shared {
            now: watch::Sender::new(Arc::default()),
            asked: Notify::new(),
        }))
    }
}

impl RunFeed {
    /// Resolves when somebody has begun to listen since it resolved last: what is published was let go
    /// stale while nobody did.
    pub async fn asked(&self) {
        self.0.asked.notified().await;
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.0.now.receiver_count() > 0
    }

    /// Puts these runs, newest first, in the place of what was published before.
    pub fn publish(&self, runs: Vec<RunNews>) {
        self.0.now.send_replace(runs.into());
    }

    /// Begins to listen; the first news are as fresh as what is published next.
    pub(crate) fn subscribe(&self) -> RunListener {
        let now = self.0.now.subscribe();
        self.0.asked.notify_one();
        RunListener {
            now,
            told: BTreeMap::new(),
            is_first: true,
        }
    }
}

/// What one connection was told of runs.
#[derive(Debug)]
pub(crate) struct RunListener {
    now: watch::Receiver<Arc<[RunNews]>>,
    told: BTreeMap<(&'static str, String), RunNews>,
    is_first: bool,
}

impl RunListener {
    /// The runs that are new or stand otherwise than was told; none when nothing was published since.
    /// What was published first after the subscription is told even when it is empty.
    pub(crate) fn news(&mut self) -> Option<Vec<RunNews>> {
        // An end of the publisher's is no news.
        if !self.now.has_changed().unwrap_or(false) {
            return None;
        }
        let runs = Arc::clone(&self.now.borrow_and_update());
        let name = |run: &RunNews| (run.product, run.id.clone());
        let news = runs
            .iter()
            .filter(|run| self.told.get(&name(run)) != Some(*run));
        let news: Vec<RunNews> = news.cloned().collect();
        // Only what is published is remembered: as much as a page of runs.
        let is_first = std::mem::take(&mut self.is_first);
        self.told = runs.iter().map(|run| (name(run), run.clone())).collect();
        (is_first || !news.is_empty()).then_some(news)
    }
}

#[cfg(test)]
mod tests {
    use super::{RunFeed, RunNews};

    fn run(id: &str, state: &str) -> RunNews {
        RunNews {
            product: "runner",
            id: id.to_owned(),
            name: None,
            repository: "acme/main".to_owned(),
            state: state.to_owned(),
            ended: false,
            reason: None,
        }
    }

    #[test]
    fn only_what_has_changed_is_told_and_only_to_those_who_listen() {
        let feed = RunFeed::default();
        feed.publish(vec![run("0", "running")]);
        assert!(!feed.is_heard());
        let mut listener = feed.subscribe();
        assert!(feed.is_heard());
        assert_eq!(listener.news(), None, "what is there may be stale");
        feed.publish(vec![run("2", "received"), run("1", "running")]);
        let first = listener.news().expect("news");
        assert_eq!(first, [run("2", "received"), run("1", "running")]);
        feed.publish(vec![run("2", "running"), run("1", "running")]);
        assert_eq!(listener.news(), Some(vec![run("2", "running")]));
        feed.publish(vec![run("2", "running")]);
        assert_eq!(listener.news(), None, "forgotten runs are no news");
        drop(listener);
        assert!(!feed.is_heard());
    }

    #[test]
    fn that_there_are_none_is_told_once() {
        let feed = RunFeed::default();
        let mut listener = feed.subscribe();
        feed.publish(Vec::new());
        assert_eq!(listener.news(), Some(Vec::new()));
        feed.publish(Vec::new());
        assert_eq!(listener.news(), None);
    }
}
