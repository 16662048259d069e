//! The thread that carries everything out: its callers block, some of them on threads of a runtime
//! of their own, which cannot enter another one.

use std::future::Future;
use std::io;
use std::sync::mpsc as blocking;

use futures_lite::future::block_on;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::objects::bridge::{HttpBridge, run_exchanges};

/// The thread. It ends when the last bridge is gone.
#[derive(Debug)]
pub(crate) struct ConnectionWorker {
    handle: Handle,
}

impl ConnectionWorker {
    /// Starts the thread; requests go by the bridge.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub(crate) fn start() -> io::Result<(Self, HttpBridge)> {
        #[expect(
            clippy::disallowed_methods,
            reason = "whoever asks waits for its answer"
        )]
        let (bridge, exchanges) = mpsc::unbounded_channel();
        let (started, handle) = blocking::channel();
        std::thread::Builder::new()
            .name("object-storage".to_owned())
            .spawn(move || {
                actix_rt::System::new().block_on(async {
                    let _ = started.send(Handle::current());
                    run_exchanges(exchanges).await;
                });
            })?;
        let handle = handle.recv().map_err(io::Error::other)?;
        Ok((Self { handle }, HttpBridge(bridge)))
    }

    /// Has `work` done by the thread, and waits for it; `None` when the thread has ended.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (done, result) = blocking::channel();
        self.handle.spawn(async move {
            let _ = done.send(work.await);
        });
        result.recv().ok()
    }

    /// Has `work` done by the thread, some time.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }
}

/// Waits for what comes next, on any thread.
pub(crate) fn next<T>(coming: &mut mpsc::Receiver<T>) -> Option<T> {
    // The caller's runtime may count how often its task asks, and would answer "later".
    block_on(tokio::task::unconstrained(coming.recv()))
}
