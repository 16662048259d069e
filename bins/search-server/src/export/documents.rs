//! The documents of a role's indexed sources, read beside a server that may be running.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use search_actors::snapshots::{PublishingLease, SnapshotMode, check_published_here};
use search_actors::{RoleSet, RoleSource, in_step_mark, source_git};
use search_core::role::{RoleFile, ServerSettings};
use search_engine::answering::{DocumentRequest, SearchableRole, SearchableSource, read_document};
use search_engine::files::SourceFiles;
use search_engine::index::IndexSnapshot;
use search_engine::revision::Revision;
use search_engine::texts::TextStore;
use search_engine::walk::RootDirectory;
use serde_json::{Value, json};

/// A source whose documents are exported.
pub(super) struct ExportSource {
    role: SearchableRole,
    /// Its name.
    pub(super) name: String,
    pub(super) noted: NotedSource,
    snapshot: IndexSnapshot,
}

/// What a source is to the notes of what was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotedSource {
    /// First part of its documents' ids.
    pub(super) id: String,
    /// The index has all of the source, or of its part: what is not in it is gone.
    pub(super) is_whole: bool,
    /// The lease that it is published under; none on one machine.
    pub(super) tenure: Option<PublishingLease>,
}

/// A document that is indexed.
pub(super) struct ExportDocument {
    pub(super) id: String,
    /// Changes with its content.
    pub(super) version: String,
}

impl ExportSource {
    /// The indexed sources of a role, or of the default one.
    pub(super) fn for_role(
        roles: &RoleFile,
        role: Option<&str>,
        settings: &ServerSettings,
    ) -> anyhow::Result<Vec<Self>> {
        let mode = search_web::boot::snapshot_mode(settings)?;
        let role_set = RoleSet::new(roles);
        let Some(entry) = role_set.role(role) else {
            bail!("{}", role_set.unknown_role(role));
        };
        let indexed = entry
            .sources
            .iter()
            .filter(|source| source.haystack.indexed_files().is_some());
        let sources: Vec<Self> = indexed
            .map(|source| Self::open(source, &mode, &settings.data_path.value.join("index")))
            .collect::<anyhow::Result<_>>()?;
        if sources.is_empty() {
            bail!("role {:?} has no source with an index", entry.role.name);
        }
        Ok(sources)
    }

    fn open(source: &RoleSource, mode: &SnapshotMode, data: &Path) -> anyhow::Result<Self> {
        let (id, name) = (source.handle.id.clone(), source.haystack.name.clone());
        // What another one has put since would be replaced by what is older.
        let tenure = check_published_here(mode, &id, data)
            .with_context(|| format!("source {name:?} is exported by the indexer that has it"))?;
        let mark = in_step_mark(data, &id);
        let was_whole = mark.exists();
        let snapshot = IndexSnapshot::open_published(&data.join(&id), 0, None);
        let snapshot = snapshot.with_context(|| {
            format!("source {name:?} has no index here: run the server until it is indexed")
        })?;
        let texts = TextStore::new(data.join(format!("{id}.texts")));
        let searchable = SearchableSource {
            id: id.clone(),
            name: name.clone(),
            service: source.haystack.service().as_str(),
            snapshot: Some(snapshot.clone()),
            root: Some(files(source)?),
            graph: None,
            is_embedded: false,
            item_cache: None,
            texts: Some(Arc::new(texts)),
            indexing: None,
            error: None,
        };
        let role = SearchableRole {
            name,
            function: search_core::role::RelevanceFunction::BM25F,
            sources: vec![searchable],
            thesaurus: None,
            served: Vec::new(),
            reranking: None,
            ignores_file_roles: false,
        };
        Ok(Self {
            name: source.haystack.name.clone(),
            noted: NotedSource {
                id,
                // Both times: a server that makes it again removes the mark before it begins.
                is_whole: was_whole && mark.exists(),
                tenure,
            },
            role,
            snapshot,
        })
    }

    /// Its documents, in the order of their keys.
    pub(super) fn documents(&self) -> impl Iterator<Item = anyhow::Result<ExportDocument>> + '_ {
        self.snapshot.documents_in_order().map(|record| {
            let record = record?;
            Ok(ExportDocument {
                id: format!("{}/{}", self.noted.id, record.key),
                version: blake3::Hash::from_bytes(padded(record.file.hash)).to_hex()[..32]
                    .to_owned(),
            })
        })
    }

    /// A document as it is put; none where its file cannot be read now.
    pub(super) fn read(&self, id: &str) -> Option<Value> {
        let request = DocumentRequest {
            id: id.to_owned(),
            ..DocumentRequest::default()
        };
        let view = read_document(&self.role, &request).ok()?;
        let source = &self.role.sources[0];
        let key = id.split_once('/')?.1;
        let tags = self.snapshot.document(key).ok()??.tags;
        let mut document = json!({
            "id": view.id,
            "title": view.title,
            "body": view.body,
            "url": view.url,
            "source": source.name,
            "service": source.service,
            "tags": tags,
        });
        let optional = [("path", view.path), ("modified", view.modified)];
        for (name, value) in optional {
            if let Some(value) = value {
                document[name] = Value::String(value);
            }
        }
        Some(document)
    }
}

fn padded(hash: [u8; 16]) -> [u8; 32] {
    let mut long = [0; 32];
    long[..16].copy_from_slice(&hash);
    long
}

/// The files that a source reads.
fn files(source: &RoleSource) -> anyhow::Result<Arc<dyn SourceFiles>> {
    let files = source
        .haystack
        .indexed_files()
        .context("only what is indexed is exported")?;
    Ok(match source.haystack.revision() {
        Some(name) => {
            let revision = Revision::open(&source_git(), &files.folder, name)?;
            let revision = revision.with_max_file_bytes(files.max_file_size.bytes());
            Arc::new(revision.files()?)
        }
        None => Arc::new(
            RootDirectory::open(&files.folder)?.respecting_gitignore(files.respect_gitignore),
        ),
    })
}
