//! A step's output on its way to the log: masked, cut into lines, commands taken out, capped head
//! and tail.

use std::collections::VecDeque;

use runner_core::command::{StepCommand, StepCommandParser};
use runner_core::mask::{MaskedSecrets, Masker};
use runner_core::problem_matcher::ProblemMatchers;

use super::problems::{Problems, annotation_line};
use crate::log::LineKind;

/// Bytes of one step's lines that are kept from its end, beside those from its beginning.
const TAIL_BYTES: u64 = 256 << 10;
/// A line is cut here: output without a line end is no line.
const MAX_LINE_BYTES: usize = 16 << 10;
/// The longest line that is read as a command.
const MAX_COMMAND_BYTES: usize = 1 << 20;

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
    secrets: MaskedSecrets,
    commands: StepCommandParser,
    /// The open line as it came, while it can be a command: those are read unmasked, as on GitHub.
    held: Vec<u8>,
    /// The open line is no command.
    is_plain: bool,
    /// The open line that is shown, masked.
    line: Vec<u8>,
    /// Whether `::debug::` lines are shown.
    debug: bool,
    problems: Problems,
}

impl OutputParser {
    pub(crate) fn new(kind: LineKind, secrets: &MaskedSecrets, unsecure: bool) -> Self {
        Self {
            kind,
            masker: Masker::new(secrets),
            secrets: secrets.clone(),
            commands: StepCommandParser::new(unsecure),
            held: Vec::new(),
            is_plain: false,
            line: Vec::new(),
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
        let inside = bytes.windows(2).any(|two| two == b"::" || two == b"#[");
        if !self.held.is_empty() || inside {
            bytes.split_inclusive(|byte| *byte == b'\n').collect()
        } else {
            vec![bytes]
        }
    }

    /// Makes annotations of lines that fit these, from here on.
    pub(crate) fn match_problems(&mut self, matchers: &ProblemMatchers) {
        self.problems.set(matchers);
    }

    pub(crate) fn mask(&mut self, secrets: &MaskedSecrets) {
        self.masker.set(secrets);
        self.secrets = secrets.clone();
    }

    /// Takes bytes as they were written.
    pub(crate) fn push(&mut self, bytes: &[u8], output: &mut StepOutput) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.ends_with(b"\n");
            if self.is_plain {
                self.show(part, output);
            } else {
                self.held.extend_from_slice(part);
                self.classify_line(ends, output);
            }
            self.is_plain &= !ends;
        }
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, output: &mut StepOutput) {
        if !self.held.is_empty() {
            self.classify_line(true, output);
        }
        self.flush(output);
    }

    /// Looks at how the open line begins: whether it is a command, none, or nobody knows yet.
    fn classify_line(&mut self, ends: bool, output: &mut StepOutput) {
        let may_be = may_be_command(&self.held);
        if may_be && !ends && self.held.len() < MAX_COMMAND_BYTES {
            return;
        }
        let held = std::mem::take(&mut self.held);
        let text = String::from_utf8_lossy(&held);
        let text = text.trim_end_matches('\n').trim_end_matches('\r');
        let command = if may_be && ends {
            self.commands.line(text)
        } else {
            None
        };
        match command {
            Some(command) => {
                // What came before it is shown before it.
                self.flush(output);
                self.carry_out(command, output);
            }
            None => {
                self.is_plain = true;
                self.show(&held, output);
            }
        }
    }

    /// Shows all that is held back: what comes next does not belong to it.
    fn flush(&mut self, output: &mut StepOutput) {
        let rest = self.masker.finish();
        self.take(&rest, output);
        if !self.line.is_empty() {
            self.end_line(output);
        }
    }

    fn show(&mut self, bytes: &[u8], output: &mut StepOutput) {
        let shown = self.masker.push(bytes);
        self.take(&shown, output);
    }

    fn take(&mut self, bytes: &[u8], output: &mut StepOutput) {
        for byte in bytes {
            if *byte == b'\n' {
                self.end_line(output);
            } else {
                self.line.push(*byte);
                if self.line.len() >= MAX_LINE_BYTES {
                    self.end_line(output);
                }
            }
        }
    }

    fn end_line(&mut self, output: &mut StepOutput) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r');
        output.lines.push((self.kind, clean(text)));
        let found = self.problems.line(text).into_iter();
        let found = found.map(|(kind, text)| (kind, clean(&text)));
        output.lines.extend(found);
    }

    fn carry_out(&self, command: StepCommand, output: &mut StepOutput) {
        let (kind, text) = match command {
            StepCommand::Group(title) => (LineKind::Group, title),
            StepCommand::EndGroup => (LineKind::EndGroup, String::new()),
            StepCommand::Annotation(note) => annotation_line(note),
            StepCommand::AddMask(text) if text.trim().is_empty() => (
                LineKind::Warning,
                "`::add-mask::` without a value, or with blanks only, masks nothing".to_owned(),
            ),
            StepCommand::AddMask(text) => return output.masks.push(text),
            StepCommand::SetOutput { name, value } => return output.outputs.push((name, value)),
            StepCommand::SaveState { name, value } => return output.state.push((name, value)),
            StepCommand::Debug(text) if self.debug => (self.kind, format!("debug: {text}")),
            StepCommand::Debug(_) | StepCommand::Echo(_) | StepCommand::NoEffect(_) => return,
            StepCommand::SetEnv { name, value } => return output.env.push((name, value)),
            StepCommand::AddPath(path) => return output.path.push(path),
            StepCommand::AddMatcher(file) => return output.matchers.push(MatcherChange::Add(file)),
            StepCommand::RemoveMatcher { owner, file } => {
                let change = match owner {
                    Some(owner) => MatcherChange::RemoveOwner(owner),
                    None => MatcherChange::RemoveFile(file),
                };
                return output.matchers.push(change);
            }
            StepCommand::Disabled(name) => {
                let file = runner_core::command::replacement(&name);
                let text = format!(
                    "the command `{name}` is switched off, for others could use it through the output: write to {file}, or set ACTIONS_ALLOW_UNSECURE_COMMANDS to true"
                );
                output.wrong.get_or_insert_with(|| text.clone());
                (LineKind::Error, text)
            }
        };
        let text = self.secrets.mask(&text);
        output.lines.extend(split_lines(kind, &text));
    }
}

