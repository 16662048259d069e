//! How an index is opened and committed.

/// Settings of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexOptions {
    /// Memory for documents not written yet, in bytes. When it is full a segment is written.
    pub memory_bytes: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
        }
    }
}

/// When a commit returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the changes are searchable. A power cut may cost the index, which is then built anew;
    /// the end of the process alone costs nothing.
    Fast,
    /// When the changes are on the disk too.
    Synced,
}

/// How an index was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenOutcome {
    /// There was none.
    Created,
    /// As it was left.
    Existing,
    /// Parts of it were damaged and were left out; their documents have to be put again.
    Repaired {
        /// What was damaged, for people.
        reason: String,
    },
    /// It could not be used and was emptied; every document has to be put again.
    Rebuilt {
        /// Why, for people.
        reason: String,
    },
}
