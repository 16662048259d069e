//! One run from start to end, on the thread of whoever calls [`RunningAgent::run`].
//!
//! ```text
//! running ── it exits ──────────────────────────────> lingering ── nothing left ──> done
//!    └── limit, stall, stop ──> terminating (SIGTERM) <──┘ something left
//!                                   └── grace over ──> killing (SIGKILL, repeated) ──> done
//! ```

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::agent_process::{AgentProcess, Stopper};
use super::limits::{ProcessLimits, Resource};
use super::proc_table;
use super::process_group::ProcessGroup;
use super::reaper::{self, RegisteredLeader};
use super::sandbox_status::SandboxStatus;
use super::spec::{AgentInput, EndCause, ProcessEnd, ProcessReport, StopCause};
use crate::output::RunLog;

/// How long the processes a finished agent has left may take to end by themselves.
const LINGER_TIMEOUT: Duration = Duration::from_millis(300);
/// How long SIGKILL is repeated before a process counts as unkillable.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two checks of what a run uses.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Between two checks while it ends.
const ENDING_INTERVAL: Duration = Duration::from_millis(20);
/// Between two counts of the folder, at least; a count that takes long is done more rarely.
const COUNT_INTERVAL: Duration = Duration::from_secs(2);
/// Read from the pipe at once, in bytes: what a pipe holds.
const READ_BYTES: usize = 64 << 10;
/// Most that is read after the last process has gone, in bytes: a pipe's content.
const MAX_REST: usize = 1 << 20;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The first process has ended; the others have until then.
    Lingering(Instant),
    /// SIGTERM was sent; SIGKILL follows then.
    Terminating(Instant),
    /// SIGKILL is being sent; given up then.
    Killing(Instant),
}

/// A run that is monitored.
pub(super) struct RunMonitor {
    agent: Child,
    registered: RegisteredLeader,
    gone: oneshot::Receiver<()>,
    leader_gone: bool,
    status: Option<SandboxStatus>,
    output: Option<pipe::Receiver>,
    _input: Option<JoinHandle<()>>,
    group: ProcessGroup,
    log: RunLog,
    limits: ProcessLimits,
    directory: PathBuf,
    count: Option<mpsc::Receiver<(Option<Resource>, Duration)>>,
    next_count: Instant,
    started: Instant,
    last_output: Instant,
    stop: watch::Receiver<Option<StopCause>>,
    _stopper: Stopper,
    phase: Phase,
    cause: Option<EndCause>,
    survivors: usize,
    /// Whether any process was left at the last check after the first one had ended.
    has_survivors: bool,
    peak_memory: u64,
}

impl RunMonitor {
    /// Monitors the agent in the runtime of this thread.
    pub(super) fn new(mut agent: AgentProcess) -> Self {
        let input = agent
            .child
            .stdin
            .take()
            .and_then(|stdin| feed(stdin.into(), std::mem::take(&mut agent.input)));
        Self {
            gone: agent.gone,
            leader_gone: false,
            status: agent.status,
            output: Some(agent.output),
            _input: input,
            group: agent.group,
            log: agent.log,
            next_count: agent.started + COUNT_INTERVAL,
            limits: agent.limits,
            directory: agent.directory,
            count: None,
            last_output: agent.started,
            started: agent.started,
            agent: agent.child,
            registered: agent.leader,
            stop: agent.stop,
            _stopper: agent.stopper,
            phase: Phase::Running,
            cause: None,
            survivors: 0,
            has_survivors: true,
            peak_memory: 0,
        }
    }

