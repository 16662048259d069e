//! One process in the VM: started, followed, its output logged, ended when it must.

use std::collections::BTreeMap;
use std::time::Duration;

use outbound::vmm::{ExecReport, ExecState, FollowEvent, NewExec, OutputStream, VmmError};
use runner_core::mask::Secrets;
use runner_core::state::StepEnd;
use tokio::sync::watch;

use super::Voice;
use super::machine::Machine;
use super::output::{Cap, Said, Stream};
use crate::log::LineKind;

/// A process to be run.
pub(crate) struct Process {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) env: BTreeMap<String, String>,
    /// `None`: as long as the job may.
    pub(crate) limit: Option<Duration>,
    /// The step, for the log.
    pub(crate) step: u32,
}

/// How it ended, and what it said.
pub(crate) struct Ended {
    pub(crate) end: StepEnd,
    /// What is to be said about the end.
    pub(crate) reason: Option<String>,
    pub(crate) outputs: Vec<(String, String)>,
}

/// Extra time the manager has to end a process by itself before it is asked to.
const GRACE: Duration = Duration::from_secs(15);
/// How often a stream that broke is taken up again.
const AGAIN: u32 = 3;

/// Runs a process to its end; cancellation kills it with all it started.
pub(crate) async fn execute(
    machine: &Machine,
    process: Process,
    secrets: &mut Secrets,
    voice: &Voice,
    cancel: &mut watch::Receiver<bool>,
) -> Ended {
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
        Err(error) => return lost(&error),
    };
    let mut sink = Sink {
        streams: [
            Stream::new(LineKind::Out, secrets),
            Stream::new(LineKind::Err, secrets),
        ],
        secrets,
        cap: Cap::default(),
        voice,
        step: process.step,
        outputs: Vec::new(),
        taken: 0,
    };
    let followed = {
        let follow = follow(machine, &exec, &mut sink);
        let overdue = async {
            match process.limit {
                Some(limit) => tokio::time::sleep(limit + GRACE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            followed = follow => Some(followed),
            _ = cancel.wait_for(|cancelled| *cancelled) => None,
            () = overdue => Some(Ok(ExecReport { state: ExecState::TimedOut, exit_code: None, signal: None })),
        }
    };
    let (end, reason) = match followed {
        Some(Ok(report)) => {
            if report.state == ExecState::TimedOut {
                let _ = machine.vmm.kill(&machine.id, &exec).await;
            }
            ended(&report)
        }
        Some(Err(error)) => {
            let Ended { end, reason, .. } = lost(&error);
            (end, reason)
        }
        None => {
            let _ = machine.vmm.kill(&machine.id, &exec).await;
            (StepEnd::Cancelled, Some("cancelled".to_owned()))
        }
    };
    let outputs = sink.finish().await;
    Ended {
        end,
        reason,
        outputs,
    }
}

fn ended(report: &ExecReport) -> (StepEnd, Option<String>) {
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
        // An exit code is never made up.
        (ExecState::Exited | ExecState::Lost | ExecState::Running, ..) => (
            StepEnd::Lost,
            Some("how it ended is not known: its machine went away".to_owned()),
        ),
    }
}

fn lost(error: &VmmError) -> Ended {
    Ended {
        end: StepEnd::Lost,
        reason: Some(error.to_string()),
        outputs: Vec::new(),
    }
}

/// Follows an execution to its end; a stream that breaks is taken up again, and what came before is not logged twice.
async fn follow(
    machine: &Machine,
    exec: &str,
    sink: &mut Sink<'_>,
) -> Result<ExecReport, VmmError> {
    let mut left = AGAIN;
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
    machine: &Machine,
    exec: &str,
    sink: &mut Sink<'_>,
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
struct Sink<'a> {
    streams: [Stream; 2],
    secrets: &'a mut Secrets,
    cap: Cap,
    voice: &'a Voice,
    step: u32,
    outputs: Vec<(String, String)>,
    /// Bytes of both streams so far.
    taken: u64,
}

impl Sink<'_> {
    async fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        let index = usize::from(stream == OutputStream::Stderr);
        for piece in self.streams[index].pieces(bytes) {
            let mut said = Said::default();
            self.streams[index].push(piece, &mut said);
            self.heard(said).await;
        }
    }

    async fn heard(&mut self, said: Said) {
        self.outputs.extend(said.outputs);
        if !said.masks.is_empty() {
            for mask in &said.masks {
                // Beyond the bound the streams withhold everything.
                let _ = self.secrets.add(mask);
            }
            for stream in &mut self.streams {
                stream.mask(self.secrets);
            }
        }
        for (kind, text) in self.cap.pass(said.lines) {
            self.voice.line(self.step, kind, &text).await;
        }
    }

    async fn finish(mut self) -> Vec<(String, String)> {
        for index in 0..2 {
            let mut said = Said::default();
            self.streams[index].finish(&mut said);
            self.heard(said).await;
        }
        for (kind, text) in std::mem::take(&mut self.cap).finish() {
            self.voice.line(self.step, kind, &text).await;
        }
        self.outputs
    }
}
