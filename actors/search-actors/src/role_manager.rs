//! The role manager: puts a changed role file in force, and has an indexer for each source with an
//! index.
//!
//! ```text
//! configuration --ApplyRoles--> RoleManager --replace--> RoleRegistry <--read-- searches
//!                                  |---RolesReplaced--> RemoteSources
//!                                  +---start, stop---> indexers ── SourceIndexer…
//! ```
//! Indexers are children of `indexers` that are started at run time. What runs is kept beside the
//! service, so a new incarnation of it goes on where the former one was; and it ticks regularly, so
//! indexers whose supervisor was restarted come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AtomicResponse, Context, Handler, WrapFuture};
use actix::{ActorFutureExt, ResponseActFuture};
use futures_util::future::join_all;
use parking_lot::Mutex;
use search_engine::texts::TextStore;
use supervision::{
    ChildRef, ChildSpec, StartChildError, StartRefusal, Supervisor, TellError, TickHandle,
    start_tick,
};

use crate::indexer::{IndexerSettings, SourceIndexer};
use crate::messages::{ApplyRoles, Reindex, RolesReplaced};
use crate::registry::{RolePublisher, RoleSet};
use crate::remote_sources::RemoteSources;
use crate::snapshots::SnapshotMode;
use crate::source_handle::{ReindexHandle, SourceHandle};

/// How often the indexers are compared with the role set.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(1);
/// The longest an indexer may take to end: it writes down what it has indexed.
const INDEXER_STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// What all incarnations of the service share.
#[derive(Debug)]
pub(crate) struct RoleManagerContext {
    pub(crate) publisher: RolePublisher,
    pub(crate) remote_sources: ChildRef<RemoteSources>,
    /// The indexers' supervisor.
    pub(crate) indexers: ChildRef<Supervisor>,
    pub(crate) settings: Arc<IndexerSettings>,
    pub(crate) running: Mutex<RunningIndexers>,
}

/// The indexers that were started, by the names of their sources.
#[derive(Debug, Default)]
pub(crate) struct RunningIndexers {
    /// The incarnation of the supervisor they were started in.
    incarnation: Option<u64>,
    indexers: BTreeMap<String, Arc<SourceHandle>>,
}

/// What makes the indexers those of the roles in force.
#[derive(Debug, Default)]
struct IndexerChanges {
    /// Indexers of sources that are gone, or have other settings now.
    stop: Vec<Arc<SourceHandle>>,
    /// Sources without an indexer.
    start: Vec<Arc<SourceHandle>>,
    /// Sources whose indexer has to stop first.
    replace: Vec<Arc<SourceHandle>>,
}

impl IndexerChanges {
    fn between(
        running: &BTreeMap<String, Arc<SourceHandle>>,
        sources: &[Arc<SourceHandle>],
    ) -> Self {
        let is_kept =
            |running: &Arc<SourceHandle>| sources.iter().any(|one| Arc::ptr_eq(one, running));
        let stop = running.values().filter(|running| !is_kept(running));
        let mut changes = Self {
            stop: stop.cloned().collect(),
            ..Self::default()
        };
        for source in sources.iter().filter(|source| !source.is_live()) {
            match running.get(&source.id) {
                None => changes.start.push(Arc::clone(source)),
                Some(running) if Arc::ptr_eq(running, source) => {}
                Some(_) => changes.replace.push(Arc::clone(source)),
            }
        }
        changes
    }
}

/// The actor.
pub struct RoleManager {
    context: Arc<RoleManagerContext>,
    /// Compares the indexers with the role set.
    ticks: Option<TickHandle>,
}

impl RoleManager {
    pub(crate) fn new(context: Arc<RoleManagerContext>) -> Self {
        Self {
            context,
            ticks: None,
        }
    }
}

impl Actor for RoleManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let ticks = start_tick(ctx, RECONCILE_INTERVAL, |manager: &mut Self, _| {
            let context = Arc::clone(&manager.context);
            Box::pin(async move { context.reconcile().await }.into_actor(manager))
        });
        ticks.wake();
        self.ticks = Some(ticks);
    }
}

impl Handler<ApplyRoles> for RoleManager {
    type Result = AtomicResponse<Self, u64>;

    fn handle(&mut self, ApplyRoles(file): ApplyRoles, _: &mut Self::Context) -> Self::Result {
        let former = self.context.publisher.registry().now();
        let unchanged = former.generation();
        // Thesauri are read.
        let made = actix_rt::task::spawn_blocking(move || former.updated(&file));
        let applied: ResponseActFuture<Self, u64> =
            Box::pin(made.into_actor(self).map(move |made, manager, _| {
                let Ok(role_set) = made else {
                    tracing::error!(
                        event = "roles.panicked",
                        "a role file could not be put in force"
                    );
                    return unchanged;
                };
                let generation = manager.publish(role_set);
                if let Some(ticks) = &manager.ticks {
                    ticks.wake();
                }
                generation
            }));
        AtomicResponse::new(applied)
    }
}

impl RoleManager {
    fn publish(&self, role_set: RoleSet) -> u64 {
        let role_set = self.context.publisher.publish(role_set);
        // While it restarts: the next one begins with this role set.
        let _ = self.context.remote_sources.tell(RolesReplaced);
        tracing::info!(
            event = "roles.applied",
            roles = role_set.roles().len(),
            sources = role_set.handles().len(),
            generation = role_set.generation(),
        );
        role_set.generation()
    }
}

