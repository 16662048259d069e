//! The tree of actors as data, for `GET /admin/actors`.
//!
//! The tree is read from shared nodes, not asked by message: it can be shown also while a
//! supervisor is busy, waits, or hangs.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use serde::Serialize;

use crate::{exit::Exit, policy::Restart, settings::ChildSettings};

/// What a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildKind {
    /// An actor that works.
    Worker,
    /// An actor that has children.
    Supervisor,
}

/// Where a child is in its lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorState {
    /// Not started yet, or stopped together with a sibling it depends on.
    #[default]
    Idle,
    /// Its incarnation is made; its event loop has not turned yet.
    Starting,
    /// Its event loop turns.
    Running,
    /// It was told to stop.
    Stopping,
    /// It failed; the restart waits for the back-off.
    BackingOff,
    /// It failed more often than its policy allows and stays down until it is resumed.
    Parked,
    /// It ended and is not restarted.
    Ended,
}

/// One actor as the tree shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActorNode {
    /// The child's id, unique among its siblings.
    pub name: String,
    /// Worker or supervisor.
    pub kind: ChildKind,
    /// Which ends are followed by a restart.
    pub restart: Restart,
    /// Where it is in its lifecycle.
    pub state: ActorState,
    /// Which incarnation this is, counted from 1; 0 before the first.
    pub incarnation: u64,
    /// How often it was started again.
    pub restarts: u64,
    /// Messages that wait in its mailbox.
    pub mailbox: usize,
    /// The most messages its mailbox takes.
    pub capacity: usize,
    /// How its last incarnation ended.
    pub last_exit: Option<Exit>,
    /// When, in milliseconds since 1970 (UTC).
    pub last_exit_at_ms: Option<u64>,
    /// Its children in start order.
    pub children: Vec<ActorNode>,
}

impl ActorNode {
    /// The node at a path of ids below this one: `["search", "keeper"]`.
    pub fn find(&self, path: &[&str]) -> Option<&Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        self.children
            .iter()
            .find(|child| child.name == *name)?
            .find(rest)
    }
}

/// A view of the whole tree. Cheap to clone; `Send` and `Sync`.
#[derive(Debug, Clone)]
pub struct ActorTree {
    pub(crate) root: Arc<ChildNode>,
}

impl ActorTree {
    /// The tree as it is now. Each node is read at its own moment.
    pub fn snapshot(&self) -> ActorNode {
        self.root.snapshot()
    }
}

/// The messages that wait for an incarnation, without the actor's type.
pub(crate) trait Backlog: Send + Sync {
    /// How many.
    fn waiting(&self) -> usize;
}

/// A child in the tree; it outlives the child's incarnations. Each change of state is written
/// down and logged here, so that the tree and the log cannot disagree.
pub(crate) struct ChildNode {
    name: Arc<str>,
    kind: ChildKind,
    path: OnceLock<String>,
    pub(crate) settings: ChildSettings,
    record: Mutex<Record>,
    children: Mutex<Vec<Arc<ChildNode>>>,
}

struct Record {
    state: ActorState,
    restart: Restart,
    incarnation: u64,
    backlog: Option<Weak<dyn Backlog>>,
    last_exit: Option<(Exit, u64)>,
}

