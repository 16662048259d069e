//! A run's log as a page shows it: by job and step, numbered, in groups.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use runner_actors::{LineKind, LogLine};

use super::ansi::markup;
use super::text::escaped;

/// Lines that a page shows; the rest is in the log itself.
const MOST_LINES: usize = 30_000;
/// Notes of steps that are listed at the top.
const MOST_NOTES: usize = 50;
/// Lines that a browser lays out together, once they come into view.
const CHUNK: usize = 200;

/// The lines of a run by the job's name and the step's number; the run's own are of the job with no name.
#[derive(Debug, Default)]
pub(crate) struct RunLog {
    parts: HashMap<(String, u32), Vec<(LineKind, String)>>,
    /// Bytes of the log that are in it.
    pub(super) bytes: u64,
    /// There is more.
    pub(super) is_cut: bool,
}

impl RunLog {
    /// Reads a log as far as a page shows it. Blocks.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub(crate) fn read(path: &Path) -> std::io::Result<Self> {
        let mut log = Self::default();
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            // Nothing was written yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(log),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(256 << 10, file);
        let mut text = Vec::new();
        for _ in 0..MOST_LINES {
            text.clear();
            let read = reader.read_until(b'\n', &mut text)?;
            // The last line may be on its way.
            if text.last() != Some(&b'\n') {
                return Ok(log);
            }
            log.bytes += read as u64;
            if let Ok(line) = serde_json::from_slice::<LogLine>(&text) {
                log.add(line);
            }
        }
        log.is_cut = !reader.fill_buf()?.is_empty();
        Ok(log)
    }

    fn add(&mut self, line: LogLine) {
        let part = self.parts.entry((line.job, line.step)).or_default();
        part.push((line.kind, line.text));
    }

    /// Whether a step, or a job before its steps, said anything.
    pub(super) fn has(&self, job: &str, step: u32) -> bool {
        self.parts.contains_key(&(job.to_owned(), step))
    }

    /// The lines of a part. `id` begins their anchors.
    pub(super) fn part(&self, job: &str, step: u32, id: &str) -> Part {
        let mut part = Part {
            has_begun: self.has(job, step),
            ..Part::default()
        };
        for (kind, text) in self.shown(job, step) {
            part.add(*kind, text, id);
        }
        part
    }

    /// Notices, warnings and errors of a step with the numbers of their lines.
    pub(super) fn notes(&self, job: &str, step: u32) -> Vec<(usize, LineKind, &str)> {
        let lines = self
            .shown(job, step)
            .filter(|(kind, _)| *kind != LineKind::EndGroup);
        let notes = lines.enumerate().filter_map(|(index, (kind, text))| {
            let is_note = matches!(kind, LineKind::Notice | LineKind::Warning | LineKind::Error);
            is_note.then_some((index + 1, *kind, text.as_str()))
        });
        notes.take(MOST_NOTES).collect()
    }

    /// Without the group that names the step: the page has it as a heading.
    fn shown(&self, job: &str, step: u32) -> impl Iterator<Item = &(LineKind, String)> {
        let lines = self.parts.get(&(job.to_owned(), step));
        let lines = lines.map(Vec::as_slice).unwrap_or_default();
        let heading = step > 0 && lines.first().is_some_and(|line| line.0 == LineKind::Group);
        lines[usize::from(heading)..].iter()
    }
}

/// What a kind of line is called in the page's style.
pub(super) fn class(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Info => "info",
        LineKind::Out | LineKind::EndGroup => "out",
        LineKind::Err => "err",
        LineKind::Group => "grp",
        LineKind::Notice => "notice",
        LineKind::Warning => "warning",
        LineKind::Error => "error",
    }
}

/// Lines of one part on their way to markup.
#[derive(Default)]
pub(super) struct Part {
    /// It said something, if only its heading.
    has_begun: bool,
    lines: Vec<String>,
    group: Option<Group>,
    count: usize,
}

struct Group {
    head: String,
    lines: Vec<String>,
    has_error: bool,
}

