//! Items that were shown lately, so that `GET /api/documents/{id}` can show them again.

use std::collections::VecDeque;
use std::sync::Arc;

use search_sources_core::SourceItem;

/// Items kept a source; with texts of at most 64 KiB each.
const MAX_ITEMS: usize = 256;

/// The last items shown, the oldest go first.
#[derive(Debug, Default)]
pub(crate) struct RecentItems {
    items: VecDeque<Arc<SourceItem>>,
}

impl RecentItems {
    pub(crate) fn insert(&mut self, item: &SourceItem) {
        self.items.retain(|known| known.key != item.key);
        if self.items.len() == MAX_ITEMS {
            self.items.pop_front();
        }
        self.items.push_back(Arc::new(item.clone()));
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<SourceItem>> {
        self.items.iter().find(|item| item.key == key).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept() {
        let mut recent = RecentItems::default();
        let item = |key: usize, title: &str| SourceItem {
            key: key.to_string(),
            title: title.to_owned(),
            ..SourceItem::default()
        };
        for key in 0..=MAX_ITEMS {
            recent.insert(&item(key, "old"));
        }
        recent.insert(&item(1, "new"));
        assert!(recent.get("0").is_none());
        assert_eq!(
            recent.get("1").map(|item| item.title.clone()).as_deref(),
            Some("new")
        );
        assert_eq!(recent.items.len(), MAX_ITEMS);
    }
}
