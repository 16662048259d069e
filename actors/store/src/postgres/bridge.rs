//! From threads that block to the asynchronous client: one thread drives all connections of a
//! store, whoever asks waits for its answer.
//!
//! The store's callers may be threads of a runtime of their own, which cannot enter another one. So
//! they wait by parking, and the sockets belong to the thread here.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_lite::future::block_on;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::error::Elapsed;

/// The thread that drives connections. It ends with the bridge.
#[derive(Debug)]
pub(super) struct ConnectionRuntime {
    handle: Handle,
    /// Dropped, it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl ConnectionRuntime {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be no further thread or poller.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("store-postgres".to_owned())
            .spawn(move || {
                // Nothing is ever sent: it ends when the sender is gone.
                let _ = runtime.block_on(stopped);
                // What is under way is sent off, as far as the server takes it.
                runtime.block_on(async { tokio::task::yield_now().await });
            })?;
        Ok(Arc::new(Self {
            handle,
            _stop: stop,
        }))
    }

    /// Waits for `work`, but no longer than `limit`.
    pub(super) fn wait<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let _entered = self.handle.enter();
        // The caller's runtime may count how often its task asks, and would answer "later".
        block_on(tokio::task::unconstrained(tokio::time::timeout(
            limit, work,
        )))
    }

    /// Has `work` done by the thread, some time.
    pub(super) fn spawn<F>(&self, work: F) -> tokio::task::AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.handle.spawn(work).abort_handle()
    }
}
