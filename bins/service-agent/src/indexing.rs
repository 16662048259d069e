//! Bringing indexes up to date, with their progress: a bar on a terminal, a line now and then
//! elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use search_core::answer::{ReindexAnswer, SourceHealth, SourceState};
use serde_json::json;
use service_agent::{Client, ClientFailure, CommandResult, OpenTarget};

use crate::human::{clean, print_note};
use crate::output::{Output, show};
use crate::views;

/// How often the server is asked how far it is.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A source that was told to begin is believed to have ended when it has not begun for so long.
const START_TIMEOUT: Duration = Duration::from_secs(3);

/// Width of the bar, in characters.
const WIDTH: usize = 24;

/// `index`: every source that is meant, begun now where a server runs; a private server begins by
/// itself.
pub(crate) async fn index(
    opened: &OpenTarget,
    role: Option<&str>,
    source: Option<&str>,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let client = &opened.client;
    let meant = |one: &SourceHealth| {
        role.is_none_or(|role| one.role == role) && source.is_none_or(|source| one.name == source)
    };
    let before: Vec<SourceHealth> = client.health().await?.sources;
    let before: Vec<SourceHealth> = before.into_iter().filter(meant).collect();
    if before.is_empty() {
        return Err(ClientFailure::NotFound(
            "there is no such source; `roles list` names all".to_owned(),
        ));
    }
    if !opened.is_private() {
        start_reindex(client, &before).await?;
        wait_for_change(client, &before).await?;
    }
    let after: Vec<SourceHealth> = settle(client, true).await?;
    let after: Vec<SourceHealth> = after.into_iter().filter(meant).collect();
    show(output, &json!({ "sources": after }), || {
        views::sources(&after)
    })?;
    if after.iter().any(|one| one.state == SourceState::Failed) {
        return Err(ClientFailure::Other(
            "not every source could be indexed".to_owned(),
        ));
    }
    Ok(CommandResult::Found)
}

/// Tells each source to compare itself with its index. Those that have none are asked at query
/// time.
async fn start_reindex(client: &Client, sources: &[SourceHealth]) -> Result<(), ClientFailure> {
    for source in sources {
        let path = ["api", "sources", &source.role, &source.name, "reindex"];
        match client.post::<ReindexAnswer>(&path, &json!({})).await {
            Ok(_) => {}
            Err(ClientFailure::Other(detail)) => print_note(&format!("! {}", clean(&detail))),
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Waits until each source has begun or ended its comparison.
async fn wait_for_change(client: &Client, before: &[SourceHealth]) -> Result<(), ClientFailure> {
    let began = Instant::now();
    while began.elapsed() < START_TIMEOUT {
        let now = client.health().await?.sources;
        let begun = |old: &SourceHealth| {
            let new = now
                .iter()
                .find(|new| (&new.role, &new.name) == (&old.role, &old.name));
            new.is_none_or(|new| {
                new.state != SourceState::Ready || new.updated_at != old.updated_at
            })
        };
        if before.iter().all(begun) {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Waits until no source is being read any more, and shows how far they are.
pub(crate) async fn settle(client: &Client, bar: bool) -> Result<Vec<SourceHealth>, ClientFailure> {
    let mut shown = LastProgress::new(bar);
    loop {
        let sources = client.health().await?.sources;
        let busy = |source: &&SourceHealth| {
            matches!(source.state, SourceState::Starting | SourceState::Indexing)
        };
        let Some(working) = sources.iter().find(busy) else {
            shown.finish();
            return Ok(sources);
        };
        shown.report_progress(working);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// What was shown last.
struct LastProgress {
    /// Whether one line is written again and again.
    live: bool,
    drawn: bool,
    reported: Option<(String, u64)>,
}

impl LastProgress {
    fn new(bar: bool) -> Self {
        Self {
            live: bar && std::io::stderr().is_terminal(),
            drawn: false,
            reported: None,
        }
    }

    fn report_progress(&mut self, source: &SourceHealth) {
        let Some(progress) = source.progress else {
            return;
        };
        let total = progress.total.max(1);
        if self.live {
            self.drawn = true;
            let bar = bar(progress.done, total);
            draw(&format!(
                "{bar} {} {} of {} files",
                clean(&source.name),
                progress.done,
                progress.total
            ));
            return;
        }
        let step = (source.name.clone(), progress.done * 10 / total);
        if progress.total >= 1000 && self.reported.as_ref() != Some(&step) {
            self.reported = Some(step);
            print_note(&format!(
                "indexing {}: {} of {} files",
                clean(&source.name),
                progress.done,
                progress.total
            ));
        }
    }

    fn finish(&mut self) {
        if self.drawn {
            draw("");
        }
    }
}

/// Writes over the line. A closed terminal is no reason to fail.
fn draw(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "\r\u{1b}[K{text}").and_then(|()| out.flush());
}

fn bar(done: u64, total: u64) -> String {
    let done = done.min(total);
    let full = usize::try_from(done * WIDTH as u64 / total).unwrap_or(WIDTH);
    format!(
        "[{}{}] {:>3} %",
        "#".repeat(full),
        "·".repeat(WIDTH - full),
        done * 100 / total
    )
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_bar_is_as_long_as_it_is_far() {
        assert!(bar(0, 10).starts_with("[····"));
        assert!(bar(5, 10).contains(" 50 %") && bar(5, 10).matches('#').count() == 12);
        assert!(bar(12, 10).ends_with("100 %"), "more was found on the way");
    }
}
