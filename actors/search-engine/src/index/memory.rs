//! An index that lives in memory: for the few documents that another server has just given.
//!
//! It ranks like the one on disk, and together with it: one set of term statistics, the same order.

use std::path::Path;

use search_core::document::ExtractedDocument;
use tantivy::directory::RamDirectory;
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexWriter, ReloadPolicy, TantivyDocument};

use super::builder::SegmentBuilder;
use super::error::IndexError;
use super::record::FileState;
use super::schema;
use super::segment;
use super::snapshot::IndexSnapshot;

/// What tantivy wants at least; nothing of it is used, as the segment is built beside it.
const WORKER_BYTES: usize = 15_000_000;

impl IndexSnapshot {
    /// An index of these documents, in memory. Of several with one key the last is kept.
    ///
    /// # Errors
    /// When the index cannot be made: an error of this program.
    pub fn in_memory(documents: &[ExtractedDocument]) -> Result<Self, IndexError> {
        let (schema, fields) = schema::schema();
        let index = Index::create(RamDirectory::create(), schema, schema::settings())?;
        // Never fills its memory here, and so never looks for its folder.
        let mut builder = SegmentBuilder::new(std::path::Path::new(""));
        for document in documents {
            builder.add(document, FileState::default());
        }
        if let Some(segment) = segment::write(&mut builder, &index, fields)? {
            let options = IndexWriterOptions::builder()
                .memory_budget_per_thread(WORKER_BYTES)
                .num_worker_threads(1)
                .num_merge_threads(1)
                .build();
            let mut writer: IndexWriter<TantivyDocument> = index.writer_with_options(options)?;
            writer.add_segment(segment)?;
            writer.commit()?;
        }
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        // It lies in no folder.
        Ok(Self::new(
            Path::new(""),
            reader.searcher(),
            fields,
            0,
            None,
        )?)
    }
}
