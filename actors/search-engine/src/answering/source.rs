//! What a search looks at: a role and its sources at one moment.

use std::sync::Arc;

use search_core::role::RelevanceFunction;
use url::Url;

use super::failure::SearchFailure;
use crate::extract;
use crate::index::{DocumentRecord, IndexSnapshot};
use crate::walk::RootFolder;

/// The longest text that is read again, in bytes of the file.
pub(super) const MAX_BODY_BYTES: u64 = 10 << 20;

/// A role at one moment.
#[derive(Debug, Clone)]
pub struct SearchableRole {
    /// Its name.
    pub name: String,
    /// How results are ranked.
    pub function: RelevanceFunction,
    /// Its sources in the order of the configuration.
    pub sources: Vec<SearchableSource>,
}

/// A source at one moment.
#[derive(Debug, Clone)]
pub struct SearchableSource {
    /// First part of its documents' ids.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Service kind.
    pub service: &'static str,
    /// What is indexed; none before its index was opened.
    pub snapshot: Option<IndexSnapshot>,
    /// The folder, for excerpts.
    pub root: Option<Arc<RootFolder>>,
    /// Why it is not (completely) searchable.
    pub error: Option<String>,
}

/// Where a document lives, for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) url: String,
    pub(super) path: Option<String>,
}

impl SearchableRole {
    /// The sources of these names, or all of them.
    pub(super) fn chosen(&self, names: &[String]) -> Result<Vec<&SearchableSource>, SearchFailure> {
        if let Some(name) = names
            .iter()
            .find(|name| !self.sources.iter().any(|one| one.name == **name))
        {
            return Err(SearchFailure::UnknownSource {
                role: self.name.clone(),
                name: name.clone(),
                known: self
                    .sources
                    .iter()
                    .map(|source| source.name.clone())
                    .collect(),
            });
        }
        Ok(self
            .sources
            .iter()
            .filter(|source| names.is_empty() || names.contains(&source.name))
            .collect())
    }
}

impl SearchableSource {
    /// The id of a document: the source's id, a slash, the key.
    pub(super) fn document_id(&self, key: &str) -> String {
        format!("{}/{key}", self.id)
    }

    /// The title shown: that of the document, or its name.
    pub(super) fn title(&self, record: &DocumentRecord) -> String {
        let name = || {
            record
                .key
                .rsplit('/')
                .next()
                .unwrap_or(&record.key)
                .to_owned()
        };
        if record.title.trim().is_empty() {
            name()
        } else {
            record.title.clone()
        }
    }

    pub(super) fn place(&self, key: &str) -> Place {
        let Some(path) = self.root.as_ref().and_then(|root| root.path_of(key)) else {
            return Place {
                url: format!("{}:{key}", self.id),
                path: None,
            };
        };
        let url = Url::from_file_path(&path).map(String::from);
        Place {
            url: url.unwrap_or_default(),
            path: Some(path.to_string_lossy().into_owned()),
        }
    }

    /// The text of a document as it was indexed, read again; none when it cannot be read.
    pub(super) fn body(&self, key: &str) -> Option<String> {
        let root = self.root.as_ref()?;
        let content = root.read(key, MAX_BODY_BYTES, |_| false).ok()?;
        extract::extract(key, content.bytes, content.mtime_ns)
            .ok()
            .map(|document| document.body)
    }
}
