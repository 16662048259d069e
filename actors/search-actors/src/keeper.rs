//! The index keeper: one for each source, keeps its index like the folder.
//!
//! ```text
//! supervisor --starts--> IndexKeeper --commands--> keeper thread --publishes--> SourceSlot
//!                             |                         ^     |
//!                             +--starts, and again------+     +-- after a failure: a pause, then anew
//! ```
//! Walking, reading and indexing block, so they run on a thread of the keeper's own. What fails there is most often the
//! machine's lack of something: room on the disk, descriptors, memory. So a failure is no end of the actor: its thread waits
//! and begins anew, with a longer pause each time, for ever; at once when it is told to reindex. A thread that cannot be
//! started is tried again likewise.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, AsyncContext, Context, Handler, SpawnHandle};
use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::Mutex;
use search_formats_engine::Readers;
use supervision::ChildRef;

use crate::concepts::{ConceptSettings, Models};
use crate::embedding::EmbedDesk;
use crate::keeping::{Command, Keeping};
use crate::messages::Reindex;
use crate::pauses::Pauses;
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
    /// Where the state of the source is published.
    slot: Arc<SourceSlot>,
    /// What all keepers share.
    settings: Arc<KeeperSettings>,
    /// Tells the thread to end soon.
    cancel: Arc<AtomicBool>,
    /// Commands for the thread; dropped with the actor. None while it cannot be started.
    commands: Option<Sender<Command>>,
    /// Between two attempts to start the thread.
    pauses: Pauses,
    /// The next attempt.
    attempt: Option<SpawnHandle>,
}

impl IndexKeeper {
    /// A keeper of the slot's source.
    #[must_use]
    pub fn new(slot: Arc<SourceSlot>, settings: Arc<KeeperSettings>) -> Self {
        Self {
            slot,
            settings,
            cancel: Arc::default(),
            commands: None,
            pauses: Pauses::default(),
            attempt: None,
        }
    }

    /// Starts the thread, now or as soon as the machine can.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        self.attempt = None;
        let Err(error) = self.start_thread() else {
            self.pauses = Pauses::default();
            return;
        };
        let pause = self.pauses.next();
        self.slot
            .down(&format!("cannot start a thread: {error}"), pause);
        self.attempt = Some(ctx.run_later(pause, Self::begin));
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
            skips: Mutex::default(),
            ready: Mutex::default(),
        };
        let mut place = self.slot.thread.lock();
        // A thread that cannot be started would take the handle with it.
        let former = Arc::new(Mutex::new(place.take()));
        let taken = Arc::clone(&former);
        let started = std::thread::Builder::new()
            .name(format!("keeper-{}", self.slot.id))
            .spawn(move || {
                // The former life's thread still holds the index; it has been told to end.
                let former = taken.lock().take();
                if let Some(former) = former {
                    let _ = former.join();
                }
                keeping.keep();
            });
        match started {
            Ok(handle) => *place = Some(handle),
            Err(error) => {
                *place = former.lock().take();
                return Err(error);
            }
        }
        drop(place);
        self.commands = Some(commands);
        Ok(())
    }
}

impl Actor for IndexKeeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.begin(ctx);
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

    fn handle(&mut self, _: Reindex, ctx: &mut Self::Context) {
        match &self.commands {
            // It takes commands for as long as the actor lives.
            Some(commands) => _ = commands.send(Command::Reindex),
            None => {
                if let Some(attempt) = self.attempt.take() {
                    ctx.cancel_future(attempt);
                }
                self.begin(ctx);
            }
        }
    }
}
