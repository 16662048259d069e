//! An agent's process in its VM, followed to its end: output into the log, limits of time, stops.
//!
//! ```text
//! running ── it exits ──────────────────────────────────────────────▶ its exit code
//!    └── wall clock, stall, stop ──▶ terminate (SIGINT, SIGTERM, kill) ──▶ the cause, and its code
//! ```

use std::time::{Duration, Instant};

use http_clients::vmm::{ExecReport, ExecState, FollowEvent, VmmClient, VmmError};
use orchestrator_engine::output::RunLog;
use orchestrator_engine::process::{EndCause, ProcessEnd, ProcessLimits, StopSignal};

use super::error::VmError;

/// What a manager may take beyond the grace time to say how it ended.
const END_MARGIN: Duration = Duration::from_secs(15);
/// How often a stream that broke is taken up again, and the pause before.
const FOLLOW_RETRIES: u32 = 5;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentExecEnd {
    pub(super) cause: EndCause,
    pub(super) end: ProcessEnd,
}

/// One execution of a VM.
pub(super) struct Execution<'a> {
    pub(super) vmm: &'a VmmClient,
    pub(super) vm: &'a str,
    pub(super) exec: &'a str,
}

impl Execution<'_> {
    /// Follows it to its end.
    ///
    /// # Errors
    /// When nobody can say how it ended, or it could not be started.
    pub(super) async fn until_end(
        &self,
        limits: &ProcessLimits,
        log: &mut RunLog,
        stop: &mut StopSignal,
    ) -> Result<AgentExecEnd, VmError> {
        let started = Instant::now();
        let mut sink = LogSink {
            log,
            taken: 0,
            last_output: started,
        };
        let cause = {
            let timers = Timers { limits, started };
            tokio::select! {
                ended = self.follow(&mut sink, Some(timers)) => match ended {
                    FollowEnd::Ended(report) => return exit(EndCause::Exited, &report?),
                    FollowEnd::Overdue(cause) => cause,
                },
                cause = stop.requested() => EndCause::Stopped(cause),
            }
        };
        // What it says while it cleans up is in the log.
        let _ = self.vmm.terminate(self.vm, self.exec, limits.grace).await;
        let rest = self.follow(&mut sink, None);
        let ended = tokio::time::timeout(limits.grace + END_MARGIN, rest).await;
        Ok(match ended {
            Ok(FollowEnd::Ended(Ok(report))) => exit(cause, &report).unwrap_or(AgentExecEnd {
                cause,
                end: ProcessEnd::Signal(9),
            }),
            // The VM goes, and the process with it.
            _ => AgentExecEnd {
                cause,
                end: ProcessEnd::Signal(9),
            },
        })
    }

    /// Follows the output; a stream that breaks is taken up again, and what came before is not
    /// logged twice.
    async fn follow(&self, sink: &mut LogSink<'_>, timers: Option<Timers<'_>>) -> FollowEnd {
        let mut left = FOLLOW_RETRIES;
        loop {
            let error = match self.follow_once(sink, timers).await {
                Ok(followed) => return followed,
                Err(error) => error,
            };
            let may_pass = error.is_temporary() || matches!(error, VmmError::Lost(_));
            if !may_pass || left == 0 {
                return FollowEnd::Ended(Err(VmError::Lost(format!(
                    "how it ended is not known: {error}"
                ))));
            }
            left -= 1;
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn follow_once(
        &self,
        sink: &mut LogSink<'_>,
        timers: Option<Timers<'_>>,
    ) -> Result<FollowEnd, VmmError> {
        let mut follow = self.vmm.follow(self.vm, self.exec).await?;
        let mut skip = sink.taken;
        loop {
            let due = timers.map(|timers| timers.due(sink.last_output));
            let overdue = async {
                match due {
                    Some((at, cause)) => {
                        tokio::time::sleep_until(at.into()).await;
                        cause
                    }
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = follow.next() => event,
                cause = overdue => return Ok(FollowEnd::Overdue(cause)),
            };
            match event {
                Some(Ok(FollowEvent::Output(_, bytes))) => {
                    // From the first output on, whenever it is asked.
                    let known = skip.min(bytes.len() as u64);
                    skip -= known;
                    sink.take(&bytes[usize::try_from(known).unwrap_or(bytes.len())..]);
                }
                Some(Ok(FollowEvent::Dropped(bytes))) => {
                    let text = format!("\n[{bytes} bytes were beyond the VM manager's limit]\n");
                    sink.log.push(text.as_bytes());
                }
                Some(Ok(FollowEvent::Ended(report))) => return Ok(FollowEnd::Ended(Ok(report))),
                Some(Err(error)) => return Err(error),
                None => {
                    let text = "the stream ended without its last line".to_owned();
                    return Err(VmmError::Lost(text));
                }
            }
        }
    }
}

/// What following came to.
enum FollowEnd {
    Ended(Result<ExecReport, VmError>),
    Overdue(EndCause),
}

/// The limits of time.
#[derive(Clone, Copy)]
struct Timers<'a> {
    limits: &'a ProcessLimits,
    started: Instant,
}

impl Timers<'_> {
    /// What is due next, and when.
    fn due(self, last_output: Instant) -> (Instant, EndCause) {
        let wall = (self.started + self.limits.wall, EndCause::WallClock);
        let stall = self.limits.stall;
        let stall = stall.map(|stall| (last_output + stall, EndCause::Stalled));
        match stall {
            Some(stall) if stall.0 < wall.0 => stall,
            _ => wall,
        }
    }
}

