//! Streams: a run's log, and the journal.

use std::time::{Duration, Instant};

use orchestrator_core::admin::{JournalEntry, JournalPage};
use serde_json::{Value, json};

use crate::arguments::OutputFormat;
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::follow::{SseParser, StreamItem};
use crate::human;
use crate::output::write;

/// Entries asked for at a time.
const PAGE_SIZE: u64 = 1000;

/// How long a followed log is asked for again after it broke off: another orchestrator of a cluster
/// leads within seconds.
const RESUME_LIMIT: Duration = Duration::from_secs(20);
/// Between two attempts.
const RESUME_INTERVAL: Duration = Duration::from_secs(1);

/// The log, as it comes. What agents print is data: on a terminal it cannot steer it.
///
/// One that is followed and breaks off, as its leader was killed, is asked for again from where it
/// broke off: the next leader has what was stored of it, and how the run ended.
pub(crate) async fn logs(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    (run, follow, tail): (&str, bool, Option<u32>),
) -> Result<(), CommandFailure> {
    let of = |tail: Option<u32>| {
        let tail = tail.map(|lines| format!("&tail={lines}"));
        let (follow, tail) = (u8::from(follow), tail.unwrap_or_default());
        format!("admin/runs/{run}/log?follow={follow}{tail}")
    };
    let mut shown = LogProgress::default();
    let mut ended = log(bridge, format, &of(tail), &mut shown, follow).await;
    let mut until: Option<Instant> = None;
    while let Err(failure) = ended {
        if !follow || !shown.is_opened || !may_resume(&failure) {
            return Err(failure);
        }
        let had = shown.bytes;
        if until.is_none() {
            human::print_message("[the log broke off; it is asked for again]");
        }
        let limit = *until.get_or_insert_with(|| Instant::now() + RESUME_LIMIT);
        if Instant::now() >= limit {
            return Err(failure);
        }
        tokio::time::sleep(RESUME_INTERVAL).await;
        // Where only the end was wanted nobody knows how much was before it.
        shown.skip = if tail.is_some() { 0 } else { shown.bytes };
        ended = log(bridge, format, &of(tail.map(|_| 0)), &mut shown, follow).await;
        if shown.bytes > had {
            until = None;
        }
    }
    ended
}

/// Whether another attempt may bring the rest.
fn may_resume(failure: &CommandFailure) -> bool {
    matches!(
        failure,
        CommandFailure::Unreachable(_) | CommandFailure::Refused(_) | CommandFailure::TimedOut(_)
    )
}

/// What of a log was shown, over all attempts.
#[derive(Debug, Default)]
struct LogProgress {
    is_opened: bool,
    bytes: u64,
    /// Bytes that come first and were shown already.
    skip: u64,
}

impl LogProgress {
    /// The part of a text that was not shown before.
    fn new_part<'t>(&mut self, text: &'t str) -> &'t str {
        self.is_opened = true;
        let known = usize::try_from(self.skip).unwrap_or(usize::MAX);
        let known = text.floor_char_boundary(known.min(text.len()));
        self.skip = match known == text.len() {
            true => self.skip - known as u64,
            false => 0,
        };
        self.bytes += (text.len() - known) as u64;
        &text[known..]
    }
}

async fn log(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    path: &str,
    shown: &mut LogProgress,
    follow: bool,
) -> Result<(), CommandFailure> {
    let mut stream = bridge.follow(path).await?;
    shown.is_opened = true;
    let kind = stream.headers.get("content-type");
    let events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let (mut parser, mut rest) = (SseParser::default(), Vec::new());
    while let Some(chunk) = stream.next_chunk().await {
        let chunk = chunk?;
        if !events {
            match format {
                OutputFormat::Human => write(&human::safe(&chunk))?,
                // A character may be cut by the pieces: all at once, at the end.
                OutputFormat::Json => rest.extend_from_slice(&chunk),
            }
            continue;
        }
        for item in parser.push(&chunk) {
            let item = match item {
                StreamItem::Text(text) => match shown.new_part(&text) {
                    "" => continue,
                    new => StreamItem::Text(new.to_owned()),
                },
                item => item,
            };
            if show_item(format, item)? {
                return Ok(());
            }
        }
    }
    if format == OutputFormat::Json && !events {
        line(&json!({ "text": String::from_utf8_lossy(&rest) }))?;
    }
    if follow {
        let text = "the log ended before the run did; ask again";
        return Err(CommandFailure::Unreachable(text.to_owned()));
    }
    Ok(())
}

