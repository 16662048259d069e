//! The source indexer: one for each source, keeps its index like the folder.
//!
//! ```text
//! supervisor --starts--> SourceIndexer --commands--> indexer thread --publishes--> SourceHandle
//!                             |                         ^     |
//!                             +--starts, and again------+     +-- after a failure: a pause, then anew
//! ```
//! Walking, reading and indexing block, so they run on a thread of the indexer's own. What fails
//! there is most often the machine's lack of something: room on the disk, descriptors, memory. So a
//! failure is no end of the actor: its thread waits and begins anew, with a longer pause each time,
//! for ever; at once when it is told to reindex. A thread that cannot be started is tried again
//! likewise.
//!
//! In a searcher the thread follows what indexers of other machines publish instead.

mod comparing;
mod concepts;
mod document_sink;
mod following;
mod index_loop;
mod merger;
mod mounts;
mod opening;
mod poll_pace;
mod revisions;
mod settings;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, AsyncContext, Context, Handler, SpawnHandle};
use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;

use crate::backoff::Backoff;
use crate::messages::Reindex;
use crate::snapshots::{SnapshotFollower, SnapshotMode};
use crate::source_handle::SourceHandle;
use index_loop::{IndexCommand, IndexLoop};

pub use opening::in_step_mark;
pub use revisions::source_git;
pub use settings::IndexerSettings;
pub use threads::IndexThreads;

/// The actor.
pub struct SourceIndexer {
    /// Where the state of the source is published.
    handle: Arc<SourceHandle>,
    /// What all indexers share.
    settings: Arc<IndexerSettings>,
    /// Tells the thread to end soon.
    cancel: Arc<AtomicBool>,
    /// Commands for the thread; dropped with the actor. None while it cannot be started.
    commands: Option<Sender<IndexCommand>>,
    /// Between two attempts to start the thread.
    pauses: Backoff,
    /// The next attempt.
    attempt: Option<SpawnHandle>,
}

impl SourceIndexer {
    /// An indexer of the handle's source.
    #[must_use]
    pub fn new(handle: Arc<SourceHandle>, settings: Arc<IndexerSettings>) -> Self {
        Self {
            handle,
            settings,
            cancel: Arc::default(),
            commands: None,
            pauses: Backoff::default(),
            attempt: None,
        }
    }

    /// Starts the thread, now or as soon as the machine can.
    fn start_or_retry(&mut self, ctx: &mut Context<Self>) {
        self.attempt = None;
        let Err(error) = self.start_thread() else {
            self.pauses = Backoff::default();
            return;
        };
        let pause = self.pauses.next();
        self.handle
            .record_failure(&format!("cannot start a thread: {error}"), pause);
        self.attempt = Some(ctx.run_later(pause, Self::start_or_retry));
    }

    fn start_thread(&mut self) -> std::io::Result<()> {
        let (commands, inbox) = bounded(1);
        if let SnapshotMode::Searcher(place) = &self.settings.snapshots {
            let follower = SnapshotFollower::new(
                (
                    Arc::clone(&self.handle),
                    Arc::clone(&self.settings.concepts),
                ),
                self.settings.folders(&self.handle.id).published,
                place,
                inbox,
                Arc::clone(&self.cancel),
            );
            let threads = &self.settings.threads;
            threads.start(&self.handle.id, move || follower.run())?;
            self.commands = Some(commands);
            return Ok(());
        }
        let (wake, woken) = bounded(1);
        let index_loop = IndexLoop {
            handle: Arc::clone(&self.handle),
            settings: Arc::clone(&self.settings),
            inbox,
            cancel: Arc::clone(&self.cancel),
            lost: Arc::default(),
            wake,
            woken,
            ready: Mutex::default(),
        };
        let threads = &self.settings.threads;
        threads.start(&self.handle.id, move || index_loop.run())?;
        self.commands = Some(commands);
        Ok(())
    }
}

impl Actor for SourceIndexer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.start_or_retry(ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.cancel.store(true, Ordering::Relaxed);
        self.commands = None;
    }
}

impl Drop for SourceIndexer {
    /// An incarnation that is aborted does not see `stopped`.
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

impl Handler<Reindex> for SourceIndexer {
    type Result = ();

    fn handle(&mut self, _: Reindex, ctx: &mut Self::Context) {
        match &self.commands {
            // A full queue holds the same command already.
            Some(commands) => _ = commands.try_send(IndexCommand::Reindex),
            None => {
                if let Some(attempt) = self.attempt.take() {
                    ctx.cancel_future(attempt);
                }
                self.start_or_retry(ctx);
            }
        }
    }
}
