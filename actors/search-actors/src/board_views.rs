//! What others see of the board: lists for people, and the sources of one search.

use std::sync::Arc;
use std::time::SystemTime;

use search_core::answer::{HaystackSummary, RoleList, RoleSummary, SourceHealth, SourceState};
use search_engine::answering::{SearchFailure, SearchableRole, SearchableSource};
use search_engine::rfc3339;

use crate::board::{Board, RoleEntry, RoleSource};

impl RoleEntry {
    /// Changes whenever an answer of this role can change.
    #[must_use]
    pub fn version(&self) -> u64 {
        // Each addend only grows, so two different states of a board never have the same sum; and none grows so far that it
        // reaches the board's own number.
        let sum: u64 = self.sources.iter().map(|one| one.slot.version()).sum();
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
        }
    }
}

impl RoleEntry {
    /// Whether other servers are asked at query time for any of these sources (all where none is named), so that an answer
    /// is not to be kept.
    #[must_use]
    pub fn asks(&self, names: &[String]) -> bool {
        let served = |source: &RoleSource| source.slot.embedding_place().is_some();
        let chosen =
            |source: &&RoleSource| names.is_empty() || names.contains(&source.haystack.name);
        self.asked(names).next().is_some() || self.sources.iter().filter(chosen).any(served)
    }

    /// The sources that are asked at query time.
    pub(crate) fn asked<'s>(&'s self, names: &'s [String]) -> impl Iterator<Item = &'s RoleSource> {
        let chosen =
            |source: &&RoleSource| names.is_empty() || names.contains(&source.haystack.name);
        let chosen = self.sources.iter().filter(chosen);
        chosen.filter(|source| source.slot.is_asked())
    }
}

impl RoleSource {
    fn searchable(&self) -> SearchableSource {
        self.slot.with(|published| SearchableSource {
            id: self.slot.id.clone(),
            name: self.haystack.name.clone(),
            service: self.haystack.service().as_str(),
            snapshot: published.snapshot.clone(),
            root: published.root.clone(),
            graph: Some(Arc::clone(&self.slot.graph)),
            is_embedded: self.slot.model.is_some(),
            shelf: None,
            texts: self.slot.texts.get().cloned(),
            indexing: is_read(published.state).then_some(published.progress),
            error: published.error.clone(),
        })
    }

    fn health(&self, role: &str) -> SourceHealth {
        self.slot.with(|published| SourceHealth {
            role: role.to_owned(),
            name: self.haystack.name.clone(),
            service: self.haystack.service().as_str().to_owned(),
            state: published.state,
            documents: published
                .snapshot
                .as_ref()
                .map_or(0, |snapshot| snapshot.document_count()),
            updated_at: published.updated_at.map(time_text),
            error: published.error.clone(),
            progress: (published.state == SourceState::Indexing).then_some(published.progress),
            skipped: published.skipped.clone(),
            busy_files: published.busy_files,
            concepts: published
                .snapshot
                .as_ref()
                .map(|_| published.concepts.clone()),
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

impl Board {
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

    /// Whether a source has failed, or its index holds less than it should: it is damaged, or a part of the folder is away.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.slots().iter().any(|slot| {
            slot.with(|published| {
                // What another server has just said is in its own report.
                let is_wanting = published.error.is_some() && !slot.is_asked();
                published.state == SourceState::Failed || is_wanting
            })
        })
    }

    /// Whether the keeper of every source works.
    ///
    /// # Errors
    /// Which do not, and why.
    pub fn keepers_work(&self) -> Result<(), String> {
        let down = self.slots().iter().filter_map(|slot| {
            slot.with(|published| {
                let why = published.error.as_deref().unwrap_or("it has failed");
                let name = &slot.haystack.name;
                published
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
        self.slots().iter().all(|slot| {
            slot.with(|published| {
                matches!(published.state, SourceState::Ready | SourceState::Failed)
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
        let has_source = |entry: &&RoleEntry| entry.sources.iter().any(|one| one.slot.id == source);
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
