//! What searches would have liked to be embedded: it is embedded first.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Documents that are waited for; what is wanted beyond that is embedded in its turn.
const MAX_WANTED: usize = 1_024;

/// Wishes of searches. They change the order of the work, never its result.
#[derive(Debug, Default)]
pub struct EmbeddingDemand {
    wanted: Mutex<BTreeSet<Box<str>>>,
    doubted: AtomicBool,
}

impl EmbeddingDemand {
    /// These documents were among the best of a search, and had no embedding.
    pub fn want<'k>(&self, keys: impl IntoIterator<Item = &'k str>) {
        let mut wanted = self.wanted.lock();
        for key in keys {
            if wanted.len() >= MAX_WANTED {
                return;
            }
            wanted.insert(key.into());
        }
    }

    /// What is wanted, each once; it is not wanted any more.
    #[must_use]
    pub fn take(&self) -> Vec<Box<str>> {
        std::mem::take(&mut *self.wanted.lock())
            .into_iter()
            .collect()
    }

    /// Whether anything is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.lock().is_empty()
    }

    /// The model gives queries other vectors than it gave the documents.
    pub fn mark_stale(&self) {
        self.doubted.store(true, Ordering::Relaxed);
    }

    /// Whether the model is in doubt.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// The model was looked at.
    pub fn trust(&self) {
        self.doubted.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_bounded_and_taken_once() {
        let demand = EmbeddingDemand::default();
        demand.want(["b", "a", "b"]);
        assert_eq!(demand.take(), ["a".into(), "b".into()]);
        assert!(demand.is_empty() && demand.take().is_empty());
        let many: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
        demand.want(many.iter().map(String::as_str));
        assert_eq!(demand.take().len(), MAX_WANTED);
    }
}
