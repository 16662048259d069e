//! A step's output on its way to the log: masked, cut into lines, commands taken out, capped head
//! and tail.

use std::collections::VecDeque;

use runner_core::command::{Command, Commands};
use runner_core::mask::{Masker, Secrets};
use runner_core::problem_matcher::ProblemMatchers;

use super::problems::{Problems, annotation_line};
use crate::log::LineKind;

/// Bytes of one step's lines that are kept from its beginning; from its end.
const HEAD_BYTES: usize = 8 << 20;
const TAIL_BYTES: usize = 256 << 10;
/// A line is cut here: output without a line end is no line.
const MAX_LINE_BYTES: usize = 16 << 10;

/// What a piece of a step's output comes to.
#[derive(Debug, Default)]
pub(crate) struct StepOutput {
    /// Lines to be logged.
    pub(crate) lines: Vec<(LineKind, String)>,
    /// Outputs set in the old way.
    pub(crate) outputs: Vec<(String, String)>,
    /// State of an action, set in the old way.
    pub(crate) state: Vec<(String, String)>,
    /// Texts to be masked from here on.
    pub(crate) masks: Vec<String>,
    /// Variables for later steps.
    pub(crate) env: Vec<(String, String)>,
    /// Directories for their `PATH`.
    pub(crate) path: Vec<String>,
    /// Problem matchers that come and go.
    pub(crate) matchers: Vec<MatcherChange>,
    /// Why a command fails the step.
    pub(crate) wrong: Option<String>,
}

/// What a command does to the problem matchers of the job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MatcherChange {
    /// Those of a file are added.
    Add(String),
    /// Those of an owner go.
    RemoveOwner(String),
    /// Those of a file go.
    RemoveFile(String),
}

/// One stream of one step.
pub(crate) struct OutputParser {
    kind: LineKind,
    masker: Masker,
    commands: Commands,
    line: Vec<u8>,
    /// The open line was given out in part: its rest is no command.
    continued: bool,
    /// How the open line began, as it came: only what begins with a colon or `#` can be a command.
    first: Option<u8>,
    /// Whether `::debug::` lines are shown.
    debug: bool,
    problems: Problems,
}

impl OutputParser {
    pub(crate) fn new(kind: LineKind, secrets: &Secrets, unsecure: bool) -> Self {
        Self {
            kind,
            masker: Masker::new(secrets),
            commands: Commands::new(unsecure),
            line: Vec::new(),
            continued: false,
            first: None,
            debug: false,
            problems: Problems::default(),
        }
    }

    /// Shows what steps say for debugging too.
    pub(crate) fn showing_debug(mut self, debug: bool) -> Self {
        self.debug = debug;
        self
    }

