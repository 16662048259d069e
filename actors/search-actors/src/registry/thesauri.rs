//! The thesauri that roles name, read with the role file.

use std::sync::Arc;

use search_core::role::{Haystack, ModelSource, RelevanceFunction, Role, RoleFile};
use search_graph_engine::thesaurus::{self, Thesaurus};

/// One thesaurus a role, in the order of the roles; empty where a role names none.
pub(crate) struct Thesauri(Vec<RoleThesaurus>);

/// What the roles that search a source say of its concepts.
#[derive(Debug, Clone)]
pub(crate) struct SourceConcepts {
    /// The words that any of them declares.
    pub(crate) thesaurus: Arc<Thesaurus>,
    /// Whether any of them ranks by concepts.
    pub(crate) learns: bool,
    /// The embedding model of the first that has one.
    pub(crate) model: Option<ModelSource>,
}

/// A role's thesaurus.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleThesaurus {
    pub(crate) thesaurus: Arc<Thesaurus>,
    /// Why it cannot be used.
    pub(crate) error: Option<String>,
}

impl Thesauri {
    /// Reads them. One that cannot be read is reported and left out: search goes on without it.
    pub(crate) fn load(file: &RoleFile) -> Self {
        Self(file.roles().iter().map(load).collect())
    }

    pub(crate) fn for_role(&self, number: usize) -> RoleThesaurus {
        self.0[number].clone()
    }

    /// The declared concepts of a source: those of all roles that search it; and whether any of
    /// them ranks by concepts.
    pub(crate) fn for_source(
        &self,
        file: &RoleFile,
        is_same: impl Fn(&Haystack) -> bool,
    ) -> SourceConcepts {
        let roles = file.roles().iter().zip(&self.0);
        let users: Vec<(&Role, &RoleThesaurus)> = roles
            .filter(|(role, _)| role.haystacks.iter().any(&is_same))
            .collect();
        let ranks = |(role, _): &(&Role, &RoleThesaurus)| {
            role.relevance_function == RelevanceFunction::ServiceGraph
        };
        let mut declared = users
            .iter()
            .map(|(_, one)| &one.thesaurus)
            .filter(|one| !one.is_empty());
        let thesaurus = match (declared.next(), declared.next()) {
            (None, _) => Arc::default(),
            (Some(only), None) => Arc::clone(only),
            (Some(_), Some(_)) => {
                let all = users.iter().flat_map(|(_, one)| one.thesaurus.entries());
                Arc::new(Thesaurus::new(all.cloned().collect()))
            }
        };
        let mut ranking = users.iter().filter(|user| ranks(user));
        SourceConcepts {
            thesaurus,
            learns: users.iter().any(ranks),
            model: ranking.find_map(|(role, _)| role.extra.embeddings()),
        }
    }
}

fn load(role: &Role) -> RoleThesaurus {
    let Some(path) = &role.extra.thesaurus else {
        return RoleThesaurus::default();
    };
    match thesaurus::load(path) {
        Ok(thesaurus) => RoleThesaurus {
            thesaurus: Arc::new(thesaurus),
            error: None,
        },
        Err(error) => {
            tracing::warn!(event = "thesaurus.unreadable", role = role.name, %error);
            RoleThesaurus {
                error: Some(error.to_string()),
                ..RoleThesaurus::default()
            }
        }
    }
}
