//! What narrows a search down, by document: its folder, extension, tags, role and time, read once
//! from the records of a segment and kept while searches ask for it.

use rustc_hash::FxHashMap;
use search_core::facets::{FacetCounts, extension, folder};
use search_core::file_roles::FileRole;
use tantivy::DocId;

use super::record::DocumentRecord;

/// The facts of one segment's documents, deleted ones included.
#[derive(Debug, Default)]
pub(super) struct SegmentFacts {
    documents: Vec<Facts>,
    /// Tags of all documents, one behind the other.
    tags: Vec<u32>,
    folders: Names,
    extensions: Names,
    tag_names: Names,
}

#[derive(Debug)]
struct Facts {
    /// Seconds since the Unix epoch; the earliest time where it is unknown.
    modified: i64,
    folder: u32,
    extension: u32,
    /// Where its tags end.
    tags_end: u32,
    role: FileRole,
}

/// Texts by number.
#[derive(Debug, Default)]
struct Names {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    fn finished(mut self) -> Self {
        self.numbers = FxHashMap::default();
        self
    }

    /// Calls `each` with every name and its count.
    fn for_each_count(&self, counts: &[u64], mut each: impl FnMut(&str, u64)) {
        for (name, &count) in self.names.iter().zip(counts) {
            each(name, count);
        }
    }
}

impl SegmentFacts {
    pub(super) fn push(&mut self, record: &DocumentRecord) {
        for tag in &record.tags {
            self.tags.push(self.tag_names.number(tag));
        }
        self.documents.push(Facts {
            modified: record.modified.unwrap_or(i64::MIN),
            folder: self.folders.number(folder(&record.key)),
            extension: self.extensions.number(&extension(&record.key)),
            tags_end: self.tags.len() as u32,
            role: record.role,
        });
    }

    /// Forgets what is only needed while documents are added.
    pub(super) fn finished(self) -> Self {
        Self {
            folders: self.folders.finished(),
            extensions: self.extensions.finished(),
            tag_names: self.tag_names.finished(),
            ..self
        }
    }

    /// Number of documents, deleted ones included.
    pub(super) fn len(&self) -> u32 {
        self.documents.len() as u32
    }

    /// When a document was changed last, in seconds since the Unix epoch.
    pub(super) fn modified(&self, document: DocId) -> i64 {
        self.documents[document as usize].modified
    }

    /// What a document's file is for.
    pub(super) fn role(&self, document: DocId) -> FileRole {
        self.documents[document as usize].role
    }

    fn tags_of(&self, document: DocId) -> &[u32] {
        let at = document as usize;
        let start = at.checked_sub(1).map(|before| &self.documents[before]);
        let start = start.map_or(0, |before| before.tags_end);
        &self.tags[start as usize..self.documents[at].tags_end as usize]
    }

    /// Adds what these documents have.
    pub(super) fn count(&self, documents: impl Iterator<Item = DocId>, into: &mut FacetCounts) {
        let mut folders = vec![0_u64; self.folders.names.len()];
        let mut extensions = vec![0_u64; self.extensions.names.len()];
        let mut tags = vec![0_u64; self.tag_names.names.len()];
        let mut roles = [0_u64; FileRole::ALL.len()];
        for document in documents {
            let facts = &self.documents[document as usize];
            folders[facts.folder as usize] += 1;
            extensions[facts.extension as usize] += 1;
            roles[usize::from(facts.role.code())] += 1;
            for &tag in self.tags_of(document) {
                tags[tag as usize] += 1;
            }
        }
        for (code, count) in (0..).zip(roles) {
            into.add_role(FileRole::from_code(code), count);
        }
        self.folders
            .for_each_count(&folders, |name, count| into.add_folder(name, count));
        self.extensions
            .for_each_count(&extensions, |name, count| into.add_type(name, count));
        self.tag_names
            .for_each_count(&tags, |name, count| into.add_tag(name, count));
    }
}
