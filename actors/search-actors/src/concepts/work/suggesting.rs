//! Suggestions: made altogether now and then, and by what has changed between.

use search_graph_engine::suggest::MAX_SUGGESTIONS;

use super::*;

/// Suggestions that may differ from those that were made altogether.
const MAX_DIFFERING: usize = 4_096;

impl ConceptWorker {
    /// Makes all suggestions anew.
    pub(super) fn suggest(&mut self, snapshot: &IndexSnapshot) -> Result<(), ConceptError> {
        self.suggestions = SuggestionChanges::default();
        let titles = titles(snapshot)?;
        let words = snapshot.frequent_words(MAX_WORDS)?;
        let words = words.iter().map(|(word, count)| (word.as_str(), *count));
        let titles = titles.iter().map(String::as_str);
        self.handle.graph.publish_suggestions(titles, words);
        Ok(())
    }

    /// Brings the suggestions in step: by what was noted, unless that is much.
    pub(super) fn change_suggestions(
        &mut self,
        snapshot: &IndexSnapshot,
    ) -> Result<(), ConceptError> {
        let changes = std::mem::take(&mut self.suggestions);
        if changes == SuggestionChanges::default() {
            return Ok(());
        }
        let noted = changes.titles.len() + changes.gone_titles.len() + changes.concepts.len();
        let is_much = noted > MAX_DIFFERING;
        if is_much || self.handle.graph.change_suggestions(&changes) > MAX_DIFFERING {
            return self.suggest(snapshot);
        }
        Ok(())
    }

    /// Notes what a document was called, and what it is called now.
    pub(super) fn note_title(
        &mut self,
        snapshot: &IndexSnapshot,
        former: Option<&str>,
        title: Option<&str>,
    ) -> Result<(), ConceptError> {
        if former == title {
            return Ok(());
        }
        if let Some(former) = former
            && !snapshot.has_title(former)?
        {
            self.suggestions.gone_titles.insert(former.to_owned());
        }
        let title = title.filter(|title| !title.trim().is_empty());
        self.suggestions.titles.extend(title.map(str::to_owned));
        Ok(())
    }

    /// Notes the concepts of a document, before they change and after that.
    pub(super) fn note_concepts(&mut self, key: u64) {
        // All suggestions will be made anew.
        if self.suggestions.concepts.len() <= MAX_DIFFERING {
            let names = self.handle.graph.read(|graph| graph.names_of_hashed(key));
            self.suggestions.concepts.extend(names);
        }
    }
}

/// The distinct titles of the documents; of too many the first in their order, which are those
/// that would be suggested.
fn titles(snapshot: &IndexSnapshot) -> Result<Vec<String>, ConceptError> {
    let mut titles: Vec<String> = Vec::new();
    let distinct = |titles: &mut Vec<String>| {
        titles.sort_unstable();
        titles.dedup();
        titles.truncate(MAX_SUGGESTIONS);
    };
    snapshot.for_each_document(|record| {
        if !record.title.trim().is_empty() {
            titles.push(record.title);
        }
        if titles.len() >= 2 * MAX_SUGGESTIONS {
            distinct(&mut titles);
        }
    })?;
    distinct(&mut titles);
    Ok(titles)
}
