//! How a concepts thread waits, and how it says what it is doing.

use super::*;

impl ConceptWorker {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Waits for a change, or until the model is to be asked again or words are to be learnt;
    /// `false` when the thread is to end.
    pub(super) fn wait(&self) -> bool {
        loop {
            match self.woken.recv_timeout(CANCEL_POLL_INTERVAL) {
                Ok(()) => return !self.is_cancelled(),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if self.is_cancelled() => return false,
                Err(RecvTimeoutError::Timeout) if self.model_is_due() || self.pace.is_due() => {
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Rests; `false` when the thread is to end.
    pub(super) fn sleep(&self, rest: Duration) -> bool {
        let until = Instant::now() + rest;
        while !self.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            // Woken early it only looks at the clock again.
            std::thread::park_timeout(left.min(CANCEL_POLL_INTERVAL));
        }
        false
    }

    pub(super) fn failed(&self, error: &ConceptError) {
        tracing::warn!(event = "concepts.failed", source = self.handle.haystack.name, %error);
        self.handle.publish_progress(|status| {
            status.concepts = ConceptsHealth {
                state: ConceptsState::Failed,
                error: Some(error.to_string()),
                ..ConceptsHealth::default()
            };
        });
    }

    pub(super) fn report_state(&self, state: ConceptsState, done: u64, total: u64) {
        let health = ConceptsHealth {
            state,
            done,
            total,
            embedded: self.ranks_by_model(),
            embeddings: self.embedded.count(),
            error: self.model_error.clone(),
        };
        self.handle.publish_progress(|status| match self.duty {
            ConceptDuty::Embedding => status.part_embedding = Some(health),
            _ => status.concepts = health,
        });
    }

    /// The same, but not too often.
    pub(super) fn report_state_throttled(&mut self, state: ConceptsState, done: u64, total: u64) {
        if self.reported.elapsed() > CANCEL_POLL_INTERVAL {
            self.reported = Instant::now();
            self.report_state(state, done, total);
        }
    }
}
