//! The threads that hold the indexes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

/// One thread for each source, by the source's id. They outlive the actors that started them: an
/// index has one holder, so the next thread of a source waits for the previous one.
#[derive(Debug, Clone, Default)]
pub struct IndexThreads(Arc<Mutex<BTreeMap<String, JoinHandle<()>>>>);

impl IndexThreads {
    /// Starts the thread of a source. It runs `work` as soon as the previous thread of this source
    /// has ended, which has been told to.
    pub(crate) fn start(
        &self,
        source: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut threads = self.0.lock();
        threads.retain(|id, thread| id == source || !thread.is_finished());
        // A thread that cannot be started would take the handle with it.
        let previous = Arc::new(Mutex::new(threads.remove(source)));
        let taken = Arc::clone(&previous);
        let started = std::thread::Builder::new()
            .name(format!("indexer-{source}"))
            .spawn(move || {
                let previous = taken.lock().take();
                if let Some(previous) = previous {
                    let _ = previous.join();
                }
                work();
            });
        match started {
            Ok(thread) => {
                threads.insert(source.to_owned(), thread);
                Ok(())
            }
            Err(error) => {
                if let Some(previous) = previous.lock().take() {
                    threads.insert(source.to_owned(), previous);
                }
                Err(error)
            }
        }
    }

    /// Waits until no thread holds an index any more. Call it when the actors have ended, before
    /// the data folder is given to somebody else. Blocks.
    pub fn join_all(&self) {
        let threads = std::mem::take(&mut *self.0.lock());
        for thread in threads.into_values() {
            // How the thread ended was reported by the thread itself.
            let _ = thread.join();
        }
    }
}
