//! One process in the VM: started, followed, its output logged, ended when it must.

use std::collections::BTreeMap;
use std::time::Duration;

use http_clients::vmm::{ExecReport, ExecState, FollowEvent, NewExec, OutputStream, VmmError};
use runner_core::limits::MAX_ENV_FILE_BYTES;
use runner_core::problem_matcher::{MatcherError, ProblemMatchers, matcher_path, parse_file};
use runner_core::state::StepEnd;

use super::cancellation::Cancellation;
use super::log_writer::LogWriter;
use super::machine::JobMachine;
use super::output::{MatcherChange, OutputCap, OutputParser, StepOutput};
use super::secrets::JobSecrets;
use super::small_files::matcher_file;
use crate::log::LineKind;

/// A process to be run.
pub(crate) struct JobProcess {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) env: BTreeMap<String, String>,
    /// `None`: as long as the job may.
    pub(crate) limit: Option<Duration>,
    /// The step, for the log.
    pub(crate) step: u32,
    /// What makes annotations of its lines. `None`: it is the runner's own.
    pub(crate) matchers: Option<ProblemMatchers>,
}

/// How it ended, and what its commands set.
pub(crate) struct ProcessExit {
    pub(crate) end: StepEnd,
    /// What is to be said about the end.
    pub(crate) reason: Option<String>,
    pub(crate) commands: OutputCommands,
}

/// What commands in a process's output set.
#[derive(Debug, Default)]
pub(crate) struct OutputCommands {
    pub(crate) outputs: Vec<(String, String)>,
    /// State of an action, for what runs after the job's steps.
    pub(crate) state: Vec<(String, String)>,
    /// Variables and directories for later steps, where the step allows this old way.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) path: Vec<String>,
    /// The job's problem matchers after it, where a step's process ran.
    pub(crate) matchers: Option<ProblemMatchers>,
    /// Why a command fails the step.
    pub(crate) wrong: Option<String>,
    /// A line of the output says that Rust is too old.
    pub(crate) wants_newer_rust: bool,
    /// Bytes of the names and values so far.
    bytes: usize,
}

/// Whether Cargo says so that a package wants a newer Rust.
fn is_of_old_rust(line: &str) -> bool {
    line.contains("rustc 1.")
        && (line.contains(" is not supported by the following package")
            || line.contains(" cannot be built because it requires rustc "))
}

impl OutputCommands {
    /// Adds what a piece of output set, as far as one step may set so much.
    fn add(&mut self, output: &mut StepOutput) {
        self.wants_newer_rust |= output.lines.iter().any(|(_, line)| is_of_old_rust(line));
        let pairs = output.outputs.iter().chain(&output.env);
        let pairs = pairs.chain(&output.state);
        let pairs: usize = pairs.map(|(name, value)| name.len() + value.len()).sum();
        self.bytes += pairs + output.path.iter().map(String::len).sum::<usize>();
        if self.bytes > MAX_ENV_FILE_BYTES {
            self.wrong.get_or_insert_with(|| {
                format!("commands in its output set more than {MAX_ENV_FILE_BYTES} bytes")
            });
            return;
        }
        self.outputs.append(&mut output.outputs);
        self.state.append(&mut output.state);
        self.env.append(&mut output.env);
        self.path.append(&mut output.path);
        if self.wrong.is_none() {
            self.wrong = output.wrong.take();
        }
    }
}

/// Extra time the manager has to end a process by itself, which may clean up, before it is asked
/// to.
const KILL_GRACE: Duration = Duration::from_secs(20);
/// Time that a process has to clean up when it is cancelled: SIGINT, then SIGTERM, as on GitHub.
const CANCEL_GRACE: Duration = Duration::from_secs(10);
/// Commands of one process that add or remove problem matchers.
const MAX_MATCHER_CHANGES: u32 = 200;
/// How often a stream that broke is taken up again.
const FOLLOW_RETRIES: u32 = 3;

/// Runs a process to its end; cancellation kills it with all it started.
pub(crate) async fn execute(
    machine: &JobMachine,
    process: JobProcess,
    secrets: &JobSecrets,
    log: &LogWriter,
    mut cancel: Cancellation,
) -> ProcessExit {
    let unsecure = process
        .env
        .get("ACTIONS_ALLOW_UNSECURE_COMMANDS")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let debug = process.env.get("RUNNER_DEBUG").is_some_and(|it| it == "1");
    let request = NewExec {
        argv: Some(process.argv),
        cwd: Some(process.cwd),
        env: process.env,
        timeout_ms: process
            .limit
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        ..NewExec::default()
    };
    let exec = match machine.vmm.exec(&machine.id, &request).await {
        Ok(exec) => exec,
        // The manager takes no such command: nothing has happened to the machine.
        Err(VmmError::Refused(reason)) => return ProcessExit::from_end(StepEnd::Error, reason),
        Err(error) => return lost(&error),
    };
    let (known, version) = (secrets.snapshot(), secrets.version());
    let mut sink = OutputSink {
        streams: [
            OutputParser::new(LineKind::Out, &known, unsecure).showing_debug(debug),
            OutputParser::new(LineKind::Err, &known, unsecure).showing_debug(debug),
        ],
        secrets,
        version,
        cap: OutputCap::new(log.step_max()),
        log,
        machine,
        step: process.step,
        commands: OutputCommands::default(),
        matchers: process.matchers,
        matcher_changes: 0,
        taken: 0,
    };
    sink.match_problems();
    let followed = follow_or_cancel(machine, &exec, &mut sink, process.limit, &mut cancel).await;
    let (end, reason) = end_of(machine, &exec, followed).await;
    let commands = sink.finish().await;
    ProcessExit {
        end,
        reason,
        commands,
    }
}