/// Whether a line that begins so can be a command, `::…` or `##[…`.
fn may_be_command(begun: &[u8]) -> bool {
    let begun = begun.trim_ascii_start();
    let prefixes: [&[u8]; 2] = [b"::", b"##["];
    let fits = |prefix: &[u8]| begun.starts_with(prefix) || prefix.starts_with(begun);
    prefixes.into_iter().any(fits)
}

/// A text of several lines as lines of one kind, none longer than lines are; a title stays one.
fn split_lines(kind: LineKind, text: &str) -> Vec<(LineKind, String)> {
    let mut lines = Vec::new();
    for line in text.trim_end_matches(['\r', '\n']).split('\n') {
        let mut rest = clean(line);
        while rest.len() > MAX_LINE_BYTES {
            let more = rest.split_off(rest.floor_char_boundary(MAX_LINE_BYTES));
            lines.push((kind, std::mem::replace(&mut rest, more)));
        }
        lines.push((kind, rest));
    }
    if kind == LineKind::Group {
        lines.truncate(1);
    }
    lines
}

/// Without control characters but tabs and the escapes of colours, which pages show as they like.
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\t' | '\u{1b}'))
        .collect()
}

/// Keeps the beginning and the end of what a step prints.
pub(crate) struct OutputCap {
    /// Bytes that are written as they come.
    most: u64,
    written: u64,
    tail: VecDeque<(LineKind, String)>,
    tail_bytes: u64,
    dropped: u64,
}