    /// The bytes in pieces between which masks may have to be set: what follows `::add-mask::` in
    /// one write is masked too.
    pub(crate) fn pieces<'b>(&self, bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let begun = matches!(self.first, Some(b':' | b'#'));
        let inside = bytes.windows(2).any(|two| two == b"::" || two == b"#[");
        let may_command = begun || inside;
        if may_command {
            bytes.split_inclusive(|byte| *byte == b'\n').collect()
        } else {
            vec![bytes]
        }
    }

    /// Makes annotations of lines that fit these, from here on.
    pub(crate) fn match_problems(&mut self, matchers: &ProblemMatchers) {
        self.problems.set(matchers);
    }

    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        self.masker.set(secrets);
    }

    /// Takes bytes as they were written.
    pub(crate) fn push(&mut self, bytes: &[u8], output: &mut StepOutput) {
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.first = bytes.get(end + 1).copied(),
            None => self.first = self.first.or_else(|| bytes.first().copied()),
        }
        let shown = self.masker.push(bytes);
        self.take(&shown, output);
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, output: &mut StepOutput) {
        let rest = self.masker.finish();
        self.take(&rest, output);
        if !self.line.is_empty() {
            self.end_line(output);
        }
    }

    fn take(&mut self, bytes: &[u8], output: &mut StepOutput) {
        for byte in bytes {
            if *byte == b'\n' {
                self.end_line(output);
            } else {
                self.line.push(*byte);
                if self.line.len() >= MAX_LINE_BYTES {
                    self.end_line(output);
                    self.continued = true;
                }
            }
        }
    }

    fn end_line(&mut self, output: &mut StepOutput) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r');
        let continued = std::mem::take(&mut self.continued);
        let command = if continued {
            None
        } else {
            self.commands.line(text)
        };
        let shown = match command {
            None => {
                output.lines.push((self.kind, clean(text)));
                let found = self.problems.line(text).into_iter();
                let found = found.map(|(kind, text)| (kind, clean(&text)));
                output.lines.extend(found);
                return;
            }
            Some(Command::Group(title)) => (LineKind::Group, clean(&title)),
            Some(Command::EndGroup) => (LineKind::EndGroup, String::new()),
            Some(Command::Annotation(note)) => {
                let (kind, text) = annotation_line(note);
                (kind, clean(&text))
            }
            Some(Command::AddMask(text)) => {
                output.masks.push(text);
                return;
            }
            Some(Command::SetOutput { name, value }) => {
                output.outputs.push((name, value));
                return;
            }
            Some(Command::SaveState { name, value }) => {
                output.state.push((name, value));
                return;
            }
            Some(Command::Debug(text)) if self.debug => {
                (self.kind, clean(&format!("debug: {text}")))
            }
            Some(Command::Debug(_) | Command::Echo(_) | Command::NoEffect(_)) => return,
            Some(Command::SetEnv { name, value }) => {
                output.env.push((name, value));
                return;
            }
            Some(Command::AddPath(path)) => {
                output.path.push(path);
                return;
            }
            Some(Command::AddMatcher(file)) => {
                output.matchers.push(MatcherChange::Add(file));
                return;
            }
            Some(Command::RemoveMatcher { owner, file }) => {
                let change = match owner {
                    Some(owner) => MatcherChange::RemoveOwner(owner),
                    None => MatcherChange::RemoveFile(file),
                };
                output.matchers.push(change);
                return;
            }
            Some(Command::Disabled(name)) => {
                let file = runner_core::command::replacement(&name);
                let text = format!(
                    "the command `{name}` is switched off, for others could use it through the output: write to {file}, or set ACTIONS_ALLOW_UNSECURE_COMMANDS to true"
                );
                output.wrong.get_or_insert_with(|| text.clone());
                (LineKind::Error, text)
            }
        };
        output.lines.push(shown);
    }
}

/// Without control characters but tabs and the escapes of colours, which pages show as they like.
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\t' | '\u{1b}'))
        .collect()
}

/// Keeps the beginning and the end of what a step prints.
#[derive(Default)]
pub(crate) struct OutputCap {
    written: usize,
    tail: VecDeque<(LineKind, String)>,
    tail_bytes: usize,
    dropped: u64,
}

impl OutputCap {
    /// Lines that may be written now.
    pub(crate) fn pass(&mut self, lines: Vec<(LineKind, String)>) -> Vec<(LineKind, String)> {
        let mut now = Vec::new();
        for line in lines {
            let bytes = line.1.len() + 1;
            if self.written + bytes <= HEAD_BYTES && self.tail.is_empty() {
                self.written += bytes;
                now.push(line);
                continue;
            }
            self.tail_bytes += bytes;
            self.tail.push_back(line);
            while self.tail_bytes > TAIL_BYTES {
                let Some((_, gone)) = self.tail.pop_front() else {
                    break;
                };
                self.tail_bytes -= gone.len() + 1;
                self.dropped += gone.len() as u64 + 1;
            }
        }
        now
    }

    /// Output that the VM manager did not hand on.
    pub(crate) fn lost(&mut self, bytes: u64) {
        self.dropped += bytes;
    }