/// What following an execution came to, within the time that it has; `None`: it was cancelled, and
/// has had its time to clean up.
async fn follow_or_cancel(
    machine: &JobMachine,
    exec: &str,
    sink: &mut OutputSink<'_>,
    limit: Option<Duration>,
    cancel: &mut Cancellation,
) -> Option<Result<ExecReport, VmmError>> {
    let follow = follow(machine, exec, sink);
    tokio::pin!(follow);
    let overdue = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit + KILL_GRACE).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        followed = &mut follow => Some(followed),
        () = cancel.wait() => {
            // What it says while it cleans up is in the log.
            let _ = machine.vmm.terminate(&machine.id, exec, CANCEL_GRACE).await;
            let _ = tokio::time::timeout(CANCEL_GRACE + KILL_GRACE, follow).await;
            None
        }
        () = overdue => Some(Ok(overdue_report())),
    }
}

/// How an execution ended, and why; one that was cancelled or took too long is killed.
async fn end_of(
    machine: &JobMachine,
    exec: &str,
    followed: Option<Result<ExecReport, VmmError>>,
) -> (StepEnd, Option<String>) {
    match followed {
        Some(Ok(report)) => {
            if report.state == ExecState::TimedOut {
                let _ = machine.vmm.kill(&machine.id, exec).await;
            }
            step_end(&report)
        }
        Some(Err(error)) => {
            let ProcessExit { end, reason, .. } = lost(&error);
            (end, reason)
        }
        None => {
            let _ = machine.vmm.kill(&machine.id, exec).await;
            (StepEnd::Cancelled, Some("cancelled".to_owned()))
        }
    }
}

fn overdue_report() -> ExecReport {
    ExecReport {
        state: ExecState::TimedOut,
        exit_code: None,
        signal: None,
        reason: None,
        dropped_bytes: 0,
    }
}

fn step_end(report: &ExecReport) -> (StepEnd, Option<String>) {
    let known = report.reason.clone();
    match (report.state, report.exit_code, report.signal) {
        (ExecState::Exited, Some(code), _) => {
            let reason = (code != 0).then(|| format!("exit code {code}"));
            (StepEnd::Exited(code), reason)
        }
        (ExecState::Exited, None, Some(signal)) => (
            StepEnd::Signalled(signal),
            Some(format!("ended by signal {signal}")),
        ),
        (ExecState::TimedOut, ..) => (
            StepEnd::TimedOut,
            Some("it took longer than it may".to_owned()),
        ),
        (ExecState::Killed, ..) => (StepEnd::Cancelled, Some("it was killed".to_owned())),
        // The machine is as well as before: the step is wrong.
        (ExecState::NotStarted, ..) => (
            StepEnd::Error,
            Some(known.unwrap_or_else(|| "it could not be started".to_owned())),
        ),
        // An exit code is never made up.
        (ExecState::Exited | ExecState::Lost | ExecState::Running, ..) => (
            StepEnd::Lost,
            Some(match known {
                Some(known) => format!("how it ended is not known: {known}"),
                None => "how it ended is not known: its machine went away".to_owned(),
            }),
        ),
    }
}

fn lost(error: &VmmError) -> ProcessExit {
    ProcessExit::from_end(StepEnd::Lost, error.to_string())
}

impl ProcessExit {
    fn from_end(end: StepEnd, reason: String) -> Self {
        Self {
            end,
            reason: Some(reason),
            commands: OutputCommands::default(),
        }
    }
}