/// Where the output goes.
struct LogSink<'a> {
    log: &'a mut RunLog,
    /// Bytes so far.
    taken: u64,
    last_output: Instant,
}

impl LogSink<'_> {
    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.taken += bytes.len() as u64;
        self.last_output = Instant::now();
        self.log.push(bytes);
    }
}

/// How a process ended, by its manager's report. An exit code is never made up.
fn exit(cause: EndCause, report: &ExecReport) -> Result<AgentExecEnd, VmError> {
    let reason = || report.reason.clone().unwrap_or_default();
    let end = match (report.state, report.exit_code, report.signal) {
        (ExecState::Exited, Some(code), _) => ProcessEnd::Code(code),
        (ExecState::Exited, None, Some(signal)) => ProcessEnd::Signal(signal),
        (ExecState::Killed | ExecState::TimedOut, ..) => ProcessEnd::Signal(9),
        (ExecState::NotStarted, ..) => {
            let text = format!("its program could not be started in its VM: {}", reason());
            return Err(VmError::Refused(text));
        }
        (ExecState::Exited | ExecState::Lost | ExecState::Running, ..) => {
            let text = format!("how it ended is not known: {}", reason());
            return Err(VmError::Lost(text));
        }
    };
    Ok(AgentExecEnd { cause, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: ExecState, exit_code: Option<i32>, signal: Option<i32>) -> ExecReport {
        ExecReport {
            state,
            exit_code,
            signal,
            reason: None,
            dropped_bytes: 0,
        }
    }

    #[test]
    fn i18_an_exit_code_is_never_made_up() {
        let end = |state, code, signal| {
            let ended = exit(EndCause::Exited, &report(state, code, signal));
            ended.map(|ended| ended.end).ok()
        };
        assert_eq!(
            end(ExecState::Exited, Some(3), None),
            Some(ProcessEnd::Code(3))
        );
        assert_eq!(
            end(ExecState::Exited, None, Some(11)),
            Some(ProcessEnd::Signal(11))
        );
        assert_eq!(
            end(ExecState::Killed, None, None),
            Some(ProcessEnd::Signal(9))
        );
        for state in [ExecState::Lost, ExecState::Running, ExecState::NotStarted] {
            assert_eq!(end(state, None, None), None);
        }
    }

    #[test]
    fn i18_the_earlier_limit_of_time_is_due() {
        let limits = ProcessLimits {
            wall: Duration::from_secs(60),
            stall: Some(Duration::from_secs(10)),
            ..ProcessLimits::default()
        };
        let started = Instant::now();
        let timers = Timers {
            limits: &limits,
            started,
        };
        let at = |secs| started + Duration::from_secs(secs);
        assert_eq!(timers.due(started), (at(10), EndCause::Stalled));
        assert_eq!(timers.due(at(55)), (at(60), EndCause::WallClock));
    }
}