impl Part {
    fn add(&mut self, kind: LineKind, text: &str, id: &str) {
        if matches!(kind, LineKind::Group | LineKind::EndGroup) {
            self.end_group("");
        }
        if kind == LineKind::EndGroup {
            return;
        }
        self.count += 1;
        let (class, number) = (class(kind), self.count);
        let anchor = format!("<a href=\"#{id}-{number}\">{number}</a>");
        if kind == LineKind::Group {
            self.group = Some(Group {
                head: format!(
                    "<summary class=\"l grp\" id=\"{id}-{number}\">{anchor}<span>{}</span></summary>",
                    escaped(text)
                ),
                lines: Vec::new(),
                has_error: false,
            });
            return;
        }
        let line = format!(
            "<div class=\"l {class}\" id=\"{id}-{number}\">{anchor}<span>{}</span></div>",
            markup(text)
        );
        match &mut self.group {
            Some(group) => {
                group.has_error |= kind == LineKind::Error;
                group.lines.push(line);
            }
            None => self.lines.push(line),
        }
    }

    /// Puts the group among the lines; `more` is an attribute for the page's script.
    fn end_group(&mut self, more: &str) {
        if let Some(group) = self.group.take() {
            let open = if group.has_error { " open" } else { "" };
            self.lines.push(format!(
                "<details class=\"group\"{open}{more}>{}{}</details>",
                group.head,
                chunked(&group.lines)
            ));
        }
    }

    /// The part as markup.
    pub(super) fn markup(mut self) -> String {
        // Lines that are still to come may belong to it.
        self.end_group(" data-last");
        format!(
            "<div class=\"log\" data-lines=\"{}\" data-begun=\"{}\">{}</div>",
            self.count,
            self.has_begun,
            chunked(&self.lines)
        )
    }
}

fn chunked(lines: &[String]) -> String {
    let chunks = lines.chunks(CHUNK);
    chunks
        .map(|lines| format!("<div class=\"chunk\">{}</div>", lines.concat()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[(u32, LineKind, &str)]) -> RunLog {
        let mut log = RunLog::default();
        for (step, kind, text) in lines {
            log.add(LogLine {
                at: 0,
                job: "a".to_owned(),
                step: *step,
                kind: *kind,
                text: (*text).to_owned(),
            });
        }
        log
    }

    #[test]
    fn lines_are_numbered_grouped_and_escaped_and_notes_know_their_lines() {
        let log = log(&[
            (1, LineKind::Group, "the step"),
            (1, LineKind::Out, "<b>"),
            (1, LineKind::Group, "Fetch"),
            (1, LineKind::Out, "inside"),
            (1, LineKind::EndGroup, ""),
            (1, LineKind::Error, "bad"),
        ]);
        let html = log.part("a", 1, "j0s1").markup();
        assert!(html.contains("data-lines=\"4\""), "{html}");
        assert!(!html.contains("the step"), "{html}");
        for part in [
            "id=\"j0s1-1\"><a href=\"#j0s1-1\">1</a><span>&lt;b&gt;</span>",
            "<details class=\"group\"><summary class=\"l grp\" id=\"j0s1-2\"",
            "id=\"j0s1-3\"",
            "</div></details><div class=\"l error\" id=\"j0s1-4\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(log.notes("a", 1), [(4, LineKind::Error, "bad")]);
    }

    #[test]
    fn a_long_log_is_cut_and_an_unfinished_line_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let line = "{\"at\":1,\"job\":\"a\",\"step\":1,\"kind\":\"out\",\"text\":\"x\"}\n";
        std::fs::write(&path, line.repeat(3) + "{\"at\"").unwrap();
        let log = RunLog::read(&path).unwrap();
        assert_eq!((log.bytes, log.is_cut), (3 * line.len() as u64, false));
        std::fs::write(&path, line.repeat(MOST_LINES + 1)).unwrap();
        let log = RunLog::read(&path).unwrap();
        assert_eq!(log.part("a", 1, "x").count, MOST_LINES);
        assert!(log.is_cut);
        assert!(RunLog::read(&folder.path().join("none")).unwrap().bytes == 0);
    }
}
