//! The board: what the index keepers have published, read by searches without asking anyone.
//!
//! ```text
//! IndexKeeper --publish--> SourceSlot <--read-- search workers, GET /health
//! ```
//! One slot a source; roles that name the same source share its slot and so its index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock};
use search_core::answer::{IndexProgress, SourceState};
use search_core::role::{Haystack, Role, RoleFile};
use search_engine::index::IndexSnapshot;
use search_engine::walk::RootFolder;

/// Everything that can be searched, role by role.
#[derive(Debug)]
pub struct Board {
    roles: Vec<RoleEntry>,
    default_role: String,
    slots: Vec<Arc<SourceSlot>>,
}

/// One role and its sources.
#[derive(Debug)]
pub struct RoleEntry {
    /// The role as configured.
    pub role: Role,
    /// One slot a haystack, in the order of the configuration.
    pub sources: Vec<RoleSource>,
}

/// A haystack of a role, and the slot of the source behind it.
#[derive(Debug)]
pub struct RoleSource {
    /// The haystack as configured: its display name can differ from role to role.
    pub haystack: Haystack,
    /// What its keeper has published.
    pub slot: Arc<SourceSlot>,
}

/// What one keeper has published about its source.
#[derive(Debug)]
pub struct SourceSlot {
    /// Names the source in document ids and on disk: eight hex digits.
    pub id: String,
    /// The haystack it was made from.
    pub haystack: Haystack,
    published: RwLock<Published>,
    /// Counts the changes that a search can see.
    version: AtomicU64,
    /// The thread of the present or the former keeper; the next one waits for its end.
    pub(crate) thread: Mutex<Option<JoinHandle<()>>>,
}

/// The changing part of a slot.
#[derive(Debug, Clone)]
pub struct Published {
    /// The searchable state; none before the index has been opened.
    pub snapshot: Option<IndexSnapshot>,
    /// The folder behind it, once it has been found.
    pub root: Option<Arc<RootFolder>>,
    /// What the source is doing.
    pub state: SourceState,
    /// When the index last changed.
    pub updated_at: Option<SystemTime>,
    /// Why it is not (completely) searchable.
    pub error: Option<String>,
    /// How far indexing is.
    pub progress: IndexProgress,
    /// Files that were not indexed, by reason.
    pub skipped: BTreeMap<String, u64>,
}

impl SourceSlot {
    fn new(id: String, haystack: Haystack) -> Self {
        let published = Published {
            snapshot: None,
            root: None,
            state: SourceState::Starting,
            updated_at: None,
            error: None,
            progress: IndexProgress::default(),
            skipped: BTreeMap::new(),
        };
        Self {
            id,
            haystack,
            published: RwLock::new(published),
            version: AtomicU64::new(0),
            thread: Mutex::new(None),
        }
    }

    /// Counts the changes that a search can see: equal versions give equal answers.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The state at this moment.
    #[must_use]
    pub fn read(&self) -> Published {
        self.published.read().clone()
    }

    /// Looks at the state without copying it.
    pub fn with<T>(&self, look: impl FnOnce(&Published) -> T) -> T {
        look(&self.published.read())
    }

    /// Changes the state in a way that searches see; only the source's keeper does this.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Published)) {
        let mut published = self.published.write();
        change(&mut published);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes the progress, which no answer shows.
    pub(crate) fn publish_progress(&self, change: impl FnOnce(&mut Published)) {
        change(&mut self.published.write());
    }

    /// The source cannot be searched, or not completely; what was searchable stays so.
    pub(crate) fn fail(&self, reason: &str) {
        self.publish(|published| {
            published.state = SourceState::Failed;
            published.error = Some(reason.to_owned());
        });
    }

    /// This version has no keeper for the source's service.
    pub(crate) fn refuse(&self) {
        let service = self.haystack.service().as_str();
        self.fail(&format!(
            "this version searches LocalFiles only; {service} sources come with the next one"
        ));
    }
}

impl Board {
    /// One entry a role of the file, one slot a distinct source.
    #[must_use]
    pub fn new(file: &RoleFile) -> Self {
        let mut slots: Vec<Arc<SourceSlot>> = Vec::new();
        let mut slot_of = |haystack: &Haystack| {
            let id = source_id(haystack);
            if let Some(slot) = slots.iter().find(|slot| slot.id == id) {
                return Arc::clone(slot);
            }
            slots.push(Arc::new(SourceSlot::new(id, haystack.clone())));
            Arc::clone(&slots[slots.len() - 1])
        };
        let roles = file
            .roles()
            .iter()
            .map(|role| RoleEntry {
                role: role.clone(),
                sources: role
                    .haystacks
                    .iter()
                    .map(|haystack| RoleSource {
                        haystack: haystack.clone(),
                        slot: slot_of(haystack),
                    })
                    .collect(),
            })
            .collect();
        Self {
            roles,
            default_role: file.default_role().name.clone(),
            slots,
        }
    }

    /// All roles in the order of the configuration.
    #[must_use]
    pub fn roles(&self) -> &[RoleEntry] {
        &self.roles
    }

    /// Name of the role that is searched when a request names none.
    #[must_use]
    pub fn default_role(&self) -> &str {
        &self.default_role
    }

    /// The role of that name, or the default one.
    #[must_use]
    pub fn role(&self, name: Option<&str>) -> Option<&RoleEntry> {
        let name = name.unwrap_or(&self.default_role);
        self.roles.iter().find(|entry| entry.role.name == name)
    }

    /// Waits until no keeper's thread holds an index any more. Call it when the actors have ended,
    /// before the data folder is given to somebody else. Blocks.
    pub fn wait_for_threads(&self) {
        for slot in &self.slots {
            let thread = slot.thread.lock().take();
            // How the thread ended was reported by the thread itself.
            let _ = thread.map(JoinHandle::join);
        }
    }

    /// One slot a distinct source.
    #[must_use]
    pub fn slots(&self) -> &[Arc<SourceSlot>] {
        &self.slots
    }
}

/// Eight hex digits that stay the same as long as service, place and parameters do, so that
/// document ids outlive restarts and renamed roles.
fn source_id(haystack: &Haystack) -> String {
    let place = match haystack.local_files() {
        Some(files) => files.folder.as_os_str().as_encoded_bytes(),
        None => haystack.location.as_bytes(),
    };
    let mut hasher = blake3::Hasher::new();
    for part in [
        haystack.service().as_str().as_bytes(),
        place,
        haystack.parameters_text().as_bytes(),
    ] {
        hasher.update(part);
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..8].to_owned()
}
