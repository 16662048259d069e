//! The way of what the sources answered into the answer of a search.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use search_core::answer::SearchAnswer;
use search_engine::answering::SearchableRole;
use search_engine::item_cache::ItemCache;
use search_sources_core::SourceItem;
use url::Url;

use super::source_outcome::SourceOutcome;
use crate::registry::RoleEntry;

/// The role with what its sources answered, and how long each took.
pub(crate) struct RoleWithItems {
    pub(crate) role: SearchableRole,
    /// Id of the handle and time.
    pub(crate) times: Vec<(String, Duration)>,
}

impl RoleEntry {
    /// The role as it can be searched with these answers. A source that was not asked, because the
    /// query holds no word to ask with, holds nothing.
    pub(crate) fn searchable_with(&self, outcomes: &[SourceOutcome]) -> RoleWithItems {
        let mut role = self.searchable();
        let times = outcomes
            .iter()
            .map(|one| (one.id.clone(), one.took))
            .collect();
        let mut shown = Addresses::default();
        for (source, entry) in role.sources.iter_mut().zip(&self.sources) {
            if !entry.handle.is_live() {
                continue;
            }
            let outcome = outcomes.iter().find(|one| one.id == source.id);
            let (mut items, error) = outcome.map_or((Vec::new(), None), |one| {
                (one.items.clone(), one.error.clone())
            });
            items.retain(|item| shown.is_first(&source.id, item));
            source.error = error;
            match ItemCache::new(items) {
                Ok(item_cache) => {
                    source.snapshot = Some(item_cache.snapshot().clone());
                    source.item_cache = Some(Arc::new(item_cache));
                }
                Err(failure) => source.error = Some(failure.to_string()),
            }
        }
        RoleWithItems { role, times }
    }

    /// The role with the item that the document's id names, where it was shown lately.
    pub(crate) fn searchable_for(&self, id: &str) -> SearchableRole {
        let mut role = self.searchable();
        let Some((source_id, key)) = id.split_once('/') else {
            return role;
        };
        for (source, entry) in role.sources.iter_mut().zip(&self.sources) {
            if source.id != source_id || !entry.handle.is_live() {
                continue;
            }
            let item = entry.handle.cached_item(key);
            if let Ok(item_cache) = ItemCache::new(item.map(|item| SourceItem::clone(&item))) {
                source.snapshot = Some(item_cache.snapshot().clone());
                source.item_cache = Some(Arc::new(item_cache));
            }
        }
        role
    }
}

/// The addresses of what the sources have answered: what two sources hold is one result, of the
/// source that the role names first.
#[derive(Default)]
struct Addresses(HashMap<String, String>);

impl Addresses {
    fn is_first(&mut self, source: &str, item: &SourceItem) -> bool {
        let Some(url) = item.url.as_deref() else {
            return true;
        };
        let address = Url::parse(url).map_or_else(|_| url.to_owned(), String::from);
        let address = address.trim_end_matches('/').to_owned();
        let first = self.0.entry(address).or_insert_with(|| source.to_owned());
        first == source
    }
}

/// Puts each source's own time into its report.
pub(crate) fn with_times(mut answer: SearchAnswer, asked: &RoleWithItems) -> SearchAnswer {
    for source in &asked.role.sources {
        let time = asked.times.iter().find(|(id, _)| *id == source.id);
        let report = answer
            .sources
            .iter_mut()
            .find(|report| report.name == source.name);
        if let (Some((_, took)), Some(report)) = (time, report) {
            report.took_ms = took.as_secs_f64() * 1e3;
        }
    }
    answer
}

/// Keeps what the answer shows, so that it can be opened: nobody else has it.
pub(crate) fn store_items(entry: &RoleEntry, asked: &RoleWithItems, answer: &SearchAnswer) {
    for (source, entry) in asked.role.sources.iter().zip(&entry.sources) {
        let Some(item_cache) = &source.item_cache else {
            continue;
        };
        let keys = answer.results.iter().filter_map(|result| {
            let (id, key) = result.id.split_once('/')?;
            (id == source.id).then_some(key)
        });
        for item in keys.filter_map(|key| item_cache.get(key)) {
            entry.handle.cache_item(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_one_address_of_two_sources_is_one_result() {
        let item = |url: &str| SourceItem {
            url: Some(url.to_owned()),
            ..SourceItem::default()
        };
        let mut addresses = Addresses::default();
        assert!(addresses.is_first("a", &item("https://f.example/a/b/issues/3")));
        assert!(!addresses.is_first("b", &item("HTTPS://F.example/a/b/issues/3/")));
        assert!(addresses.is_first("b", &item("https://f.example/a/b/issues/4")));
        // Two answers of one source are its own business: they have keys.
        assert!(addresses.is_first("a", &item("https://f.example/a/b/issues/3")));
        assert!(
            addresses.is_first("b", &SourceItem::default())
                && addresses.is_first("a", &SourceItem::default())
        );
    }
}
