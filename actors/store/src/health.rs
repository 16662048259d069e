//! What `/readyz` and `/metrics` ask.

use crate::error::StoreError;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;

/// Whether the store takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreState {
    /// Everything works.
    Ready,
    /// The disk is full; requests get [`crate::StoreError::Full`] until a probe succeeds.
    Full,
    /// The disk fails for another reason, told here; it is tried again and again.
    Failing(String),
    /// Another process, told here, has taken the store (PostgreSQL only). This one writes and reads
    /// no more, and has to end.
    TakenOver(String),
    /// The store was closed.
    Closed,
}

impl fmt::Display for StoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Full => f.write_str("full: the disk has no space left"),
            Self::Failing(why) => write!(f, "failing: {why}"),
            Self::TakenOver(by) => write!(f, "taken over by {by}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

impl StoreState {
    /// Why the store in `place` takes no requests.
    pub(crate) fn refusal(&self, place: &str) -> StoreError {
        let place = place.to_owned();
        match self {
            Self::Closed => StoreError::Closed,
            Self::Full => StoreError::Full { place },
            Self::TakenOver(by) => StoreError::TakenOver {
                place,
                by: by.clone(),
            },
            Self::Failing(reason) => StoreError::Storage {
                place,
                reason: reason.clone(),
            },
            Self::Ready => StoreError::Storage {
                place,
                reason: "it is being reopened".to_owned(),
            },
        }
    }
}

/// A look at the store: its state and what it did since it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreHealth {
    /// Whether it takes requests.
    pub state: StoreState,
    /// Requests waiting for the writer now.
    pub waiting: usize,
    /// Requests carried out and answered, refusals of their own included.
    pub requests: u64,
    /// Commits, each shared by the requests that waited together.
    pub groups: u64,
    /// Requests refused because the queue was full.
    pub refused_busy: u64,
    /// Times the storage was opened anew after a failure.
    pub reopened: u64,
    /// How long the last commit took, in microseconds.
    pub last_commit_micros: u64,
    /// Rows in quarantine.
    pub quarantined: u64,
}

impl StoreHealth {
    /// Whether `/readyz` may say yes.
    pub fn is_ready(&self) -> bool {
        self.state == StoreState::Ready
    }
}

/// State and counters behind [`StoreHealth`]: the engine writes them, handles read them.
#[derive(Debug)]
pub(crate) struct HealthRecord {
    pub(crate) state: watch::Sender<StoreState>,
    pub(crate) counters: StoreCounters,
}

impl Default for HealthRecord {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(StoreState::Ready),
            counters: StoreCounters::default(),
        }
    }
}

impl HealthRecord {
    /// Whether the store in `place` takes requests from now on; a change is logged.
    pub(crate) fn set_state(&self, place: &str, state: &StoreState) {
        let changed = self.state.send_if_modified(|now| {
            let changed = now != state;
            now.clone_from(state);
            changed
        });
        if !changed {
            return;
        }
        match state {
            StoreState::Ready => tracing::info!(event = "store.ready", %place, "works again"),
            StoreState::Closed => tracing::debug!(event = "store.closed", %place),
            StoreState::Full => tracing::error!(event = "store.full", %place, "no space left"),
            StoreState::Failing(why) => tracing::error!(event = "store.failing", %place, %why),
            StoreState::TakenOver(by) => tracing::error!(
                event = "store.taken_over", %place, %by,
                "another process has taken the store; this one writes no more"
            ),
        }
    }

    /// The counters of a commit.
    pub(crate) fn record_commit(&self, took: Duration, quarantined: Option<u64>) {
        self.counters.groups.add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.counters.last_commit_micros.set(micros);
        if let Some(rows) = quarantined {
            self.counters.quarantined.set(rows);
        }
    }
}

/// The counters behind [`StoreHealth`], shared by all threads of a store.
#[derive(Debug, Default)]
pub(crate) struct StoreCounters {
    pub(crate) requests: Counter,
    pub(crate) groups: Counter,
    pub(crate) refused_busy: Counter,
    pub(crate) reopened: Counter,
    pub(crate) last_commit_micros: Counter,
    pub(crate) quarantined: Counter,
}

/// A number that is only ever looked at by itself, so relaxed ordering will do.
#[derive(Debug, Default)]
pub(crate) struct Counter(std::sync::atomic::AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
    }
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, std::sync::atomic::Ordering::Relaxed);
    }
    pub(crate) fn get(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}