impl RoleManagerContext {
    /// Starts and stops indexers until they are those of the role set.
    async fn reconcile(&self) {
        let incarnation = self.indexers.ready_after(0).await;
        let role_set = self.publisher.registry().now();
        let changes = {
            let mut running = self.running.lock();
            if running.incarnation != Some(incarnation) {
                // The supervisor was restarted, and its children with it.
                running.incarnation = Some(incarnation);
                running.indexers.clear();
            }
            IndexerChanges::between(&running.indexers, role_set.handles())
        };
        for handle in &changes.start {
            self.start(handle).await;
        }
        join_all(changes.stop.iter().map(|handle| self.stop(handle))).await;
        // The thread of each waits for that of the stopped indexer.
        for handle in &changes.replace {
            self.start(handle).await;
        }
    }

    async fn stop(&self, handle: &Arc<SourceHandle>) {
        match self
            .indexers
            .stop_child(handle.id.clone(), INDEXER_STOP_TIMEOUT)
            .await
        {
            Ok(()) | Err(supervision::ChildError::NoSuchChild(_)) => {}
            Err(error) => {
                tracing::warn!(event = "indexer.unstopped", source = handle.haystack.name, %error);
                return;
            }
        }
        handle.set_reindex_handle(None);
        self.running.lock().indexers.remove(&handle.id);
    }

    async fn start(&self, handle: &Arc<SourceHandle>) {
        if handle.haystack.indexed_files().is_none() {
            if handle.read_status(|status| status.error.is_none()) {
                handle.refuse();
            }
            return;
        }
        match self.indexers.start_child(self.spec(handle)).await {
            Ok(indexer) => {
                let (supervisor, id) = (self.indexers.clone(), handle.id.clone());
                let reindex = ReindexHandle::new(move || match indexer.tell(Reindex) {
                    // Parked, it has failed too often: it begins anew, by comparing everything.
                    Err(TellError::Unavailable { .. }) => supervisor.resume_child(id.clone()),
                    told => told,
                });
                handle.set_reindex_handle(Some(reindex));
                let mut running = self.running.lock();
                running
                    .indexers
                    .insert(handle.id.clone(), Arc::clone(handle));
            }
            Err(StartChildError::Refused(refused @ StartRefusal::Full { .. })) => {
                handle.fail(&refused.to_string());
            }
            // It is tried again at the next look.
            Err(error) => {
                tracing::debug!(event = "indexer.unstarted", source = handle.haystack.name, %error);
            }
        }
    }

    fn spec(&self, handle: &Arc<SourceHandle>) -> ChildSpec<SourceIndexer> {
        let fetches = matches!(self.settings.snapshots, SnapshotMode::Searcher(_));
        if fetches || self.settings.readers.is_some() {
            let folder = self.settings.data.join(format!("{}.texts", handle.id));
            // A handle that succeeds another one has its texts already.
            let _ = handle.texts.set(Arc::new(TextStore::new(folder)));
        }
        let (handle, settings) = (Arc::clone(handle), Arc::clone(&self.settings));
        let id = handle.id.clone();
        ChildSpec::new(id, move |_| {
            SourceIndexer::new(Arc::clone(&handle), Arc::clone(&settings))
        })
        .capacity(16)
        .shutdown(INDEXER_STOP_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(function: &str, folders: &[&str]) -> search_core::role::RoleFile {
        let haystacks = folders.iter().map(|name| {
            serde_json::json!({"name": name, "service": "LocalFiles", "location": format!("/{name}")})
        });
        let haystacks: Vec<_> = haystacks.collect();
        let role = serde_json::json!({"name": "R", "relevance_function": function, "haystacks": haystacks});
        let environment = config_core::Environment::default();
        let roles = search_core::role::parse("roles.json", &role.to_string(), &environment);
        roles.expect("valid roles")
    }

    fn names(handles: &[Arc<SourceHandle>]) -> Vec<&str> {
        let names = handles.iter().map(|handle| handle.haystack.name.as_str());
        names.collect()
    }

    #[test]
    fn sources_that_stay_keep_their_indexers_and_others_are_started_and_stopped() {
        let before = RoleSet::new(&roles("BM25", &["stays", "goes"]));
        let changes = IndexerChanges::between(&BTreeMap::new(), before.handles());
        assert_eq!(names(&changes.start), ["stays", "goes"]);
        assert!(changes.stop.is_empty() && changes.replace.is_empty());

        let started = changes.start.into_iter();
        let mut running: BTreeMap<_, _> =
            started.map(|handle| (handle.id.clone(), handle)).collect();
        let after = before.updated(&roles("BM25", &["stays", "comes"]));
        let changes = IndexerChanges::between(&running, after.handles());
        assert_eq!(names(&changes.start), ["comes"]);
        assert_eq!(names(&changes.stop), ["goes"]);
        assert!(changes.replace.is_empty());

        // Concepts are learnt now: the indexer has other settings.
        running.retain(|_, handle| handle.haystack.name == "stays");
        let changed = after.updated(&roles("ServiceGraph", &["stays"]));
        let changes = IndexerChanges::between(&running, changed.handles());
        assert_eq!(names(&changes.replace), ["stays"]);
        assert_eq!(names(&changes.stop), ["stays"]);
        assert!(changes.start.is_empty());
    }
}
