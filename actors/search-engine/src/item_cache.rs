//! What another server or program has just said, as a source that can be searched: the items and an
//! index of them in memory.

use std::collections::BTreeMap;

use search_core::document::{ContentKind, ExtractedDocument};
use search_sources_core::SourceItem;

use crate::index::{IndexError, IndexSnapshot};

/// Longest text kept of an item, in bytes.
pub const MAX_ITEM_BYTES: usize = 64 << 10;

/// Items and their index. What is in it never changes.
#[derive(Debug)]
pub struct ItemCache {
    items: BTreeMap<String, SourceItem>,
    snapshot: IndexSnapshot,
}

impl ItemCache {
    /// A cache of these items; of several with one key the first is kept. Long texts are cut.
    ///
    /// # Errors
    /// When the index cannot be made.
    pub fn new(items: impl IntoIterator<Item = SourceItem>) -> Result<Self, IndexError> {
        let mut kept = BTreeMap::new();
        for mut item in items {
            if item.body.len() > MAX_ITEM_BYTES {
                item.body
                    .truncate(item.body.floor_char_boundary(MAX_ITEM_BYTES));
            }
            kept.entry(item.key.clone()).or_insert(item);
        }
        let documents: Vec<ExtractedDocument> = kept.values().map(document).collect();
        Ok(Self {
            snapshot: IndexSnapshot::in_memory(&documents)?,
            items: kept,
        })
    }

    /// The index of the items.
    #[must_use]
    pub fn snapshot(&self) -> &IndexSnapshot {
        &self.snapshot
    }

    /// The item with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&SourceItem> {
        self.items.get(key)
    }

    /// All items, by key.
    pub fn items(&self) -> impl Iterator<Item = &SourceItem> {
        self.items.values()
    }
}

/// Where a person can open an item: only addresses that a browser may follow from anywhere.
#[must_use]
pub(crate) fn web_address(item: &SourceItem) -> Option<&str> {
    let url = item.url.as_deref()?;
    let is_web = ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    is_web.then_some(url)
}

fn document(item: &SourceItem) -> ExtractedDocument {
    let mut body = item.body.clone();
    for alias in &item.aliases {
        body.push('\n');
        body.push_str(alias);
    }
    ExtractedDocument {
        key: item.key.clone(),
        title: item.title.clone(),
        title_is_heading: false,
        headings: item.aliases.clone(),
        tags: item.tags.clone(),
        links: Vec::new(),
        body,
        kind: ContentKind::Prose,
        modified: item.modified,
    }
}
