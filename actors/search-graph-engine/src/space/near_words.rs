//! The words nearest to directions that were looked for lately.
//!
//! Finding them compares a direction with every word. What is near depends on the words alone,
//! which stay as they are until they are learnt anew, whatever documents change meanwhile. So a
//! query that is asked again costs no comparison.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

use super::vector::ConceptVector;
use crate::math::Bytes;

/// Directions whose nearest words are kept; each takes about 300 bytes.
const MAX_KEPT: usize = 256;

/// Words by their numbers, nearest first, with the cosine of each.
pub(super) type Nearest = Arc<[(f32, usize)]>;

/// What was looked for: a direction with the bits of its factor, and how many words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    bytes: Bytes,
    factor: u32,
    limit: usize,
}

/// The answers of one table of words.
pub(super) struct NearWords {
    known: Cache<Question, Nearest>,
    searches: AtomicU64,
}

impl Default for NearWords {
    fn default() -> Self {
        Self {
            known: Cache::new(MAX_KEPT),
            searches: AtomicU64::new(0),
        }
    }
}

impl std::fmt::Debug for NearWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NearWords")
            .field("known", &self.known.len())
            .field("searches", &self.searches)
            .finish()
    }
}

impl NearWords {
    /// The words nearest to a direction: known, or found by `search`. Who asks while they are being
    /// looked for waits.
    pub(super) fn get_or_find(
        &self,
        vector: &ConceptVector,
        limit: usize,
        search: impl FnOnce() -> Vec<(f32, usize)>,
    ) -> Nearest {
        let question = Question {
            bytes: vector.bytes,
            factor: vector.factor.to_bits(),
            limit,
        };
        let found = self.known.get_or_insert_with(&question, || {
            self.searches.fetch_add(1, Ordering::Relaxed);
            Ok::<Nearest, Infallible>(search().into())
        });
        match found {
            Ok(nearest) => nearest,
        }
    }

    /// How often all words were compared.
    pub(super) fn searches(&self) -> u64 {
        self.searches.load(Ordering::Relaxed)
    }
}
