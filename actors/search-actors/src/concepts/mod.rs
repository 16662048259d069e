//! What a source's concepts are kept by: a thread of low priority beside the keeper's.
//!
//! ```text
//! keeper thread --wake--> concepts thread --publish--> GraphIndex of the slot <--read-- searches
//!                           |  reads what the index holds: files, in the order of their keys
//!                           +- learns in steps of some 20 ms; checkpoints in the data folder
//! ```
//! It compares what it knows with the published index and catches up, so nothing is lost when it is
//! woken once for many changes, or started again.

mod saved;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use parking_lot::Mutex;
use supervision::ChildRef;

use crate::embedding::EmbedDesk;
use crate::slot::SourceSlot;
pub(crate) use work::Models;
use work::Work;

/// What the concept threads of all sources share.
#[derive(Debug)]
pub(crate) struct ConceptSettings {
    /// Folder of what was learnt.
    pub(crate) data: PathBuf,
    /// Held while one source learns: one at a time, so that memory stays bounded.
    pub(crate) learning: Mutex<()>,
    /// Embedding models in memory.
    pub(crate) models: Models,
    /// Who asks the embedding models of servers.
    pub(crate) embeds: ChildRef<EmbedDesk>,
}

/// The thread; dropping this ends it and waits for that.
pub(crate) struct ConceptThread {
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ConceptThread {
    /// Starts the thread of a source. It works whenever `woken` receives something.
    pub(crate) fn start(
        slot: &Arc<SourceSlot>,
        settings: &Arc<ConceptSettings>,
        woken: Receiver<()>,
    ) -> std::io::Result<Self> {
        let cancel: Arc<AtomicBool> = Arc::default();
        let work = Work::new(
            Arc::clone(slot),
            Arc::clone(settings),
            Arc::clone(&cancel),
            woken,
        );
        let name = slot.haystack.name.clone();
        let thread = std::thread::Builder::new()
            .name(format!("concepts-{}", slot.id))
            .spawn(move || {
                lower_priority();
                // Search goes on without; the next life of the keeper starts a fresh thread.
                if catch_unwind(AssertUnwindSafe(|| work.run())).is_err() {
                    tracing::error!(
                        event = "concepts.panicked",
                        source = name,
                        "learning concepts panicked; search goes on without"
                    );
                }
            })?;
        Ok(Self {
            cancel,
            thread: Some(thread),
        })
    }
}

impl Drop for ConceptThread {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        // How the thread ended was reported by the thread itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Searches come first: on Linux the priority is that of this thread alone.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}
