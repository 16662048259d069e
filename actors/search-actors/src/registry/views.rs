//! What others see of the role set: lists for people, and the sources of one search.

use std::sync::Arc;
use std::time::SystemTime;

use search_core::answer::{
    HaystackSummary, ReachedLimit, RoleList, RoleSummary, SourceHealth, SourceState,
};
use search_core::role::ModelSource;
use search_engine::answering::{SearchFailure, SearchableRole, SearchableSource};
use search_engine::rfc3339;

use super::role_set::{RoleEntry, RoleSet, RoleSource};

impl RoleEntry {
    /// Changes whenever an answer of this role can change.
    #[must_use]
    pub fn version(&self) -> u64 {
        // Each addend only grows, so two different states of a role set never have the same sum;
        // and none grows so far that it reaches the role set's own number.
        let sum: u64 = self.sources.iter().map(|one| one.handle.version()).sum();
        (self.generation << 40).wrapping_add(sum)
    }

    /// The role as it can be searched at this moment.
    #[must_use]
    pub fn searchable(&self) -> SearchableRole {
        SearchableRole {
            name: self.role.name.clone(),
            function: self.role.relevance_function,
            sources: self.sources.iter().map(RoleSource::searchable).collect(),
            thesaurus: Some(Arc::clone(&self.thesaurus)),
            served: Vec::new(),
            reranking: None,
            ignores_file_roles: !self.role.extra.weighs_file_roles(),
        }
    }
}

impl RoleEntry {
    /// Whether other servers are asked at query time for any of these sources (all where none is
    /// named), so that an answer is not to be kept.
    #[must_use]
    pub fn queries_servers(&self, names: &[String]) -> bool {
        if let Some(ModelSource::Server { .. }) = self.role.extra.reranking() {
            return true;
        }
        let served = |source: &RoleSource| source.handle.embedding_endpoint().is_some();
        let chosen =
            |source: &&RoleSource| names.is_empty() || names.contains(&source.haystack.name);
        self.live_sources(names).next().is_some() || self.sources.iter().filter(chosen).any(served)
    }

    /// The sources that are asked at query time.
    pub(crate) fn live_sources<'s>(
        &'s self,
        names: &'s [String],
    ) -> impl Iterator<Item = &'s RoleSource> {
        let chosen =
            |source: &&RoleSource| names.is_empty() || names.contains(&source.haystack.name);
        let chosen = self.sources.iter().filter(chosen);
        chosen.filter(|source| source.handle.is_live())
    }
}

impl RoleSource {
    fn searchable(&self) -> SearchableSource {
        self.handle.read_status(|status| SearchableSource {
            id: self.handle.id.clone(),
            name: self.haystack.name.clone(),
            service: self.haystack.service().as_str(),
            snapshot: status.snapshot.clone(),
            root: status.root.clone(),
            graph: Some(Arc::clone(&self.handle.graph)),
            is_embedded: self.handle.model.is_some(),
            item_cache: None,
            texts: self.handle.texts.get().cloned(),
            indexing: is_read(status.state).then_some(status.progress),
            error: status.error.clone(),
        })
    }

    fn health(&self, role: &str) -> SourceHealth {
        self.handle.read_status(|status| SourceHealth {
            role: role.to_owned(),
            name: self.haystack.name.clone(),
            service: self.haystack.service().as_str().to_owned(),
            state: status.state,
            documents: status
                .snapshot
                .as_ref()
                .map_or(0, |snapshot| snapshot.document_count()),
            updated_at: status.updated_at.map(time_text),
            error: status.error.clone(),
            progress: (status.state == SourceState::Indexing).then_some(status.progress),
            skipped: status.skipped.clone(),
            busy_files: status.busy_files,
            limits: status
                .limits
                .iter()
                .map(|(reason, detail)| ReachedLimit {
                    reason: *reason,
                    detail: detail.clone(),
                })
                .collect(),
            concepts: status.snapshot.as_ref().map(|_| status.concepts_health()),
        })
    }
}

/// Whether documents of the source may still be missing.
fn is_read(state: SourceState) -> bool {
    matches!(state, SourceState::Starting | SourceState::Indexing)
}

fn time_text(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    rfc3339(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

impl RoleSet {
    /// `GET /api/roles`.
    #[must_use]
    pub fn role_list(&self) -> RoleList {
        let roles = self.roles().iter().map(|entry| RoleSummary {
            name: entry.role.name.clone(),
            relevance_function: entry.role.relevance_function.as_str().to_owned(),
            theme: entry.role.theme.as_str().to_owned(),
            haystacks: entry.sources.iter().map(haystack_summary).collect(),
        });
        RoleList {
            default_role: self.default_role().to_owned(),
            roles: roles.collect(),
        }
    }

    /// The state of every source of every role.
    #[must_use]
    pub fn health(&self) -> Vec<SourceHealth> {
        let of_role = |entry: &RoleEntry| -> Vec<SourceHealth> {
            entry
                .sources
                .iter()
                .map(|source| source.health(&entry.role.name))
                .collect()
        };
        self.roles().iter().flat_map(of_role).collect()
    }

    /// Whether a source has failed, or its index holds less than it should: it is damaged, or a
    /// part of the folder is away.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.handles().iter().any(|handle| {
            handle.read_status(|status| {
                // What another server has just said is in its own report.
                let is_wanting = status.error.is_some() && !handle.is_live();
                status.state == SourceState::Failed || is_wanting
            })
        })
    }

    /// Whether the indexer of every source works.
    ///
    /// # Errors
    /// Which do not, and why.
    pub fn check_indexers(&self) -> Result<(), String> {
        let down = self.handles().iter().filter_map(|handle| {
            handle.read_status(|status| {
                let name = &handle.haystack.name;
                if let Some(why) = &status.stands_by {
                    return Some(format!("stands by: source {name:?}: {why}"));
                }
                let why = status.error.as_deref().unwrap_or("it has failed");
                status
                    .is_down
                    .then(|| format!("degraded: source {name:?}: {why}"))
            })
        });
        let down: Vec<String> = down.collect();
        match down.is_empty() {
            true => Ok(()),
            false => Err(down.join("; ")),
        }
    }

    /// Whether every source has been brought up to date once, or has failed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.handles().iter().all(|handle| {
            handle.read_status(|status| {
                matches!(status.state, SourceState::Ready | SourceState::Failed)
            })
        })
    }

    /// What to say about a role that does not exist.
    #[must_use]
    pub fn unknown_role(&self, name: Option<&str>) -> SearchFailure {
        let name = name.unwrap_or(self.default_role()).to_owned();
        let known: Vec<String> = self
            .roles()
            .iter()
            .map(|entry| entry.role.name.clone())
            .collect();
        let suggestion =
            config_core::suggestion(&name, known.iter().map(String::as_str)).map(str::to_owned);
        SearchFailure::UnknownRole {
            name,
            known,
            suggestion,
        }
    }

    /// The role through which a document is read: the one named, if it has the document's source.
    #[must_use]
    pub fn role_of_document(&self, role: Option<&str>, id: &str) -> Option<&RoleEntry> {
        let source = id.split('/').next().unwrap_or_default();
        let has_source =
            |entry: &&RoleEntry| entry.sources.iter().any(|one| one.handle.id == source);
        match role {
            Some(_) => self.role(role).filter(has_source),
            None => self.roles().iter().find(has_source),
        }
    }
}

fn haystack_summary(source: &RoleSource) -> HaystackSummary {
    HaystackSummary {
        name: source.haystack.name.clone(),
        service: source.haystack.service().as_str().to_owned(),
        location: source.haystack.location.clone(),
    }
}
