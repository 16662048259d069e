//! The servers of the products: started in order, stopped in reverse.

use std::future::Future;

use actix_rt::task::JoinHandle;
use anyhow::Context as _;
use daemon::lifecycle::ShutdownSignal;
use tokio::sync::{mpsc, oneshot};

/// The products that serve, in the order of their start.
pub(crate) struct ProductServers {
    all: Vec<ProductServer>,
    /// Tasks that run as long as all of them serve.
    background: Vec<JoinHandle<()>>,
    end_sender: mpsc::UnboundedSender<&'static str>,
    ends: mpsc::UnboundedReceiver<&'static str>,
}

struct ProductServer {
    name: &'static str,
    stop: oneshot::Sender<()>,
    served: JoinHandle<anyhow::Result<()>>,
}

impl ProductServers {
    pub(crate) fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "one end a product")]
        let (end_sender, ends) = mpsc::unbounded_channel();
        Self {
            all: Vec::new(),
            background: Vec::new(),
            end_sender,
            ends,
        }
    }

    /// Has a product serve until it is told to stop.
    pub(crate) fn add<F>(&mut self, name: &'static str, serve: impl FnOnce(ShutdownSignal) -> F)
    where
        F: Future<Output = anyhow::Result<()>> + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let serving = serve(stopped_by(stopped));
        let end_sender = self.end_sender.clone();
        let served = actix_rt::spawn(async move {
            let ended = serving.await;
            // Nobody listens any more while all of them are being ended.
            let _ = end_sender.send(name);
            ended
        });
        self.all.push(ProductServer { name, stop, served });
    }

    /// Runs a task until the first of them is told to stop.
    pub(crate) fn run_beside(&mut self, work: impl Future<Output = ()> + 'static) {
        self.background.push(actix_rt::spawn(work));
    }

    /// Waits until one of them ends by itself.
    pub(crate) async fn first_end(&mut self) -> &'static str {
        match self.ends.recv().await {
            Some(name) => name,
            // This holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// Ends the last, then the one before, and so on; the first error is kept, and none stops the
    /// rest from ending.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        self.background.drain(..).for_each(|work| work.abort());
        let mut worst = Ok(());
        while let Some(ProductServer { name, stop, served }) = self.all.pop() {
            // One that has ended already hears nothing.
            let _ = stop.send(());
            let ended = served.await.map_err(anyhow::Error::from);
            let ended = ended.and_then(|ended| ended).context(name);
            tracing::info!(event = "platform.product_stopped", product = name);
            if worst.is_ok() {
                worst = ended;
            }
        }
        worst
    }
}

fn stopped_by(stopped: oneshot::Receiver<()>) -> ShutdownSignal {
    Box::pin(async move {
        // A platform that is gone wants nothing served either.
        let _ = stopped.await;
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn products_end_in_reverse_and_an_error_stops_none_of_them() {
        actix_rt::System::new().block_on(async {
            let ends = Rc::new(RefCell::new(Vec::new()));
            let mut servers = ProductServers::new();
            for name in ["first", "second", "third"] {
                let ends = Rc::clone(&ends);
                servers.add(name, move |stop| async move {
                    stop.await;
                    ends.borrow_mut().push(name);
                    anyhow::ensure!(name != "second", "the disk is full");
                    Ok(())
                });
            }
            let error = servers.stop().await.unwrap_err();
            assert_eq!(format!("{error:#}"), "second: the disk is full");
            assert_eq!(*ends.borrow(), ["third", "second", "first"]);
        });
    }

    #[test]
    fn a_product_that_ends_by_itself_is_heard_of() {
        actix_rt::System::new().block_on(async {
            let mut servers = ProductServers::new();
            servers.add("stays", |stop| async move {
                stop.await;
                Ok(())
            });
            servers.add("leaves", |_| async { Ok(()) });
            assert_eq!(servers.first_end().await, "leaves");
            servers.stop().await.unwrap();
        });
    }
}
