//! What a source's concepts are kept by: a thread of low priority beside the indexer's.
//!
//! ```text
//! indexer thread --wake--> concepts thread --publish--> GraphIndex of the handle <--read-- searches
//!                           |  reads what the index holds: files, in the order of their keys
//!                           +- learns in steps of some 20 ms; checkpoints in the data folder
//! ```
//! It compares what it knows with the published index and catches up, so nothing is lost when it is
//! woken once for many changes, or started again.

mod documents;
mod embedding_files;
mod embedding_store;
mod error;
mod files;
mod known_documents;
mod models;
mod passage_cache;
mod settings;
mod tasks;
mod throttle;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use search_engine::index::IndexSnapshot;

use crate::source_handle::SourceHandle;
pub(crate) use embedding_files::{embedding_files, is_embeddings};
pub(crate) use models::LoadedModels;
pub(crate) use settings::ConceptSettings;
pub(crate) use tasks::ConceptDuty;
pub use throttle::LearningRests;
use work::ConceptWorker;

/// The thread; dropping this ends it and waits for that.
pub(crate) struct ConceptThread {
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ConceptThread {
    /// Starts the thread of a source. It works whenever `woken` receives something.
    pub(crate) fn start(
        handle: &Arc<SourceHandle>,
        settings: &Arc<ConceptSettings>,
        woken: Receiver<()>,
        duty: ConceptDuty,
    ) -> std::io::Result<Self> {
        let cancel: Arc<AtomicBool> = Arc::default();
        let work = ConceptWorker::new(
            (Arc::clone(handle), duty),
            Arc::clone(settings),
            Arc::clone(&cancel),
            woken,
        );
        let name = handle.haystack.name.clone();
        let thread = std::thread::Builder::new()
            .name(match duty {
                ConceptDuty::Embedding => format!("embedding-{}", handle.id),
                _ => format!("concepts-{}", handle.id),
            })
            .spawn(move || {
                lower_priority();
                // Search goes on without; the next incarnation of the indexer starts a fresh
                // thread.
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

/// Takes up what another process has learnt of a source and published with its index; without a
/// folder there is none. Suggestions are made of the index. Says whether it is to be tried again,
/// as the embedding model of this machine cannot be used now.
///
/// # Errors
/// It cannot be read.
pub(crate) fn adopt_published(
    handle: &Arc<SourceHandle>,
    settings: &Arc<ConceptSettings>,
    folder: Option<PathBuf>,
    snapshot: &IndexSnapshot,
) -> Result<bool, String> {
    let (_, woken) = crossbeam_channel::bounded(0);
    let worker = ConceptWorker::new(
        (Arc::clone(handle), ConceptDuty::All),
        Arc::clone(settings),
        Arc::default(),
        woken,
    );
    let worker = match folder {
        Some(folder) => worker.in_folder(folder),
        None => worker,
    };
    worker
        .take_up_published(snapshot)
        .map_err(|error| error.to_string())
}

/// Searches come first: on Linux the priority is that of this thread alone.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}
