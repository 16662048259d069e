//! timeouts (first: plain tokio)
use std::{future::Future, time::Duration};
pub(crate) struct Elapsed;
pub(crate) async fn within<F: Future>(timeout: Duration, future: F) -> Result<F::Output, Elapsed> {
    if std::env::var_os("NOTIMEOUT").is_some() {
        return Ok(future.await);
    }
    tokio::time::timeout(timeout, future)
        .await
        .map_err(|_| Elapsed)
}
