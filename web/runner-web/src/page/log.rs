//! A run's log as a page shows it: by job and step, numbered, in groups.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use maud::{Markup, html};
use runner_actors::{LineKind, LogLine};

use super::ansi::markup;
use super::text::VisibleMarkup;

/// Lines that a page shows; the rest is in the log itself.
const MAX_LINES: usize = 30_000;
/// Notes of steps that are listed at the top.
const MAX_NOTES: usize = 50;
/// Lines that a browser lays out together, once they come into view.
const CHUNK_LINES: usize = 200;

/// The lines of a run by the job's name and the step's number; the run's own are of the job with no
/// name.
#[derive(Debug, Default)]
pub(crate) struct RunLogLines {
    sections: HashMap<(String, u32), Vec<(LineKind, String)>>,
    /// Bytes of the log that are in it.
    pub(super) bytes: u64,
    /// There is more.
    pub(super) is_cut: bool,
}

impl RunLogLines {
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
        for _ in 0..MAX_LINES {
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
        let section = self.sections.entry((line.job, line.step)).or_default();
        section.push((line.kind, line.text));
    }

    /// Whether a step, or a job before its steps, said anything.
    pub(super) fn has_output(&self, job: &str, step: u32) -> bool {
        self.sections.contains_key(&(job.to_owned(), step))
    }

    /// The lines of a section. `id` begins their anchors.
    pub(super) fn section(&self, job: &str, step: u32, id: &str) -> SectionMarkup {
        let mut section = SectionMarkup {
            has_started: self.has_output(job, step),
            ..SectionMarkup::default()
        };
        for (kind, text) in self.visible_lines(job, step) {
            section.add(*kind, text, id);
        }
        section
    }

    /// Notices, warnings and errors of a step with the numbers of their lines.
    pub(super) fn notes(&self, job: &str, step: u32) -> Vec<(usize, LineKind, &str)> {
        let lines = self
            .visible_lines(job, step)
            .filter(|(kind, _)| *kind != LineKind::EndGroup);
        let notes = lines.enumerate().filter_map(|(index, (kind, text))| {
            let is_note = matches!(kind, LineKind::Notice | LineKind::Warning | LineKind::Error);
            is_note.then_some((index + 1, *kind, text.as_str()))
        });
        notes.take(MAX_NOTES).collect()
    }

    /// Without the group that names the step: the page has it as a heading.
    fn visible_lines(&self, job: &str, step: u32) -> impl Iterator<Item = &(LineKind, String)> {
        let lines = self.sections.get(&(job.to_owned(), step));
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

/// Lines of one step on their way to markup.
#[derive(Default)]
pub(super) struct SectionMarkup {
    /// It said something, if only its heading.
    has_started: bool,
    lines: Vec<Markup>,
    group: Option<LineGroup>,
    count: usize,
}

struct LineGroup {
    head: Markup,
    lines: Vec<Markup>,
    has_error: bool,
}

impl SectionMarkup {
    fn add(&mut self, kind: LineKind, text: &str, id: &str) {
        if matches!(kind, LineKind::Group | LineKind::EndGroup) {
            self.end_group(false);
        }
        if kind == LineKind::EndGroup {
            return;
        }
        self.count += 1;
        let (class, number) = (class(kind), self.count);
        let id = format!("{id}-{number}");
        let anchor = html! { a href={ "#" (id) } { (number) } };
        if kind == LineKind::Group {
            self.group = Some(LineGroup {
                head: html! {
                    summary class="l grp" id=(id) { (anchor) span { (VisibleMarkup(text)) } }
                },
                lines: Vec::new(),
                has_error: false,
            });
            return;
        }
        let line = html! {
            div class={ "l " (class) } id=(id) { (anchor) span { (markup(text)) } }
        };
        match &mut self.group {
            Some(group) => {
                group.has_error |= kind == LineKind::Error;
                group.lines.push(line);
            }
            None => self.lines.push(line),
        }
    }

    /// Puts the group among the lines; the page's script may add lines to the last one.
    fn end_group(&mut self, is_last: bool) {
        if let Some(group) = self.group.take() {
            self.lines.push(html! {
                details class="group" open[group.has_error] data-last[is_last] {
                    (group.head) (chunked(&group.lines))
                }
            });
        }
    }

    /// The section as markup.
    pub(super) fn markup(mut self) -> Markup {
        // Lines that are still to come may belong to it.
        self.end_group(true);
        html! {
            div class="log" data-lines=(self.count) data-begun=(self.has_started.to_string()) {
                (chunked(&self.lines))
            }
        }
    }
}

fn chunked(lines: &[Markup]) -> Markup {
    html! {
        @for chunk in lines.chunks(CHUNK_LINES) {
            div class="chunk" { @for line in chunk { (line) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[(u32, LineKind, &str)]) -> RunLogLines {
        let mut log = RunLogLines::default();
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
        let html = log.section("a", 1, "j0s1").markup().0;
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let line = "{\"at\":1,\"job\":\"a\",\"step\":1,\"kind\":\"out\",\"text\":\"x\"}\n";
        std::fs::write(&path, line.repeat(3) + "{\"at\"").unwrap();
        let log = RunLogLines::read(&path).unwrap();
        assert_eq!((log.bytes, log.is_cut), (3 * line.len() as u64, false));
        std::fs::write(&path, line.repeat(MAX_LINES + 1)).unwrap();
        let log = RunLogLines::read(&path).unwrap();
        assert_eq!(log.section("a", 1, "x").count, MAX_LINES);
        assert!(log.is_cut);
        assert!(
            RunLogLines::read(&directory.path().join("none"))
                .unwrap()
                .bytes
                == 0
        );
    }
}