/// A log that is not followed, at once.
pub(crate) async fn text(
    bridge: &OrchestratorClient,
    path: &str,
) -> Result<String, CommandFailure> {
    let mut stream = bridge.follow(path).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next_chunk().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether it was the last item.
fn show_item(format: OutputFormat, item: StreamItem) -> Result<bool, CommandFailure> {
    match (format, item) {
        (OutputFormat::Human, StreamItem::Text(text)) => write(&human::safe(text.as_bytes()))?,
        (OutputFormat::Human, StreamItem::Skipped(bytes)) => {
            human::print_message(&format!("[{bytes} bytes are not kept]"));
        }
        (OutputFormat::Json, StreamItem::Text(text)) => line(&json!({ "text": text }))?,
        (OutputFormat::Json, StreamItem::Skipped(bytes)) => line(&json!({ "skipped": bytes }))?,
        (_, StreamItem::End) => return Ok(true),
    }
    Ok(false)
}

/// One JSON document in one line.
fn line(value: &Value) -> Result<(), CommandFailure> {
    write(format!("{value}\n").as_bytes())
}

/// What stands in the journal: after an entry, or the newest.
pub(crate) async fn events(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    after: Option<u64>,
    limit: u64,
) -> Result<(), CommandFailure> {
    let mut after = match after {
        Some(after) => after,
        None => {
            let newest: JournalPage = bridge
                .get(&format!("admin/journal?after={}&limit=1", u64::MAX - 1))
                .await?;
            newest.last.unwrap_or(0).saturating_sub(limit)
        }
    };
    let mut left = limit;
    while left > 0 {
        let asked = left.min(PAGE_SIZE);
        let path = format!("admin/journal?after={after}&limit={asked}");
        let page: JournalPage = bridge.get(&path).await?;
        for entry in &page.entries {
            show_entry(format, entry)?;
        }
        left = left.saturating_sub(page.entries.len() as u64);
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    Ok(())
}

/// The journal as it is written, until it is interrupted or the orchestrator ends.
pub(crate) async fn follow(
    bridge: &OrchestratorClient,
    format: OutputFormat,
) -> Result<(), CommandFailure> {
    let mut stream = bridge.follow("admin/events").await?;
    let mut parser = SseParser::default();
    while let Some(chunk) = stream.next_chunk().await {
        for item in parser.push(&chunk?) {
            if let StreamItem::Text(text) = item
                && let Ok(entry) = serde_json::from_str::<JournalEntry>(&text)
            {
                show_entry(format, &entry)?;
            }
        }
    }
    let text = "the orchestrator has ended the stream; ask again";
    Err(CommandFailure::Unreachable(text.to_owned()))
}

fn show_entry(format: OutputFormat, entry: &JournalEntry) -> Result<(), CommandFailure> {
    if format == OutputFormat::Json {
        let value = serde_json::to_value(entry);
        return line(&value.map_err(|error| CommandFailure::Refused(error.to_string()))?);
    }
    let agent = match (&entry.project, &entry.agent) {
        (Some(project), Some(agent)) => format!(" {project}/{agent}"),
        (Some(one), None) | (None, Some(one)) => format!(" {one}"),
        (None, None) => String::new(),
    };
    let run = entry.run.as_deref().map(|run| format!(" {run}"));
    let text = format!(
        "{} {}{agent}{} {}",
        entry.at,
        entry.event,
        run.unwrap_or_default(),
        entry.detail
    );
    write(format!("{}\n", human::clean(text.trim_end()).replace('\n', " ")).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_log_that_broke_off_is_gone_on_with_where_it_was() {
        let mut shown = LogProgress::default();
        assert_eq!(shown.new_part("one "), "one ");
        assert_eq!(shown.new_part("två "), "två ");
        shown.skip = shown.bytes;
        // The next leader cuts it elsewhere.
        let again: String = ["one tv", "å ", "three"]
            .iter()
            .map(|part| shown.new_part(part))
            .collect();
        assert_eq!((again.as_str(), shown.skip), ("three", 0));
        // What it has may be less.
        shown.skip = shown.bytes;
        assert_eq!(shown.new_part("one "), "");
        assert!(shown.skip > 0);
        assert!(may_resume(&CommandFailure::Unreachable(String::new())));
        assert!(!may_resume(&CommandFailure::NotFound(String::new())));
    }
}
