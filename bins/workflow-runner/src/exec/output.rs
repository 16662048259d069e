//! A run as it is seen at a terminal: its log while it grows, and how it ended.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use runner_actors::{LineKind, LogLine, RunRecord, RunnerView, StepHeadings};

use crate::arguments::{print as out, print_note};

/// Prints the log until the run has ended; gives its record.
pub(crate) async fn print(view: &RunnerView, run: &str) -> anyhow::Result<RunRecord> {
    let mut grown = view.logs().watch(run);
    let mut changed = view.changes();
    let (mut at, mut rest) = (0, String::new());
    let mut headings = StepHeadings::default();
    loop {
        let record = view.run(run).await?;
        let ended = record.filter(|record| record.state.is_terminal());
        if ended.is_some() {
            // What it wrote last is on the disk then.
            view.logs().flush().await;
        }
        let text = read(view, run, at)?;
        at += text.len() as u64;
        rest.push_str(&text);
        while let Some(end) = rest.find('\n') {
            let line: String = rest.drain(..=end).collect();
            if let Ok(line) = serde_json::from_str::<LogLine>(&line) {
                if let Some(name) = headings.heading_before(&line) {
                    out(&format!("[{}] --- {name} (goes on)\n", line.job));
                }
                out(&format_line(&line));
            }
        }
        if let Some(record) = ended {
            return Ok(record);
        }
        tokio::select! {
            _ = grown.changed() => {}
            _ = changed.changed() => {}
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}

/// What was written since; whole lines, which are JSON, so UTF-8 is never cut.
fn read(view: &RunnerView, run: &str, at: u64) -> anyhow::Result<String> {
    let mut file = match std::fs::File::open(view.logs().path(run)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error.into()),
    };
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    bytes.truncate(whole);
    Ok(String::from_utf8(bytes)?)
}

fn format_line(line: &LogLine) -> String {
    let job = if line.job.is_empty() {
        String::new()
    } else {
        format!("[{}] ", line.job)
    };
    match line.kind {
        LineKind::Group => format!("{job}--- {}\n", line.text),
        LineKind::EndGroup => String::new(),
        LineKind::Notice => format!("{job}notice: {}\n", line.text),
        LineKind::Warning => format!("{job}warning: {}\n", line.text),
        LineKind::Error => format!("{job}error: {}\n", line.text),
        LineKind::Info | LineKind::Out | LineKind::Err => format!("{job}{}\n", line.text),
    }
}

/// How each job ended, on standard error.
pub(crate) fn summary(record: &RunRecord) {
    for job in &record.jobs {
        let conclusion = job
            .conclusion
            .map_or("not ended", runner_core::state::Conclusion::as_str);
        let reason = job
            .reason
            .as_deref()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        let isolation = job
            .isolation
            .as_deref()
            .map(|isolation| format!(" ({isolation})"))
            .unwrap_or_default();
        print_note(&format!("{} {conclusion}{isolation}{reason}", job.name));
    }
    if record.jobs.is_empty()
        && let Some(reason) = &record.reason
    {
        print_note(reason);
    }
}
