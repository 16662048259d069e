//! Sources that are asked at query time: other servers, and the tasks of this machine.
//!
//! ```text
//! SearchService --QuerySources--> RemoteSources ──all at once──▶ RemoteSource::search (HTTP), tasks (a thread)
//!     ^                         |  one deadline: whoever has not answered is reported, not waited for
//!     +----Vec<SourceOutcome>---+
//! SearchService's workers: items ─▶ ItemCache (an index in memory) ─▶ ranked with the files, one statistic
//! ```

mod answers;
mod client;
mod recent_items;
mod service;
mod source_outcome;

pub(crate) use answers::{store_items, with_times};
pub(crate) use client::is_live;
pub(crate) use recent_items::RecentItems;
pub use service::RemoteSources;
pub use source_outcome::SourceOutcome;

use search_core::query::{ParsedQuery, SearchRequest, parse};

/// The most items one source is asked for. Not less for a small page: the second page is cut from
/// the same answer.
pub(crate) const MAX_ITEMS: usize = 50;

/// Longest question in characters; what is longer is no question that a search of the web
/// understands.
const MAX_QUESTION: usize = 300;

/// The words other servers are asked with: those that are looked for, without the query language,
/// which is applied to what they answer. None where there is nothing to ask, or the query is wrong.
pub(crate) fn question(request: &SearchRequest) -> Option<String> {
    let query = parse(request).ok()?;
    let words = words(&query).join(" ");
    let words: String = words.chars().take(MAX_QUESTION).collect();
    (!words.trim().is_empty()).then_some(words)
}

fn words(query: &ParsedQuery) -> Vec<&str> {
    let wanted = query
        .words()
        .iter()
        .filter(|word| query.is_looked_for(word));
    let beginnings = query.prefixes().iter().filter(|prefix| prefix.scores);
    wanted
        .map(|word| word.surface.as_str())
        .chain(beginnings.map(|prefix| prefix.folded.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_asked_with_words_not_with_the_query_language() {
        let of = |text: &str| question(&SearchRequest::for_text(text));
        assert_eq!(of("pump valve"), Some("pump valve".to_owned()));
        assert_eq!(
            of("\"pump seal\" -rain tag:x val*"),
            Some("pump seal val".to_owned())
        );
        assert_eq!(of("tag:x"), None);
        assert_eq!(of("(pump"), None);
        assert_eq!(of(&"wordy ".repeat(3)), Some("wordy".to_owned()));
    }
}
