//! The index keeper: one for each source, keeps its index like the folder.
//!
//! ```text
//! supervisor --starts--> IndexKeeper --commands--> keeper thread --publishes--> SourceSlot
//!                             ^                         |
//!                             +------life.fail()--------+
//! ```
//! Walking, reading and indexing block, so they run on a thread of the keeper's own; the actor
//! stands for it in the tree: when the thread fails, this life of the actor fails, and the
//! supervisor starts a fresh one with its back-off.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, Context, Handler};
use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::Mutex;
use search_formats_engine::Readers;
use supervision::{ChildContext, ChildRef};

use crate::concepts::{ConceptSettings, Models};
use crate::embedding::EmbedDesk;
use crate::keeping::{Command, Keeping};
use crate::messages::Reindex;
use crate::slot::SourceSlot;

/// What all keepers share.
#[derive(Debug)]
pub struct KeeperSettings {
    /// Folder of the indexes.
    pub(crate) data: PathBuf,
    /// Held while a whole folder is indexed: one at a time, so that memory stays bounded.
    pub(crate) bulk: Mutex<()>,
    /// What the concept threads share.
    pub(crate) concepts: Arc<ConceptSettings>,
    /// Readers of documents that are no text files; without them such files are skipped.
    pub(crate) readers: Option<Readers>,
}

impl KeeperSettings {
    /// Indexes live below `data`; what was learnt of concepts lives in `concepts` beside it. `embeds` asks the embedding
    /// models of servers.
    #[must_use]
    pub fn new(data: PathBuf, embeds: ChildRef<EmbedDesk>) -> Self {
        let concepts = ConceptSettings {
            data: data.with_file_name("concepts"),
            learning: Mutex::new(()),
            models: Models::default(),
            embeds,
        };
        Self {
            concepts: Arc::new(concepts),
            data,
            bulk: Mutex::new(()),
            readers: None,
        }
    }

    /// PDF, office documents, books, mail and notebooks are read by these.
    #[must_use]
    pub fn with_readers(mut self, readers: Option<Readers>) -> Self {
        self.readers = readers;
        self
    }
}

/// The actor.
pub struct IndexKeeper {
    /// Line to the supervisor.
    life: ChildContext,
    /// Where the state of the source is published.
    slot: Arc<SourceSlot>,
    /// What all keepers share.
    settings: Arc<KeeperSettings>,
    /// Tells the thread to end soon.
    cancel: Arc<AtomicBool>,
    /// Commands for the thread; dropped with the actor.
    commands: Option<Sender<Command>>,
}

impl IndexKeeper {
    /// A keeper of the slot's source.
    #[must_use]
    pub fn new(life: ChildContext, slot: Arc<SourceSlot>, settings: Arc<KeeperSettings>) -> Self {
        Self {
            life,
            slot,
            settings,
            cancel: Arc::default(),
            commands: None,
        }
    }

    fn start_thread(&mut self) -> std::io::Result<()> {
        let (commands, inbox) = unbounded();
        let (wake, woken) = bounded(1);
        let keeping = Keeping {
            slot: Arc::clone(&self.slot),
            settings: Arc::clone(&self.settings),
            inbox,
            cancel: Arc::clone(&self.cancel),
            wake,
            woken,
        };
        let (life, slot) = (self.life.clone(), Arc::clone(&self.slot));
        let former = slot.thread.lock().take();
        let handle = std::thread::Builder::new()
            .name(format!("keeper-{}", slot.id))
            .spawn(move || {
                // The former life's thread still holds the index; it has been told to end.
                if let Some(former) = former {
                    let _ = former.join();
                }
                report(
                    &life,
                    &slot,
                    catch_unwind(AssertUnwindSafe(|| keeping.run())),
                );
            })?;
        *self.slot.thread.lock() = Some(handle);
        self.commands = Some(commands);
        Ok(())
    }
}

/// How the thread ended: an order to stop is no failure, everything else is.
fn report(
    life: &ChildContext,
    slot: &SourceSlot,
    end: std::thread::Result<Result<(), crate::keeping::KeepingError>>,
) {
    let reason = match end {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "indexing panicked; the log has the place".to_owned(),
    };
    tracing::error!(event = "keeper.failed", source = slot.haystack.name, %reason);
    slot.fail(&reason);
    life.fail(reason);
}

impl Actor for IndexKeeper {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        if let Err(error) = self.start_thread() {
            self.life.fail(format!("cannot start a thread: {error}"));
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.cancel.store(true, Ordering::Relaxed);
        self.commands = None;
    }
}

impl Drop for IndexKeeper {
    /// A life that is aborted does not see `stopped`.
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

impl Handler<Reindex> for IndexKeeper {
    type Result = ();

    fn handle(&mut self, _: Reindex, _: &mut Self::Context) {
        if let Some(commands) = &self.commands {
            // The thread has just ended: its failure is on the way, and a fresh life compares anyway.
            let _ = commands.send(Command::Reindex);
        }
    }
}