impl OutputCap {
    /// With so many bytes from the beginning.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            written: 0,
            tail: VecDeque::new(),
            tail_bytes: 0,
            dropped: 0,
        }
    }

    /// Lines that may be written now.
    pub(crate) fn pass(&mut self, lines: Vec<(LineKind, String)>) -> Vec<(LineKind, String)> {
        let mut now = Vec::new();
        for line in lines {
            let bytes = line.1.len() as u64 + 1;
            if self.written + bytes <= self.most && self.tail.is_empty() {
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
                self.tail_bytes -= gone.len() as u64 + 1;
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
            let text = format!(
                "… {} bytes of output are left out here: of a step the first {} bytes are kept (`log_step_max`), and the end …",
                self.dropped, self.most
            );
            (LineKind::Warning, text)
        });
        note.into_iter().chain(self.tail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(writes: &[&str], secrets: &[&str]) -> StepOutput {
        let mut known = MaskedSecrets::default();
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
                LineKind::Error,
                LineKind::Out
            ]
        );
        assert_eq!(texts(&output)[3..5], ["a.rs:3: T: m", "x"]);
        assert_eq!(
            (output.masks, output.outputs),
            (
                vec!["abc".to_owned()],
                vec![("k".to_owned(), "v".to_owned())]
            )
        );
    }

    #[test]
    fn i17_a_blank_mask_is_none() {
        for blank in ["", "  ", "%0A", "\t"] {
            let output = parse(&[&format!("::add-mask::{blank}\n")], &[]);
            assert!(output.masks.is_empty(), "{blank:?}");
            assert_eq!(output.lines[0].0, LineKind::Warning, "{blank:?}");
            assert!(output.lines[0].1.contains("masks nothing"), "{output:?}");
        }
        // Nor is a secret of that kind.
        assert_eq!(texts(&parse(&["a  b\n"], &["  "])), ["a  b"]);
    }

    #[test]
    fn x7_setting_variables_through_the_output_fails_the_step_unless_allowed() {
        let lines = "::set-env name=A::1\n::add-path::/opt/bin\n";
        for (unsecure, wrong) in [(false, true), (true, false)] {
            let mut stream = OutputParser::new(LineKind::Out, &MaskedSecrets::default(), unsecure);
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
    fn i17_commands_are_read_as_they_were_written_and_shown_masked() {
        let output = parse(
            &[
                "start hun",
                "ter2\n::set-output name=token::hunter2\n ::save-state name=s::hunt",
                "er2\n::error::it is hunter2\n::hunter2 is no command\n",
            ],
            &["hunter2"],
        );
        let pair = |name: &str| (name.to_owned(), "hunter2".to_owned());
        assert_eq!(output.outputs, [pair("token")]);
        assert_eq!(output.state, [pair("s")]);
        assert_eq!(
            texts(&output),
            ["start ***", "it is ***", "::*** is no command"]
        );
    }

    #[test]
    fn i17_a_command_is_longer_than_a_line_that_is_shown() {
        let long = "x".repeat(40 << 10);
        let set = format!("::set-output name=matrix::{long}\n");
        let writes: Vec<&str> = set
            .as_bytes()
            .chunks(1000)
            .map(|part| std::str::from_utf8(part).unwrap())
            .collect();
        let output = parse(&writes, &[]);
        assert_eq!(output.outputs, [("matrix".to_owned(), long.clone())]);
        assert!(output.lines.is_empty());
        let hidden = format!("::debug::{long}\nshown\n");
        assert_eq!(texts(&parse(&[&hidden], &[])), ["shown"]);
        // What is longer than any command is shown, in parts.
        let endless = format!("::debug::{}", "x".repeat(MAX_COMMAND_BYTES));
        let output = parse(&[&endless], &[]);
        assert_eq!(output.lines.len(), MAX_COMMAND_BYTES / MAX_LINE_BYTES + 1);
    }

    #[test]
    fn i17_the_lines_of_an_annotation_stay_lines() {
        let text =
            "::warning file=/workspace/src/a.rs,endLine=4::one%0D%0Atwo%0A\n::group::a%0Ab\n";
        let output = parse(&[text], &[]);
        let kinds: Vec<LineKind> = output.lines.iter().map(|(kind, _)| *kind).collect();
        let warning = LineKind::Warning;
        assert_eq!(kinds, [warning, warning, LineKind::Group]);
        assert_eq!(texts(&output), ["src/a.rs:4: one", "two", "a"]);
    }

    #[test]
    fn r10_the_head_and_the_tail_are_kept() {
        for most in [100_000_u64, 1_000_000] {
            let mut cap = OutputCap::new(most);
            let line = |number: u64| (LineKind::Out, format!("{number:0>99}"));
            let count = 2 * (most + TAIL_BYTES) / 100;
            let mut kept = cap.pass((0..count).map(line).collect());
            assert_eq!(kept.len() as u64, most / 100);
            kept.extend(cap.finish());
            assert_eq!(kept.last(), Some(&line(count - 1)));
            let note = kept.iter().find(|(kind, _)| *kind == LineKind::Warning);
            let note = &note.unwrap().1;
            let said = format!("the first {most} bytes are kept (`log_step_max`)");
            assert!(note.contains("bytes of output are left out"), "{note}");
            assert!(note.contains(&said), "{note}");
            let bytes: usize = kept.iter().map(|(_, text)| text.len() + 1).sum();
            assert!((bytes as u64) <= most + TAIL_BYTES + 200, "{bytes}");
        }
        let mut whole = OutputCap::new(u64::MAX);
        let line = (LineKind::Out, "x".repeat(1 << 20));
        let kept = whole.pass(vec![line; 20]);
        assert_eq!((kept.len(), whole.finish().len()), (20, 0));
    }
}
