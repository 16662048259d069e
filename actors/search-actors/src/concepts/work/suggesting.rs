//! Suggestions: made altogether now and then, and by what has changed between.

use rustc_hash::FxHashMap;
use search_core::defined_names::NAME_SEAM;
use search_graph_engine::suggest::MAX_SUGGESTIONS;

use super::*;

/// Suggestions that may differ from those that were made altogether.
const MAX_DIFFERING: usize = 4_096;

impl ConceptWorker {
    /// Makes all suggestions anew.
    pub(super) fn suggest(&mut self, snapshot: &IndexSnapshot) -> Result<(), ConceptError> {
        self.suggestions = SuggestionChanges::default();
        let SuggestionNames { titles, defined } = suggestion_names(snapshot)?;
        let words = snapshot.frequent_words(MAX_WORDS)?;
        let words = words.iter().map(|(word, count)| (word.as_str(), *count));
        let defined = defined
            .iter()
            .map(|(name, count)| (&**name, *count + DEFINED));
        let words = words.chain(defined);
        let titles = titles.iter().map(AsRef::as_ref);
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
    pub(super) fn record_title(
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
    pub(super) fn record_concepts(&mut self, key: u64) {
        // All suggestions will be made anew.
        if self.suggestions.concepts.len() <= MAX_DIFFERING {
            let names = self.handle.graph.read(|graph| graph.names_of_hashed(key));
            self.suggestions.concepts.extend(names);
        }
    }
}

/// What documents are called, and what they define.
struct SuggestionNames {
    /// The distinct titles; of too many the first in their order, which are those that would be
    /// suggested.
    titles: Vec<Box<str>>,
    /// Names of definitions in their own spelling, with the number of documents that define each;
    /// of too many those of the first documents.
    defined: FxHashMap<Box<str>, u32>,
}

/// What a definition weighs more than a word in as many documents, so that its own spelling comes
/// before the folded one of texts that use it.
const DEFINED: u32 = 30;

/// Definitions that are suggested.
const MAX_DEFINED: usize = 50_000;

/// Shorter names need no completion, in bytes.
const MIN_DEFINED: usize = 5;

fn suggestion_names(snapshot: &IndexSnapshot) -> Result<SuggestionNames, ConceptError> {
    let mut titles = FirstTitles::new(MAX_SUGGESTIONS);
    let mut defined: FxHashMap<Box<str>, u32> = FxHashMap::default();
    snapshot.for_each_document(|record| {
        titles.add(&record.title);
        let names = record.defined.split(NAME_SEAM);
        // Plain words are among the frequent ones.
        for name in names.filter(|name| name.len() >= MIN_DEFINED && is_identifier(name)) {
            if let Some(count) = defined.get_mut(name) {
                *count += 1;
            } else if defined.len() < MAX_DEFINED {
                defined.insert(name.into(), 1);
            }
        }
    })?;
    Ok(SuggestionNames {
        titles: titles.finish(),
        defined,
    })
}

/// Whether a name is written as no word is: of several parts.
fn is_identifier(name: &str) -> bool {
    let inner = name.trim_matches('_');
    inner.contains('_') || inner.chars().skip(1).any(char::is_uppercase)
}

/// The first of many titles in their order, each once.
struct FirstTitles {
    most: usize,
    titles: Vec<Box<str>>,
    /// The last title of so many: what comes behind it is not among the first.
    last: Option<Box<str>>,
}

impl FirstTitles {
    fn new(most: usize) -> Self {
        Self {
            most,
            titles: Vec::new(),
            last: None,
        }
    }

    fn add(&mut self, title: &str) {
        let is_behind = self.last.as_deref().is_some_and(|last| title >= last);
        if is_behind || title.trim().is_empty() {
            return;
        }
        self.titles.push(title.into());
        // A quarter more is held than is wanted, or they would be sorted again and again.
        if self.titles.len() > self.most + self.most / 4 {
            self.sort();
            if self.titles.len() == self.most {
                self.last = self.titles.last().cloned();
            }
        }
    }

    fn sort(&mut self) {
        self.titles.sort_unstable();
        self.titles.dedup();
        self.titles.truncate(self.most);
    }

    fn finish(mut self) -> Vec<Box<str>> {
        self.sort();
        self.titles
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FirstTitles;

    #[test]
    fn i16_of_too_many_titles_the_first_are_kept() {
        for (count, step, most) in [
            (0, 1, 3),
            (4, 3, 10),
            (500, 7, 40),
            (500, 77, 1),
            (90, 31, 45),
        ] {
            let all = (0..count).map(|at: usize| format!("{:03}", at * step % 97));
            let all: Vec<String> = all.chain(["  ".to_owned()]).collect();
            let mut titles = FirstTitles::new(most);
            for title in &all {
                titles.add(title);
                assert!(titles.titles.len() <= most + most / 4);
            }
            let distinct: BTreeSet<&str> = all.iter().map(String::as_str).collect();
            let expected = distinct
                .into_iter()
                .filter(|title| !title.trim().is_empty());
            let found = titles.finish();
            let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
            assert_eq!(found, expected.take(most).collect::<Vec<_>>());
        }
    }
}
