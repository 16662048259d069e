//! What a search looks at: a role and its sources at one moment.

use std::io::Read;
use std::sync::Arc;

use search_core::answer::IndexProgress;
use search_core::role::RelevanceFunction;
use search_formats_engine::DocumentFormat;
use search_graph_engine::embedding::ServedQuery;
use search_graph_engine::graph::GraphIndex;
use search_graph_engine::thesaurus::Thesaurus;
use search_sources_core::SourceItem;

use super::failure::SearchFailure;
use super::pair_scorer::RerankOptions;
use crate::excerpt;
use crate::extract::{self, TextFormat};
use crate::files::{FileLocation, SourceFiles};
use crate::index::{DocumentRecord, IndexSnapshot};
use crate::item_cache::{self, ItemCache};
use crate::reading::{TextReadResult, WordPiece};
use crate::texts::TextStore;

/// The longest text that is read again, in bytes of the file.
pub(super) const MAX_BODY_BYTES: u64 = 16 << 20;

/// A role at one moment.
#[derive(Debug, Clone)]
pub struct SearchableRole {
    /// Its name.
    pub name: String,
    /// How results are ranked.
    pub function: RelevanceFunction,
    /// Its sources in the order of the configuration.
    pub sources: Vec<SearchableSource>,
    /// Words that were declared to mean the same.
    pub thesaurus: Option<Arc<Thesaurus>>,
    /// The query as the embedding models of servers see it.
    pub served: Vec<ServedQuery>,
    /// What reads the best results once more.
    pub reranking: Option<RerankOptions>,
    /// Whether all files count alike, whatever they are for.
    pub ignores_file_roles: bool,
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
    /// Its files, for excerpts.
    pub root: Option<Arc<dyn SourceFiles>>,
    /// Its concepts, and what was learnt of them.
    pub graph: Option<Arc<GraphIndex>>,
    /// Whether an embedding model is to rank it.
    pub is_embedded: bool,
    /// What it has just said, for sources that are asked at query time.
    pub item_cache: Option<Arc<ItemCache>>,
    /// Texts of its documents that are no text files.
    pub texts: Option<Arc<TextStore>>,
    /// How far indexing is, while it runs.
    pub indexing: Option<IndexProgress>,
    /// Why it is not (completely) searchable.
    pub error: Option<String>,
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

    /// The item with this key, for sources that are asked at query time.
    pub(super) fn item(&self, key: &str) -> Option<&SourceItem> {
        self.item_cache.as_ref()?.get(key)
    }

    /// The text of a document that is not to be had from a text file: of an item, a PDF, a mail.
    pub(super) fn stored_text(&self, record: &DocumentRecord) -> Option<String> {
        if let Some(item) = self.item(&record.key) {
            return Some(item.body.clone());
        }
        let may_be_kept = DocumentFormat::from_name(&record.key).is_some()
            || DocumentFormat::may_be_manual(&record.key);
        let texts = self.texts.as_ref().filter(|_| may_be_kept)?;
        texts.get(&record.file.hash)
    }

    pub(super) fn location(&self, key: &str) -> FileLocation {
        if let Some(url) = self.item(key).and_then(item_cache::web_address) {
            return FileLocation {
                url: url.to_owned(),
                path: None,
            };
        }
        let found = self.root.as_ref().and_then(|root| root.location(key));
        found.unwrap_or_else(|| FileLocation {
            url: format!("{}:{key}", self.id),
            path: None,
        })
    }

    /// The text of a file that has no markup and needs no decoding: most source code and notes.
    pub(super) fn plain_text(&self, key: &str) -> Option<String> {
        self.plain_text_in(key, String::new())
    }

    /// The same in a buffer that may hold another text: asking for memory again and again costs as
    /// much as reading files.
    pub(super) fn plain_text_in(&self, key: &str, buffer: String) -> Option<String> {
        match TextFormat::from_key(key) {
            TextFormat::Text | TextFormat::Code | TextFormat::Data => {}
            _ => return None,
        }
        let file = self.root.as_ref()?.open_file(key).ok()?;
        let size = file.metadata().ok()?.len().min(MAX_BODY_BYTES);
        let mut bytes = buffer.into_bytes();
        bytes.clear();
        bytes.reserve(usize::try_from(size).ok()? + 1);
        file.take(MAX_BODY_BYTES).read_to_end(&mut bytes).ok()?;
        if excerpt::needs_decoding(&bytes) {
            return None;
        }
        String::from_utf8(bytes).ok()
    }

    /// The text of a document as it was indexed, read again; none when it cannot be read.
    pub(super) fn body(&self, key: &str) -> Option<String> {
        let root = self.root.as_ref()?;
        let content = root.read(key, MAX_BODY_BYTES, &|_| false).ok()?;
        extract::body(key, content.bytes)
    }

    /// The same, where only a text is wanted that holds a piece of a word.
    pub(super) fn body_with(&self, key: &str, piece: WordPiece<'_>) -> TextReadResult {
        let read = |root: &Arc<dyn SourceFiles>| root.read(key, MAX_BODY_BYTES, &|_| false).ok();
        match self.root.as_ref().and_then(read) {
            Some(content) => extract::body_with(key, content.bytes, piece),
            None => TextReadResult::Unreadable,
        }
    }
}
