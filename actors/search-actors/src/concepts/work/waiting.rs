//! How a concepts thread waits, and how it says what it is doing.

use super::*;

impl Work {
    pub(super) fn ends(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Waits for a change, or until the model is to be asked again; `false` when the thread is to end.
    pub(super) fn wait(&self) -> bool {
        loop {
            match self.woken.recv_timeout(IDLE) {
                Ok(()) => return !self.ends(),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if self.ends() => return false,
                Err(RecvTimeoutError::Timeout) if self.model_is_due() => return true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Rests; `false` when the thread is to end.
    pub(super) fn sleep(&self, rest: Duration) -> bool {
        let until = Instant::now() + rest;
        while !self.ends() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            // Woken early it only looks at the clock again.
            std::thread::park_timeout(left.min(IDLE));
        }
        false
    }

    pub(super) fn failed(&self, error: &ConceptError) {
        tracing::warn!(event = "concepts.failed", source = self.slot.haystack.name, %error);
        self.slot.publish_progress(|published| {
            published.concepts = ConceptsHealth {
                state: ConceptsState::Failed,
                error: Some(error.to_string()),
                ..ConceptsHealth::default()
            };
        });
    }

    pub(super) fn tell(&self, state: ConceptsState, done: u64, total: u64) {
        self.slot.publish_progress(|published| {
            published.concepts = ConceptsHealth {
                state,
                done,
                total,
                embedded: self.ranks_by_model(),
                embeddings: self.embedded.count(),
                error: self.model_error.clone(),
            };
        });
    }

    /// The same, but not too often.
    pub(super) fn tell_now_and_then(&mut self, state: ConceptsState, done: u64, total: u64) {
        if self.told.elapsed() > IDLE {
            self.told = Instant::now();
            self.tell(state, done, total);
        }
    }
}
