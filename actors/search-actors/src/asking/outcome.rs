//! What asking brought, and its way into the answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use search_core::answer::SearchAnswer;
use search_engine::answering::SearchableRole;
use search_engine::shelf::ItemShelf;
use search_sources_core::Item;
use url::Url;

use crate::board::RoleEntry;

/// What one source answered.
#[derive(Debug, Clone, Default)]
pub struct SourceOutcome {
    /// Id of its slot.
    pub id: String,
    /// What it said; nothing when it failed.
    pub items: Vec<Item>,
    /// Why it did not answer, or not completely.
    pub error: Option<String>,
    /// Time until it had answered, or had not.
    pub took: Duration,
}

/// The role with what its sources answered, and how long each took.
pub(crate) struct Asked {
    pub(crate) role: SearchableRole,
    /// Id of the slot and time.
    pub(crate) times: Vec<(String, Duration)>,
}

impl RoleEntry {
    /// The role as it can be searched with these answers. A source that was not asked, because the query holds no word to ask
    /// with, holds nothing.
    pub(crate) fn searchable_with(&self, outcomes: &[SourceOutcome]) -> Asked {
        let mut role = self.searchable();
        let times = outcomes
            .iter()
            .map(|one| (one.id.clone(), one.took))
            .collect();
        let mut shown = Addresses::default();
        for (source, entry) in role.sources.iter_mut().zip(&self.sources) {
            if !entry.slot.is_asked() {
                continue;
            }
            let outcome = outcomes.iter().find(|one| one.id == source.id);
            let (mut items, error) = outcome.map_or((Vec::new(), None), |one| {
                (one.items.clone(), one.error.clone())
            });
            items.retain(|item| shown.is_first(&source.id, item));
            source.error = error;
            match ItemShelf::new(items) {
                Ok(shelf) => {
                    source.snapshot = Some(shelf.snapshot().clone());
                    source.shelf = Some(Arc::new(shelf));
                }
                Err(failure) => source.error = Some(failure.to_string()),
            }
        }
        Asked { role, times }
    }

    /// The role with the item that the document's id names, where it was shown lately.
    pub(crate) fn searchable_for(&self, id: &str) -> SearchableRole {
        let mut role = self.searchable();
        let Some((source_id, key)) = id.split_once('/') else {
            return role;
        };
        for (source, entry) in role.sources.iter_mut().zip(&self.sources) {
            if source.id != source_id || !entry.slot.is_asked() {
                continue;
            }
            let item = entry.slot.remembered(key);
            if let Ok(shelf) = ItemShelf::new(item.map(|item| Item::clone(&item))) {
                source.snapshot = Some(shelf.snapshot().clone());
                source.shelf = Some(Arc::new(shelf));
            }
        }
        role
    }
}

/// The addresses of what the sources have answered: what two sources hold is one result, of the source that the role names
/// first.
#[derive(Default)]
struct Addresses(HashMap<String, String>);

impl Addresses {
    fn is_first(&mut self, source: &str, item: &Item) -> bool {
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
pub(crate) fn with_times(mut answer: SearchAnswer, asked: &Asked) -> SearchAnswer {
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
pub(crate) fn remember(entry: &RoleEntry, asked: &Asked, answer: &SearchAnswer) {
    for (source, entry) in asked.role.sources.iter().zip(&entry.sources) {
        let Some(shelf) = &source.shelf else { continue };
        let keys = answer.results.iter().filter_map(|result| {
            let (id, key) = result.id.split_once('/')?;
            (id == source.id).then_some(key)
        });
        for item in keys.filter_map(|key| shelf.get(key)) {
            entry.slot.remember(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_one_address_of_two_sources_is_one_result() {
        let item = |url: &str| Item {
            url: Some(url.to_owned()),
            ..Item::default()
        };
        let mut addresses = Addresses::default();
        assert!(addresses.is_first("a", &item("https://f.example/a/b/issues/3")));
        assert!(!addresses.is_first("b", &item("HTTPS://F.example/a/b/issues/3/")));
        assert!(addresses.is_first("b", &item("https://f.example/a/b/issues/4")));
        // Two answers of one source are its own business: they have keys.
        assert!(addresses.is_first("a", &item("https://f.example/a/b/issues/3")));
        assert!(
            addresses.is_first("b", &Item::default()) && addresses.is_first("a", &Item::default())
        );
    }
}