    pub(super) async fn until_end(mut self) -> ProcessReport {
        let mut chunk = vec![0; READ_BYTES];
        let mut next_check = Instant::now() + CHECK_INTERVAL;
        while !self.is_over() {
            let wake = self.next_time(next_check);
            tokio::select! {
                biased;
                // The sender lives in `self`, so this ends only by a request.
                _ = self.stop.changed() => self.stop_requested(),
                _ = &mut self.gone, if !self.leader_gone => self.leader_ended(),
                () = tokio::time::sleep_until(wake.into()) => {
                    let began = Instant::now();
                    self.check();
                    // Where a look is dear (thousands of processes, no cgroup) it is taken more
                    // rarely; an end is not held up by that for long.
                    let (pause, share) = match self.phase {
                        Phase::Running => (CHECK_INTERVAL, 10),
                        _ => (ENDING_INTERVAL, 2),
                    };
                    next_check = Instant::now() + pause.max(began.elapsed() * share);
                }
                read = read(self.output.as_mut(), &mut chunk), if self.output.is_some() => match read {
                    0 => self.output = None,
                    length => self.received(&chunk[..length]),
                },
            }
        }
        self.finish(&mut chunk)
    }

    /// Something has been written: the run is not stalled.
    fn received(&mut self, bytes: &[u8]) {
        self.last_output = Instant::now();
        self.log.push(bytes);
    }

    fn stop_requested(&mut self) {
        let requested = *self.stop.borrow_and_update();
        if let Some(cause) = requested {
            self.end_for(EndCause::Stopped(cause));
        }
    }

    fn leader_ended(&mut self) {
        self.leader_gone = true;
        if self.phase == Phase::Running {
            self.cause = Some(EndCause::Exited);
            self.phase = Phase::Lingering(Instant::now() + LINGER_TIMEOUT);
        }
        self.has_survivors = !self.group.is_empty();
    }

    /// Ends the run, unless it is ending already.
    fn end_for(&mut self, cause: EndCause) {
        if self.phase != Phase::Running {
            return;
        }
        self.cause = Some(cause);
        match cause {
            // What takes everything gets no time to take more.
            EndCause::Exhausted(_) => self.kill(),
            _ => self.terminate(),
        }
    }

    fn terminate(&mut self) {
        self.group.signal(Signal::TERM);
        // A stopped process gets SIGTERM only when it goes on.
        self.group.signal(Signal::CONT);
        self.phase = Phase::Terminating(Instant::now() + self.limits.grace);
    }

    fn kill(&mut self) {
        self.group.signal(Signal::KILL);
        self.phase = Phase::Killing(Instant::now() + KILL_TIMEOUT);
    }

    /// When something has to happen at the latest.
    fn next_deadline(&self) -> Instant {
        let wall = self.started + self.limits.wall;
        match self.phase {
            Phase::Running => self
                .limits
                .stall
                .map_or(wall, |stall| wall.min(self.last_output + stall)),
            Phase::Lingering(then) | Phase::Terminating(then) | Phase::Killing(then) => then,
        }
    }

    /// When to look next: at the latest at the deadline, and soon once the end has begun.
    fn next_time(&self, next_check: Instant) -> Instant {
        let soon = match self.phase {
            Phase::Running => next_check,
            _ => next_check.min(Instant::now() + ENDING_INTERVAL),
        };
        soon.min(self.next_deadline())
    }

    /// Checks the clock, what is used, and what is left.
    fn check(&mut self) {
        let now = Instant::now();
        match self.phase {
            Phase::Running => self.check_limits(now),
            Phase::Lingering(until) if now >= until => {
                self.survivors = self.group.scan().len();
                self.terminate();
            }
            Phase::Terminating(until) if now >= until => self.kill(),
            Phase::Killing(_) => self.group.signal(Signal::KILL),
            Phase::Lingering(_) | Phase::Terminating(_) => {}
        }
        self.has_survivors =
            !(self.leader_gone && self.phase != Phase::Running && self.group.is_empty());
    }

    fn check_limits(&mut self, now: Instant) {
        if now >= self.started + self.limits.wall {
            return self.end_for(EndCause::WallClock);
        }
        if self
            .limits
            .stall
            .is_some_and(|stall| now >= self.last_output + stall)
        {
            return self.end_for(EndCause::Stalled);
        }
        reaper::reap();
        let members = self.group.members();
        let memory = members
            .iter()
            .map(|pid| proc_table::memory_bytes(*pid))
            .sum();
        self.peak_memory = self.peak_memory.max(memory);
        let by_kernel = self.group.cgroup().and_then(|cgroup| {
            let memory = cgroup.hit_memory().then_some(Resource::Memory);
            memory.or_else(|| cgroup.hit_processes().then_some(Resource::Processes))
        });
        let passed = by_kernel.or_else(|| self.limits.passed_by(members.len() as u64, memory));
        if let Some(resource) = passed.or_else(|| self.directory_count(now)) {
            self.end_for(EndCause::Exhausted(resource));
        }
    }

