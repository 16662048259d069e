//! The board: what the index keepers have published, read by searches without asking anyone.
//!
//! ```text
//! IndexKeeper --publish--> SourceSlot <--read-- search workers, GET /health
//! ```
//! One slot a source; roles that name the same source share its slot and so its index.

use std::sync::Arc;

use search_core::role::{Haystack, Role, RoleFile};
use search_graph_engine::thesaurus::Thesaurus;

use crate::slot::SourceSlot;
use crate::thesauri::Thesauri;

/// Everything that can be searched, role by role.
#[derive(Debug)]
pub struct Board {
    roles: Vec<RoleEntry>,
    default_role: String,
    slots: Vec<Arc<SourceSlot>>,
    /// Counts the boards before this one.
    generation: u64,
}

/// One role and its sources.
#[derive(Debug)]
pub struct RoleEntry {
    /// The role as configured.
    pub role: Role,
    /// One slot a haystack, in the order of the configuration.
    pub sources: Vec<RoleSource>,
    /// Words that were declared to mean the same; empty where the role names no thesaurus.
    pub thesaurus: Arc<Thesaurus>,
    /// Why the thesaurus cannot be used.
    pub thesaurus_error: Option<String>,
    /// That of the board: answers of another one are other answers.
    pub(crate) generation: u64,
}

/// A haystack of a role, and the slot of the source behind it.
#[derive(Debug)]
pub struct RoleSource {
    /// The haystack as configured: its display name can differ from role to role.
    pub haystack: Haystack,
    /// What its keeper has published.
    pub slot: Arc<SourceSlot>,
}

impl Board {
    /// One entry a role of the file, one slot a distinct source. Reads the thesauri.
    #[must_use]
    pub fn new(file: &RoleFile) -> Self {
        Self::of(file, &[], 0)
    }

    /// The board of a changed file: sources that stay as they are keep their slots, and with them their indexes and
    /// keepers. Reads the thesauri.
    #[must_use]
    pub fn after(&self, file: &RoleFile) -> Self {
        Self::of(file, &self.slots, self.generation + 1)
    }

    fn of(file: &RoleFile, former: &[Arc<SourceSlot>], generation: u64) -> Self {
        let thesauri = Thesauri::load(file);
        let mut slots: Vec<Arc<SourceSlot>> = Vec::new();
        let mut slot_of = |haystack: &Haystack| {
            let id = source_id(haystack);
            if let Some(slot) = slots.iter().find(|slot| slot.id == id) {
                return Arc::clone(slot);
            }
            let concepts = thesauri.of_source(file, |other| source_id(other) == id);
            let former = former.iter().find(|slot| slot.id == id);
            let slot = match former {
                Some(slot) if slot.serves(haystack, &concepts) => Arc::clone(slot),
                former => {
                    let haystack = haystack.clone();
                    Arc::new(match former {
                        Some(former) => SourceSlot::succeeding(former, haystack, concepts),
                        None => SourceSlot::new(id, haystack, concepts),
                    })
                }
            };
            slots.push(Arc::clone(&slot));
            slot
        };
        let roles = file
            .roles()
            .iter()
            .enumerate()
            .map(|(number, role)| (role, thesauri.of_role(number)))
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
                        slot: slot_of(haystack),
                    })
                    .collect(),
            })
            .collect();
        Self {
            roles,
            default_role: file.default_role().name.clone(),
            slots,
            generation,
        }
    }

    /// Counts the boards before this one.
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

    /// One slot a distinct source.
    #[must_use]
    pub fn slots(&self) -> &[Arc<SourceSlot>] {
        &self.slots
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
