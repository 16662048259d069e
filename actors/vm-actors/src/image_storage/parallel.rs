//! The chunks of one image, a few at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::error::ImageStorageError;

/// Chunks at once; each holds some 8 MiB.
const WORKERS: usize = 4;

/// Does `work` for each index below `count`; ends at the first error.
pub(super) fn for_each(
    count: usize,
    work: impl Fn(usize) -> Result<(), ImageStorageError> + Sync,
) -> Result<(), ImageStorageError> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        (index < count && failed.lock().is_none()).then_some(index)
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(count) {
            scope.spawn(|| {
                while let Some(index) = take() {
                    if let Err(error) = work(index) {
                        failed.lock().get_or_insert(error);
                    }
                }
            });
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}