    /// What is left at the end: how much is missing, then the tail.
    pub(crate) fn finish(self) -> Vec<(LineKind, String)> {
        let note = (self.dropped > 0).then(|| {
            let text = format!("… {} bytes of output are left out here …", self.dropped);
            (LineKind::Warning, text)
        });
        note.into_iter().chain(self.tail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(writes: &[&str], secrets: &[&str]) -> StepOutput {
        let mut known = Secrets::default();
        for secret in secrets {
            known.add(secret).unwrap();
        }
        let mut stream = OutputParser::new(LineKind::Out, &known, false);
        let mut output = StepOutput::default();
        for write in writes {
            stream.push(write.as_bytes(), &mut output);
        }
        stream.finish(&mut output);
        output
    }

    fn texts(output: &StepOutput) -> Vec<&str> {
        output.lines.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn r16_a_secret_split_over_writes_is_masked() {
        let output = parse(&["the key is hun", "ter2-hunter", "2!\n"], &["hunter2"]);
        assert_eq!(texts(&output), ["the key is ***-***!"]);
    }

    #[test]
    fn commands_become_lines_masks_and_outputs() {
        let output = parse(
            &[
                "::group::Build\na\n::endgroup::\n::error file=a.rs,line=3,title=T::m%0Ax\n::add-mask::abc\n::set-output name=k::v\nno ::command::\n",
            ],
            &[],
        );
        let kinds: Vec<LineKind> = output.lines.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                LineKind::Group,
                LineKind::Out,
                LineKind::EndGroup,
                LineKind::Error,
                LineKind::Out
            ]
        );
        assert_eq!(texts(&output)[3], "a.rs:3: T: mx");
        assert_eq!(
            (output.masks, output.outputs),
            (
                vec!["abc".to_owned()],
                vec![("k".to_owned(), "v".to_owned())]
            )
        );
    }

    #[test]
    fn x7_setting_variables_through_the_output_fails_the_step_unless_allowed() {
        let lines = "::set-env name=A::1\n::add-path::/opt/bin\n";
        for (unsecure, wrong) in [(false, true), (true, false)] {
            let mut stream = OutputParser::new(LineKind::Out, &Secrets::default(), unsecure);
            let mut output = StepOutput::default();
            stream.push(lines.as_bytes(), &mut output);
            assert_eq!(output.wrong.is_some(), wrong);
            assert_eq!(output.lines.len(), if wrong { 2 } else { 0 });
            let set = (output.env.len(), output.path.len());
            assert_eq!(set, if wrong { (0, 0) } else { (1, 1) });
            if let Some(wrong) = output.wrong {
                assert!(wrong.contains("GITHUB_ENV"), "{wrong}");
            }
        }
    }

    #[test]
    fn r10_output_without_a_line_end_is_cut_and_binary_is_cleaned() {
        let long = "x".repeat(3 * MAX_LINE_BYTES);
        assert_eq!(parse(&[&long], &[]).lines.len(), 3);
        assert_eq!(
            texts(&parse(&["a\0b\x07\u{1b}[31mred\r\n"], &[])),
            ["ab\u{1b}[31mred"]
        );
    }

    #[test]
    fn r10_the_head_and_the_tail_are_kept() {
        let mut cap = OutputCap::default();
        let line = |number: usize| (LineKind::Out, format!("{number:0>99}"));
        let count = 2 * HEAD_BYTES / 100;
        let mut kept = cap.pass((0..count).map(line).collect());
        assert_eq!(kept.len(), HEAD_BYTES / 100);
        kept.extend(cap.finish());
        assert_eq!(kept.last(), Some(&line(count - 1)));
        let note = kept
            .iter()
            .find(|(kind, _)| *kind == LineKind::Warning)
            .unwrap();
        assert!(
            note.1.contains("bytes of output are left out"),
            "{}",
            note.1
        );
        let bytes: usize = kept.iter().map(|(_, text)| text.len() + 1).sum();
        assert!(bytes <= HEAD_BYTES + TAIL_BYTES + 100, "{bytes}");
    }
}
