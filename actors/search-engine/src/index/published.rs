//! Snapshots that leave this machine: the files of a commit, held while they are copied, and an
//! index made of such files, by several indexers where a source is split.
//!
//! Segments have names that no other index uses, and are never changed. So the segments of several
//! indexes beside each other are one index, with the statistics of all of them.

use std::fs;
use std::path::{Path, PathBuf};

use tantivy::{Index, IndexMeta, ReloadPolicy, TantivyError};

use super::directory::DeferredDirectory;
use super::error::{IndexError, store_error};
use super::record::DocumentRecord;
use super::schema::{self, FORMAT};
use super::snapshot::IndexSnapshot;

/// The form of an index's files; another version may write another one.
pub const INDEX_FORMAT: u32 = FORMAT;

/// The list of segments.
const META: &str = "meta.json";
/// File that holds the format number.
const FORMAT_FILE: &str = "format";
/// How often the list of segments is read again while it changes.
const ATTEMPTS: usize = 20;

/// The files of one commit. They are not removed while this lives.
pub struct PinnedFiles {
    /// Where they lie.
    pub folder: PathBuf,
    /// Their names, without the list of segments.
    pub names: Vec<String>,
    /// The list of segments.
    pub segments: String,
    /// What they hold.
    pub snapshot: IndexSnapshot,
    /// While these live the index keeps their files.
    _kept: IndexMeta,
}

impl std::fmt::Debug for PinnedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedFiles")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl IndexSnapshot {
    /// The files of the index's last commit, held; it may be a later one than this.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn pin_files(&self) -> Result<PinnedFiles, IndexError> {
        let index = self.searcher().index();
        let store = |source| store_error(self.folder(), source);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let kept = index.load_metas().map_err(store)?;
            let opened = open(self.folder(), index, self.generation(), Some(self));
            // A merge may have ended between the two looks.
            let is_same = |snapshot: &IndexSnapshot| snapshot.is_of(&kept);
            match opened {
                Ok(snapshot) if is_same(&snapshot) => {
                    let names = names_of(self.folder(), &kept);
                    let segments = serde_json::to_string(&kept)
                        .map_err(|error| store(TantivyError::InternalError(error.to_string())))?;
                    return Ok(PinnedFiles {
                        folder: self.folder().to_owned(),
                        names,
                        segments,
                        snapshot,
                        _kept: kept,
                    });
                }
                Err(error) if attempt >= ATTEMPTS => return Err(store(error)),
                _ if attempt >= ATTEMPTS => {
                    let text = "its list of segments changes all the time".to_owned();
                    return Err(store(TantivyError::InternalError(text)));
                }
                _ => {}
            }
        }
    }

    /// Whether it has the segments of a list, with the same deletions.
    fn is_of(&self, metas: &IndexMeta) -> bool {
        let views = self.segments();
        views.len() == metas.segments.len()
            && metas.segments.iter().all(|meta| {
                views.iter().any(|view| {
                    view.reader.segment_id() == meta.id()
                        && view.reader.delete_opstamp() == meta.delete_opstamp()
                })
            })
    }

    /// Opens files that were fetched; nothing is written to the index. What `former` knows of the
    /// same segments is not counted again.
    ///
    /// # Errors
    /// They are not of this version, or damaged.
    pub fn open_published(
        folder: &Path,
        generation: u64,
        former: Option<&Self>,
    ) -> Result<Self, IndexError> {
        let store = |source| store_error(folder, source);
        let (directory, _) =
            DeferredDirectory::open(folder).map_err(|error| store(error.into()))?;
        let index = Index::open(directory).map_err(store)?;
        let (schema, _) = schema::schema();
        if index.schema() != schema || *index.settings() != schema::settings() {
            let text = "the snapshot has other fields: it is of another version".to_owned();
            return Err(store(TantivyError::SchemaError(text)));
        }
        open(folder, &index, generation, former).map_err(store)
    }

    /// The lengths of all documents together, in terms.
    #[must_use]
    pub fn term_count(&self) -> u64 {
        let mut all = super::live_documents::LiveStatistics::default();
        for view in self.segments() {
            all.add(view.living);
        }
        all.length()
    }

    /// Calls `each` with the records of segments that `former` does not have, deleted ones left
    /// out.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn for_each_new_document(
        &self,
        former: Option<&Self>,
        mut each: impl FnMut(DocumentRecord),
    ) -> Result<(), IndexError> {
        for (number, view) in (0_u32..).zip(self.segments()) {
            let id = view.reader.segment_id();
            let is_known = former.is_some_and(|former| {
                let mut views = former.segments().iter();
                views.any(|known| known.reader.segment_id() == id)
            });
            if is_known {
                continue;
            }
            for document in 0..view.reader.max_doc() {
                if !view.reader.is_deleted(document) {
                    each(self.record(number, document)?);
                }
            }
        }
        Ok(())
    }

    /// Calls `each` with the keys of documents that were put or deleted since `former`, and of some
    /// that were moved to another segment.
    ///
    /// # Errors
    /// One of the indexes cannot be read.
    pub fn for_each_changed_key(
        &self,
        former: &Self,
        mut each: impl FnMut(&str),
    ) -> Result<(), IndexError> {
        self.for_each_new_document(Some(former), |record| each(&record.key))?;
        for (number, view) in (0_u32..).zip(former.segments()) {
            let now = self.segment_of(&view.reader);
            for document in 0..view.reader.max_doc() {
                let is_there = now.is_some_and(|now| !now.reader.is_deleted(document));
                if !is_there && !view.reader.is_deleted(document) {
                    each(&former.record(number, document)?.key);
                }
            }
        }
        Ok(())
    }
}

fn open(
    folder: &Path,
    index: &Index,
    generation: u64,
    former: Option<&IndexSnapshot>,
) -> tantivy::Result<IndexSnapshot> {
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        // Snapshots read the store by readers of their own.
        .doc_store_cache_num_blocks(0)
        .try_into()?;
    let (_, fields) = schema::schema();
    IndexSnapshot::new(folder, reader.searcher(), fields, generation, former)
}

fn names_of(folder: &Path, metas: &IndexMeta) -> Vec<String> {
    let files = metas.list_segment_files().into_iter();
    let files = files.filter(|file| folder.join(file).exists());
    let mut names: Vec<String> = files
        .map(|file| file.to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

/// One list of the segments of all parts.
///
/// # Errors
/// One of them is no such list.
pub fn joined_segments<'s>(lists: impl IntoIterator<Item = &'s str>) -> Result<String, String> {
    let mut joined: Option<serde_json::Value> = None;
    for text in lists {
        let list: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("a list of segments: {error}"))?;
        let Some(all) = &mut joined else {
            joined = Some(list);
            continue;
        };
        let more = list["segments"].as_array().cloned().unwrap_or_default();
        all["segments"]
            .as_array_mut()
            .ok_or("a list of segments has none")?
            .extend(more);
    }
    joined.map_or_else(
        || Err("no list of segments".to_owned()),
        |all| Ok(all.to_string()),
    )
}

/// Makes files that were put into a folder an index there.
///
/// # Errors
/// The folder cannot be written.
pub fn complete_published(folder: &Path, segments: &str) -> std::io::Result<()> {
    fs::write(folder.join(FORMAT_FILE), FORMAT.to_string())?;
    fs::write(folder.join(META), segments)
}
