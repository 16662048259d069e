//! How far indexing is, on the screen of a person who started the server in a terminal.

use std::time::Duration;

use daemon::first_screen;
use search_core::answer::{SourceHealth, SourceState};

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Shows how far the sources are until each is ready or has failed.
pub(crate) async fn show(health: impl Fn() -> Vec<SourceHealth>) {
    loop {
        let sources = health();
        match summary(&sources) {
            Progress::Working(text) => first_screen::progress("indexing", &text),
            Progress::Done(text) => {
                first_screen::line("ready", &text);
                for source in sources
                    .iter()
                    .filter(|one| one.state == SourceState::Failed)
                {
                    let error = source.error.as_deref().unwrap_or("it cannot be searched");
                    first_screen::line("failed", &format!("{}: {error}", source.name));
                }
                first_screen::line("", "Ctrl-C ends the server.");
                return;
            }
        }
        actix_rt::time::sleep(POLL_INTERVAL).await;
    }
}

/// How far all sources are together.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Working(String),
    Done(String),
}

fn summary(sources: &[SourceHealth]) -> Progress {
    let is_busy =
        |one: &SourceHealth| matches!(one.state, SourceState::Starting | SourceState::Indexing);
    let documents: u64 = sources.iter().map(|one| one.documents).sum();
    if !sources.iter().any(is_busy) {
        let failed = sources
            .iter()
            .filter(|one| one.state == SourceState::Failed);
        let failed = match failed.count() {
            0 => String::new(),
            failed => format!(", {failed} of {} sources failed", sources.len()),
        };
        return Progress::Done(format!("{documents} documents can be found{failed}"));
    }
    let progress = sources.iter().filter_map(|one| one.progress);
    let (done, total) = progress.fold((0, 0), |(done, total), one| {
        (done + one.done, total + one.total)
    });
    Progress::Working(match total {
        0 => "looking for files".to_owned(),
        _ => format!("{done} of {total} files; what is indexed can be found"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(state: &str, documents: u64, progress: Option<(u64, u64)>) -> SourceHealth {
        let progress =
            progress.map(|(done, total)| json!({"done": done, "total": total, "bytes": 0}));
        let value = json!({"role": "R", "name": "Files", "service": "LocalFiles", "state": state,
            "documents": documents, "updated_at": null, "error": null, "progress": progress});
        serde_json::from_value(value).expect("a source")
    }

    #[test]
    fn all_sources_together_are_one_line() {
        let working = |text: &str| Progress::Working(text.to_owned());
        let done = |text: &str| Progress::Done(text.to_owned());
        for (sources, expected) in [
            (
                vec![source("starting", 0, None)],
                working("looking for files"),
            ),
            (
                vec![
                    source("ready", 5, None),
                    source("indexing", 1, Some((254, 2505))),
                ],
                working("254 of 2505 files; what is indexed can be found"),
            ),
            (
                vec![source("ready", 5, None), source("ready", 2, None)],
                done("7 documents can be found"),
            ),
            (
                vec![source("ready", 5, None), source("failed", 0, None)],
                done("5 documents can be found, 1 of 2 sources failed"),
            ),
        ] {
            assert_eq!(summary(&sources), expected);
        }
    }
}