impl std::fmt::Debug for ChildNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl ChildNode {
    pub(crate) fn new(name: Arc<str>, kind: ChildKind) -> Self {
        let record = Record {
            state: ActorState::Idle,
            restart: Restart::Permanent,
            incarnation: 0,
            backlog: None,
            last_exit: None,
        };
        Self {
            name,
            kind,
            path: OnceLock::new(),
            settings: ChildSettings::default(),
            record: Mutex::new(record),
            children: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The path of ids from the root; the id alone before a supervisor has it.
    pub(crate) fn path(&self) -> String {
        self.path
            .get()
            .cloned()
            .unwrap_or_else(|| self.name.to_string())
    }

    /// Takes `child` under this node.
    pub(crate) fn attach(&self, child: &Arc<Self>, restart: Restart) {
        child
            .path
            .get_or_init(|| format!("{}/{}", self.path(), child.name));
        child.record.lock().restart = restart;
        let mut children = self.children.lock();
        if !children.iter().any(|known| Arc::ptr_eq(known, child)) {
            children.push(Arc::clone(child));
        }
    }

    /// Takes `child` out of the tree.
    pub(crate) fn detach(&self, child: &Arc<Self>) {
        self.children
            .lock()
            .retain(|known| !Arc::ptr_eq(known, child));
    }

    /// Forgets children that a previous incarnation of this supervisor started at run time.
    pub(crate) fn detach_all(&self) {
        self.children.lock().clear();
    }

    /// The number of the next incarnation.
    pub(crate) fn next_incarnation(&self) -> u64 {
        let mut record = self.record.lock();
        record.incarnation += 1;
        record.state = ActorState::Starting;
        record.incarnation
    }

    /// What waits for the incarnation that was just made.
    pub(crate) fn start_incarnation(&self, backlog: &Arc<dyn Backlog>) {
        self.record.lock().backlog = Some(Arc::downgrade(backlog));
    }

    /// The event loop of this incarnation turned for the first time.
    pub(crate) fn started(&self, incarnation: u64) {
        let mut record = self.record.lock();
        if record.incarnation == incarnation && record.state == ActorState::Starting {
            record.state = ActorState::Running;
        }
        drop(record);
        tracing::info!(event = "actor.started", actor = self.path(), incarnation);
    }

    /// It was told to stop while it ran.
    pub(crate) fn stopping(&self) {
        let mut record = self.record.lock();
        if matches!(record.state, ActorState::Starting | ActorState::Running) {
            record.state = ActorState::Stopping;
        }
    }

    /// A state without an event of its own.
    pub(crate) fn set_state(&self, state: ActorState) {
        self.record.lock().state = state;
    }

    /// An incarnation ended.
    pub(crate) fn record_exit(&self, incarnation: u64, exit: &Exit) {
        let mut record = self.record.lock();
        record.backlog = None;
        record.last_exit = Some((exit.clone(), unix_ms()));
        drop(record);
        let actor = self.path();
        match exit {
            Exit::Normal => tracing::info!(event = "actor.exited", actor, incarnation, %exit),
            Exit::Hung { missed } => {
                tracing::error!(event = "actor.hung", actor, incarnation, missed);
                tracing::warn!(event = "actor.exited", actor, incarnation, %exit);
            }
            _ => tracing::warn!(event = "actor.exited", actor, incarnation, %exit),
        }
    }

    /// An incarnation ended before it was made.
    pub(crate) fn not_started(&self, exit: &Exit) {
        let incarnation = self.next_incarnation();
        self.record_exit(incarnation, exit);
    }

    /// The next incarnation is scheduled.
    pub(crate) fn backing_off(&self, delay: Duration) {
        self.set_state(ActorState::BackingOff);
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(event = "actor.restarting", actor = self.path(), delay_ms);
    }

    /// The child stays down.
    pub(crate) fn parked(&self, failures: u32) {
        self.set_state(ActorState::Parked);
        tracing::error!(event = "actor.parked", actor = self.path(), failures);
    }

    /// The failure moves up to the supervisor of `self`'s supervisor.
    pub(crate) fn escalated(&self, failures: u32) {
        self.set_state(ActorState::Ended);
        tracing::error!(event = "actor.escalated", actor = self.path(), failures);
    }

    pub(crate) fn snapshot(&self) -> ActorNode {
        let children = self.children.lock().clone();
        let record = self.record.lock();
        ActorNode {
            name: self.name.to_string(),
            kind: self.kind,
            restart: record.restart,
            state: record.state,
            incarnation: record.incarnation,
            restarts: record.incarnation.saturating_sub(1),
            mailbox: record
                .backlog
                .as_ref()
                .and_then(Weak::upgrade)
                .map_or(0, |backlog| backlog.waiting()),
            capacity: self.settings.capacity(),
            last_exit: record.last_exit.as_ref().map(|(exit, _)| exit.clone()),
            last_exit_at_ms: record.last_exit.as_ref().map(|(_, at)| *at),
            children: {
                drop(record);
                children.iter().map(|child| child.snapshot()).collect()
            },
        }
    }
}

/// Now, in milliseconds since the Unix epoch, as it stands in what is kept and shown.
#[must_use]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
