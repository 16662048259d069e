//! Admission: so many at once, the others are told to come back.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Bounds how many requests do a thing at the same time; shared by all workers through clones.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    limit: usize,
    retry_after_seconds: u32,
}

/// The right to go on; gives it back when dropped.
#[derive(Debug)]
pub struct Permit(#[allow(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl ConcurrencyLimit {
    /// At most `limit` at once (at least one); the others get 503 with `Retry-After`.
    pub fn new(limit: usize, retry_after_seconds: u32) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            retry_after_seconds,
        }
    }

    /// Enters, or says that all places are taken. Never waits: a queue here would only hide
    /// overload.
    ///
    /// # Errors
    /// A 503 problem when `limit` are inside.
    pub fn try_acquire(&self) -> Result<Permit, Problem> {
        Arc::clone(&self.permits)
            .try_acquire_owned()
            .map(Permit)
            .map_err(|_| {
                let detail = format!("all {} places are taken; try again shortly", self.limit);
                Problem::unavailable(detail, self.retry_after_seconds)
                    .kind("overloaded", "Overloaded")
            })
    }
}
