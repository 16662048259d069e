//! What a passage to the leader waits for, and how long.

use std::time::Duration;

/// How long a request and its answer are waited for on the way.
#[derive(Debug, Clone, Copy)]
pub struct PassageTimeouts {
    /// For the next leader: one that hands over is followed sooner.
    pub next_leader: Duration,
    /// For the answer of a leader that another has followed.
    pub last_answer: Duration,
    /// For the rest of an answer that had begun: as long as a process that ends lets it.
    pub last_body: Duration,
    /// How long a leader may say nothing before it is asked whether it lives, each time.
    pub silence: Duration,
    /// How long it may take to say so.
    pub alive: Duration,
}

impl PassageTimeouts {
    /// What the programs use.
    pub const DEFAULT: Self = Self {
        next_leader: Duration::from_secs(4),
        last_answer: Duration::from_secs(1),
        last_body: Duration::from_secs(10),
        silence: Duration::from_secs(4),
        alive: Duration::from_secs(3),
    };
}

impl Default for PassageTimeouts {
    fn default() -> Self {
        Self::DEFAULT
    }
}
