//! Writes that are repeated until the store takes them.

use std::time::Duration;

use store::StoreError;

/// Between two attempts, at first.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// Repeats a write about a run until it is stored.
///
/// # Errors
/// When this process stores nothing more ([`StoreError::is_final`]): repeating it cannot help.
pub(crate) async fn until_stored<F>(
    run: &str,
    what: &str,
    mut write: impl FnMut() -> F,
) -> Result<(), StoreError>
where
    F: Future<Output = Result<(), StoreError>>,
{
    let mut delay = MIN_DELAY;
    loop {
        match write().await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_final() => {
                tracing::warn!(event = "run.store_failed", %run, %error, "{what} is not stored: this process stores nothing more");
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(event = "run.store_failed", %run, %error, "{what} cannot be stored; tried again");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(MAX_DELAY);
            }
        }
    }
}

#[cfg(test)]
mod tests;
