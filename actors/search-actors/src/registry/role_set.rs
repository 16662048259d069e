//! The roles and their sources: what the indexers have published, read by searches without asking
//! anyone.
//!
//! ```text
//! SourceIndexer --publish--> SourceHandle <--read-- search workers, GET /health
//! ```
//! One handle a source; roles that name the same source share its handle and so its index.

use std::sync::Arc;

use search_core::role::{Haystack, Role, RoleFile};
use search_graph_engine::thesaurus::Thesaurus;

use super::thesauri::Thesauri;
use crate::source_handle::SourceHandle;

/// Everything that can be searched, role by role.
#[derive(Debug)]
pub struct RoleSet {
    roles: Vec<RoleEntry>,
    default_role: String,
    handles: Vec<Arc<SourceHandle>>,
    /// Counts the role sets before this one.
    generation: u64,
}

/// One role and its sources.
#[derive(Debug)]
pub struct RoleEntry {
    /// The role as configured.
    pub role: Role,
    /// One handle a haystack, in the order of the configuration.
    pub sources: Vec<RoleSource>,
    /// Words that were declared to mean the same; empty where the role names no thesaurus.
    pub thesaurus: Arc<Thesaurus>,
    /// Why the thesaurus cannot be used.
    pub thesaurus_error: Option<String>,
    /// That of the role set: answers of another one are other answers.
    pub(crate) generation: u64,
}

/// A haystack of a role, and the handle of the source behind it.
#[derive(Debug)]
pub struct RoleSource {
    /// The haystack as configured: its display name can differ from role to role.
    pub haystack: Haystack,
    /// What its indexer has published.
    pub handle: Arc<SourceHandle>,
}

impl RoleSet {
    /// One entry a role of the file, one handle a distinct source. Reads the thesauri.
    #[must_use]
    pub fn new(file: &RoleFile) -> Self {
        Self::build(file, &[], 0)
    }

    /// The role set of a changed file: sources that stay as they are keep their handles, and with
    /// them their indexes and indexers. Reads the thesauri.
    #[must_use]
    pub fn updated(&self, file: &RoleFile) -> Self {
        Self::build(file, &self.handles, self.generation + 1)
    }

    fn build(file: &RoleFile, former: &[Arc<SourceHandle>], generation: u64) -> Self {
        let thesauri = Thesauri::load(file);
        let mut handles: Vec<Arc<SourceHandle>> = Vec::new();
        let mut handle_of = |haystack: &Haystack| {
            let id = source_id(haystack);
            if let Some(handle) = handles.iter().find(|handle| handle.id == id) {
                return Arc::clone(handle);
            }
            let concepts = thesauri.for_source(file, |other| source_id(other) == id);
            let former = former.iter().find(|handle| handle.id == id);
            let handle = match former {
                Some(handle) if handle.serves(haystack, &concepts) => Arc::clone(handle),
                former => {
                    let haystack = haystack.clone();
                    Arc::new(match former {
                        Some(former) => SourceHandle::successor_of(former, haystack, concepts),
                        None => SourceHandle::new(id, haystack, concepts),
                    })
                }
            };
            handles.push(Arc::clone(&handle));
            handle
        };
        let roles = file
            .roles()
            .iter()
            .enumerate()
            .map(|(number, role)| (role, thesauri.for_role(number)))
            .map(|(role, declared)| RoleEntry {
                role: role.clone(),
                thesaurus: declared.thesaurus,
                thesaurus_error: declared.error,
                generation,
                sources: role
                    .haystacks
                    .iter()
                    .map(|haystack| RoleSource {
                        haystack: haystack.clone(),
                        handle: handle_of(haystack),
                    })
                    .collect(),
            })
            .collect();
        Self {
            roles,
            default_role: file.default_role().name.clone(),
            handles,
            generation,
        }
    }

    /// Counts the role sets before this one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
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

    /// One handle a distinct source.
    #[must_use]
    pub fn handles(&self) -> &[Arc<SourceHandle>] {
        &self.handles
    }
}

/// Eight hex digits that stay the same as long as service, place and parameters do, so that
/// document ids outlive restarts and renamed roles.
fn source_id(haystack: &Haystack) -> String {
    let files = haystack.indexed_files();
    let place = match &files {
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
