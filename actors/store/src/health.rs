//! What `/readyz` and `/metrics` ask.

use std::fmt;
use tokio::sync::watch;

/// Whether the store takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Everything works.
    Ready,
    /// The disk is full; requests get [`crate::StoreError::Full`] until a probe succeeds.
    Full,
    /// The disk fails for another reason, told here; it is tried again and again.
    Failing(String),
    /// The store was closed.
    Closed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Full => f.write_str("full: the disk has no space left"),
            Self::Failing(why) => write!(f, "failing: {why}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

/// A look at the store: its state and what it did since it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether it takes requests.
    pub state: State,
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

impl Health {
    /// Whether `/readyz` may say yes.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }
}

/// State and counters behind [`Health`]: the engine writes them, handles read them.
#[derive(Debug)]
pub(crate) struct HealthRecord {
    pub(crate) state: watch::Sender<State>,
    pub(crate) counters: Counters,
}

impl Default for HealthRecord {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(State::Ready),
            counters: Counters::default(),
        }
    }
}

/// The counters behind [`Health`], shared by all threads of a store.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
