//! How much of a source is taken up, and what is said where that is not all.

use std::time::Duration;

use search_core::answer::LimitReason;
use search_engine::watch::{PollingReason, WatchMode};

/// How much of one source is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Folders that are watched; a source with more is compared at intervals.
    pub watched_folders: usize,
    /// Documents that are learnt from; nothing is learnt of a source with more.
    pub learnt_documents: u64,
    /// Documents of its concept graph; those past it are left out.
    pub graph_documents: usize,
    /// Time between comparisons of a source that cannot be watched; more where one takes long.
    pub poll_interval: Duration,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            watched_folders: 100_000,
            learnt_documents: 4_000_000,
            graph_documents: 1_000_000,
            poll_interval: Duration::from_secs(30),
        }
    }
}

/// A limit, and what is said of it where it is reached.
pub(crate) type LimitState = (LimitReason, Option<String>);

impl SearchLimits {
    /// What is said of a source that is watched so.
    pub(crate) fn watch_states(&self, mode: WatchMode) -> [LimitState; 2] {
        let most = self.watched_folders;
        let too_many = mode == WatchMode::Polling(PollingReason::TooManyDirectories);
        let detail = || {
            format!(
                "it has more than {most} folders (SERVICE_MAX_WATCHED_FOLDERS): changes are found \
                 by comparing everything every 30 s, more rarely where that takes long"
            )
        };
        let is_system = matches!(mode, WatchMode::Polling(_)) && !too_many;
        [
            (LimitReason::WatchedFolders, too_many.then(detail)),
            (
                LimitReason::SystemWatches,
                is_system.then(|| mode.to_string()),
            ),
        ]
    }

    /// What is said of a source with so many documents.
    pub(crate) fn learning_state(&self, documents: u64) -> LimitState {
        let most = self.learnt_documents;
        let detail = || {
            format!(
                "it has {documents} documents, more than {most} (SERVICE_MAX_LEARNT_DOCUMENTS): no \
                 words are learnt, and search ranks by the words as they are"
            )
        };
        let is_over = documents > most;
        (LimitReason::LearntDocuments, is_over.then(detail))
    }

    /// What is said of a source whose graph has left documents out, or has not.
    pub(crate) fn graph_state(&self, is_full: bool) -> LimitState {
        let most = self.graph_documents;
        let detail = || {
            format!(
                "its concept graph holds {most} documents (SERVICE_MAX_GRAPH_DOCUMENTS): the \
                 others are found, but are not in it"
            )
        };
        (LimitReason::GraphDocuments, is_full.then(detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_a_limit_is_told_where_it_is_passed() {
        let limits = SearchLimits {
            learnt_documents: 5,
            ..SearchLimits::default()
        };
        assert_eq!(limits.learning_state(5).1, None);
        let told = limits.learning_state(6).1.expect("it is passed");
        assert!(told.contains("SERVICE_MAX_LEARNT_DOCUMENTS"), "{told}");
        assert_eq!(limits.graph_state(false).1, None);
        assert!(limits.graph_state(true).1.is_some());
        for (mode, folders, system) in [
            (WatchMode::Events, false, false),
            (WatchMode::EventsAndPolling, false, false),
            (
                WatchMode::Polling(PollingReason::TooManyDirectories),
                true,
                false,
            ),
            (WatchMode::Polling(PollingReason::SystemLimit), false, true),
            (WatchMode::Polling(PollingReason::Unsupported), false, true),
        ] {
            let told = limits
                .watch_states(mode)
                .map(|(_, detail)| detail.is_some());
            assert_eq!(told, [folders, system], "{mode}");
        }
    }
}