/// Follows an execution to its end; a stream that breaks is taken up again, and what came before is
/// not logged twice.
async fn follow(
    machine: &JobMachine,
    exec: &str,
    sink: &mut OutputSink<'_>,
) -> Result<ExecReport, VmmError> {
    let mut left = FOLLOW_RETRIES;
    loop {
        let error = match follow_once(machine, exec, sink).await {
            Ok(report) => return Ok(report),
            Err(error) => error,
        };
        let may_pass = error.is_temporary() || matches!(error, VmmError::Lost(_));
        if !may_pass || left == 0 {
            return Err(error);
        }
        left -= 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn follow_once(
    machine: &JobMachine,
    exec: &str,
    sink: &mut OutputSink<'_>,
) -> Result<ExecReport, VmmError> {
    let mut follow = machine.vmm.follow(&machine.id, exec).await?;
    let mut skip = sink.taken;
    while let Some(event) = follow.next().await {
        match event? {
            FollowEvent::Output(stream, bytes) => {
                // From the first output on, whenever it is asked.
                let known = skip.min(bytes.len() as u64);
                skip -= known;
                let new = &bytes[usize::try_from(known).unwrap_or(bytes.len())..];
                sink.take(stream, new).await;
            }
            FollowEvent::Dropped(bytes) => sink.cap.lost(bytes),
            FollowEvent::Ended(report) => return Ok(report),
        }
    }
    Err(VmmError::Lost(
        "the stream ended without its last line".to_owned(),
    ))
}

/// Where a process's output goes.
struct OutputSink<'a> {
    streams: [OutputParser; 2],
    secrets: &'a JobSecrets,
    /// What of them the streams mask.
    version: u64,
    cap: OutputCap,
    log: &'a LogWriter,
    machine: &'a JobMachine,
    step: u32,
    commands: OutputCommands,
    matchers: Option<ProblemMatchers>,
    /// How often they were asked to change.
    matcher_changes: u32,
    /// Bytes of both streams so far.
    taken: u64,
}

impl OutputSink<'_> {
    async fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        let index = usize::from(stream == OutputStream::Stderr);
        if self.version != self.secrets.version() {
            // A step that runs beside has added one.
            self.mask_new();
        }
        for piece in self.streams[index].pieces(bytes) {
            let mut output = StepOutput::default();
            self.streams[index].push(piece, &mut output);
            self.apply(output).await;
        }
    }

    fn mask_new(&mut self) {
        self.version = self.secrets.version();
        let known = self.secrets.snapshot();
        for stream in &mut self.streams {
            stream.mask(&known);
        }
    }

    async fn apply(&mut self, mut output: StepOutput) {
        self.commands.add(&mut output);
        if !output.masks.is_empty() {
            for mask in &output.masks {
                self.secrets.add(mask);
            }
            self.mask_new();
        }
        for (kind, text) in self.cap.pass(output.lines) {
            self.log.masked_line(self.step, kind, &text).await;
        }
        for change in output.matchers {
            self.change_matchers(change).await;
        }
    }

    /// Adds or removes problem matchers; a file that is wrong fails the step, as on GitHub.
    async fn change_matchers(&mut self, change: MatcherChange) {
        self.matcher_changes += 1;
        let Some(matchers) = &mut self.matchers else {
            return;
        };
        if self.matcher_changes > MAX_MATCHER_CHANGES {
            return;
        }
        let (file, adds) = match change {
            MatcherChange::RemoveOwner(owner) => {
                matchers.remove(&owner);
                return self.match_problems();
            }
            MatcherChange::RemoveFile(file) => (file, false),
            MatcherChange::Add(file) => (file, true),
        };
        let read = matcher_file(self.machine, &matcher_path(&file)).await;
        let changed = read.map_err(MatcherError::Wrong).and_then(|bytes| {
            let known = parse_file(&bytes)?;
            if adds {
                return matchers.add(known);
            }
            matchers.remove_like(&known);
            Ok(())
        });
        self.match_problems();
        let Err(error) = changed else { return };
        let text = format!(
            "problem matchers of {}: {error}",
            config_core::quoted(&file)
        );
        let text = self.secrets.mask(&text);
        match error {
            MatcherError::Unsupported(_) => {
                self.log.line(self.step, LineKind::Warning, &text).await;
            }
            MatcherError::Wrong(_) => {
                self.commands.wrong.get_or_insert(text);
            }
        }
    }

    fn match_problems(&mut self) {
        if let Some(matchers) = &self.matchers {
            for stream in &mut self.streams {
                stream.match_problems(matchers);
            }
        }
    }

    async fn finish(mut self) -> OutputCommands {
        for index in 0..2 {
            let mut output = StepOutput::default();
            self.streams[index].finish(&mut output);
            self.apply(output).await;
        }
        let (log, step) = (self.log, self.step);
        for (kind, text) in self.cap.finish() {
            log.masked_line(step, kind, &text).await;
        }
        self.commands.matchers = self.matchers;
        self.commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x2_what_could_not_be_started_is_a_failed_step_and_no_lost_machine() {
        let report = |state, reason: Option<&str>| ExecReport {
            state,
            exit_code: None,
            signal: None,
            reason: reason.map(str::to_owned),
            dropped_bytes: 0,
        };
        let nowhere = "the folder /workspace/nope does not exist";
        let (end, reason) = step_end(&report(ExecState::NotStarted, Some(nowhere)));
        assert_eq!((end, reason.as_deref()), (StepEnd::Error, Some(nowhere)));
        use runner_core::state::Conclusion;
        assert_eq!(end.conclusion(true), Conclusion::Success);
        assert_eq!(end.conclusion(false), Conclusion::Failure);
        let (end, reason) = step_end(&report(ExecState::Lost, Some("the VM is gone: killed")));
        assert_eq!(end, StepEnd::Lost);
        assert!(reason.unwrap().contains("the VM is gone"));
    }
}
