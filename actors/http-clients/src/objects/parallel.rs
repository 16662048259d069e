//! Many objects, a few at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Objects at once; each holds some 8 MiB.
const WORKERS: usize = 4;

/// Does `work` for each index below `count`, a few at once.
///
/// # Errors
/// The first one; what is not begun by then is left.
pub fn for_each<E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
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
