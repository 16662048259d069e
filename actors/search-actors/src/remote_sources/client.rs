//! One source that is asked at query time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use search_core::role::{CommunitySite, FolderOrUrl, Haystack, Source, Tasks};
use search_engine::devdocs::DevDocs;
use search_engine::tasks::{Taskwarrior, beads, todo_txt};
use search_sources_core::SourceItem;

use super::MAX_ITEMS;
use super::source_outcome::SourceOutcome;
use crate::remote::{RemoteSettings, RemoteSource, is_remote};

/// A server is given up so much earlier than its source.
const HEAD_START: Duration = Duration::from_millis(100);

/// The most tasks of this machine that are looked at.
const MAX_TASKS: usize = 10_000;

/// Whether a haystack is asked at query time, and has no index of its own.
pub(crate) fn is_live(haystack: &Haystack) -> bool {
    is_remote(haystack) || local_tasks(haystack).is_some()
}

/// How a source is asked.
pub(super) enum SourceClient {
    Remote(Box<RemoteSource>),
    Tasks(LocalTasks),
    /// Its parameters cannot be used.
    Refused(String),
}

#[derive(Debug, Clone)]
pub(super) enum LocalTasks {
    Taskwarrior,
    TodoTxt(PathBuf),
    Beads(PathBuf),
    DevDocs(DevDocs),
}

fn local_tasks(haystack: &Haystack) -> Option<LocalTasks> {
    match &haystack.source {
        Source::TaskTracker {
            tasks: Tasks::Taskwarrior,
            ..
        } => Some(LocalTasks::Taskwarrior),
        Source::TaskTracker {
            tasks: Tasks::TodoTxt(path),
            ..
        } => Some(LocalTasks::TodoTxt(path.clone())),
        Source::TaskTracker {
            tasks: Tasks::Beads(path),
            ..
        } => Some(LocalTasks::Beads(path.clone())),
        Source::CommunityDocs(CommunitySite::DevDocs(FolderOrUrl::Folder(folder))) => {
            Some(LocalTasks::DevDocs(DevDocs::new(folder.clone())))
        }
        _ => None,
    }
}

impl SourceClient {
    pub(super) fn new(haystack: &Haystack, deadline: Duration) -> Option<Self> {
        if let Some(tasks) = local_tasks(haystack) {
            return Some(Self::Tasks(tasks));
        }
        // It has to end by itself, so that it notes the failure and leaves the server alone for a
        // while.
        let deadline = deadline.saturating_sub(HEAD_START);
        let remote = RemoteSource::new(haystack, RemoteSettings { deadline })?;
        Some(match remote {
            Ok(remote) => Self::Remote(Box::new(remote)),
            Err(error) => Self::Refused(error.to_string()),
        })
    }

    /// Begins what takes long before the first question.
    pub(super) fn warm(&self) {
        if let Self::Remote(remote) = self {
            remote.warm();
        }
    }

    /// Asks, and answers within `deadline` whatever happens.
    pub(super) async fn query(&self, id: String, words: &str, deadline: Duration) -> SourceOutcome {
        let began = Instant::now();
        let answer = tokio::time::timeout(deadline, self.items(words, deadline)).await;
        let late = || Err(format!("no answer within {deadline:?}"));
        let (items, error) = match answer.unwrap_or_else(|_| late()) {
            Ok((items, note)) => (items, note),
            Err(error) => (Vec::new(), Some(error)),
        };
        SourceOutcome {
            id,
            items,
            error,
            took: began.elapsed(),
        }
    }

    /// The items, and what the report should say about them.
    async fn items(
        &self,
        words: &str,
        deadline: Duration,
    ) -> Result<(Vec<SourceItem>, Option<String>), String> {
        let (items, skipped) = match self {
            Self::Refused(reason) => return Err(reason.clone()),
            Self::Remote(remote) => {
                let found = remote.search(words, MAX_ITEMS).await;
                let found = found.map_err(|error| error.to_string())?;
                (found.items, found.skipped)
            }
            Self::Tasks(tasks) => {
                let tasks = tasks.clone();
                let words = words.to_owned();
                let reading = move || match tasks {
                    LocalTasks::Taskwarrior => Taskwarrior::default().export(deadline),
                    LocalTasks::TodoTxt(path) => todo_txt(&path),
                    LocalTasks::Beads(path) => beads(&path),
                    LocalTasks::DevDocs(docs) => docs.find(&words, MAX_ITEMS),
                };
                let read = actix_rt::task::spawn_blocking(reading).await;
                let parsed = read.map_err(|error| error.to_string())?;
                let mut parsed = parsed.map_err(|error| error.to_string())?.normalized();
                let beyond = parsed.items.len().saturating_sub(MAX_TASKS);
                parsed.items.truncate(MAX_TASKS);
                (parsed.items, parsed.skipped.count + beyond)
            }
        };
        let note = (skipped > 0).then(|| format!("{skipped} of its entries cannot be read"));
        Ok((items, note))
    }
}
