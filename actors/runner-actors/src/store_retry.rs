//! Writes that are repeated until the store takes them, and reads until it answers.

use std::time::Duration;

use store::StoreError;

/// Between two attempts, at first.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// Repeats a write about a run until it is stored.
///
/// # Errors
/// When repeating it cannot help: this process stores nothing more ([`StoreError::is_final`]), or
/// the store does not take it ([`StoreError::is_refused`]).
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
            Err(error) if error.is_refused() => {
                tracing::error!(event = "run.store_refused", %run, %error, "{what} is not stored as it is: the store does not take it");
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

/// Repeats a read about a run until the store answers: one that is away for minutes must leave no
/// run behind that nobody takes up.
///
/// # Errors
/// When asking again cannot help: this process has the store no more, or its rows cannot be read.
pub(crate) async fn until_read<T, F>(
    run: &str,
    mut read: impl FnMut() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut delay = MIN_DELAY;
    loop {
        match read().await {
            Err(error) if error.is_temporary() && !error.is_final() => {
                tracing::warn!(event = "run.store_failed", %run, %error, "the store cannot be read now; tried again");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(MAX_DELAY);
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests;