    /// The result of a count of the folder, which another thread makes.
    fn directory_count(&mut self, now: Instant) -> Option<Resource> {
        if let Some(count) = &self.count {
            let (passed, took) = match count.try_recv() {
                Ok(counted) => counted,
                Err(mpsc::TryRecvError::Empty) => return None,
                Err(mpsc::TryRecvError::Disconnected) => (None, Duration::ZERO),
            };
            self.count = None;
            self.next_count = now + COUNT_INTERVAL.max(took * 20);
            return passed;
        }
        if self.count.is_none() && now >= self.next_count && self.limits.folder_bytes.is_some() {
            let (limits, directory) = (self.limits.clone(), self.directory.clone());
            let (sender, counted) = mpsc::channel();
            let thread = std::thread::Builder::new().name("folder-count".to_owned());
            let spawned = thread.spawn(move || {
                let began = Instant::now();
                let _ = sender.send((limits.passed_in(&directory), began.elapsed()));
            });
            // Without a thread for it the next look tries again.
            self.count = spawned.is_ok().then_some(counted);
        }
        None
    }

    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool {
        match self.phase {
            Phase::Running => false,
            Phase::Killing(until) if Instant::now() >= until => true,
            _ => self.leader_gone && !self.has_survivors,
        }
    }

    /// Reads what is still in the pipe, without waiting for whoever may hold its other end;
    /// collects the first process; closes the log.
    fn finish(mut self, chunk: &mut [u8]) -> ProcessReport {
        // Read past the runtime: its knowledge of what can be read may be older than the last
        // write.
        let rest = self
            .output
            .take()
            .and_then(|output| output.into_nonblocking_fd().ok());
        if let Some(mut rest) = rest.map(File::from) {
            let mut left = MAX_REST;
            while let Ok(length @ 1..) = rest.read(chunk) {
                self.log.push(&chunk[..length]);
                left = left.saturating_sub(length);
                if left == 0 {
                    break;
                }
            }
        }
        let left = self.group.scan();
        let end = match self.agent.try_wait() {
            Ok(Some(status)) => self.group.unwrapped(status.into()),
            _ => ProcessEnd::Unkillable,
        };
        drop(self.registered);
        self.group.reap_first();
        // The last of its orphans.
        reaper::reap();
        if let Err(error) = self.group.close() {
            tracing::warn!(event = "run.cgroup_left", pid = self.agent.id(), %error, "the run's cgroup stays");
        }
        let (output, log_error) = self.log.finish();
        ProcessReport {
            cause: self.cause.unwrap_or(EndCause::Exited),
            end,
            survivors: self.survivors,
            not_run: self.status.is_some_and(|status| !status.has_run()),
            unkillable: left
                .iter()
                .map(|row| row.pid.as_raw_nonzero().get())
                .collect(),
            took: self.started.elapsed(),
            output,
            log_error,
            peak_memory: self.peak_memory,
        }
    }
}

/// Reads once; 0 at the end, and for an error, after which nothing more can come.
async fn read(output: Option<&mut pipe::Receiver>, chunk: &mut [u8]) -> usize {
    match output {
        Some(output) => output.read(chunk).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Writes the prompt beside everything else: an agent that does not read cannot hold the run up.
fn feed(stdin: std::os::fd::OwnedFd, input: AgentInput) -> Option<JoinHandle<()>> {
    let AgentInput::Text(text) = input else {
        return None;
    };
    let mut stdin = pipe::Sender::from_owned_fd(stdin).ok()?;
    // An agent that closes its input early is no failure.
    Some(tokio::spawn(
        async move { drop(stdin.write_all(&text).await) },
    ))
}
