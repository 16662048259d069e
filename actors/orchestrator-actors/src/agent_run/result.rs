//! The result of a run: its process's end, classified.

use std::path::Path;

use orchestrator_core::Millis;
use orchestrator_core::classify::classify;
use orchestrator_core::config::{AgentSpec, Config, WorktreeMode};
use orchestrator_core::posting::inert;
use orchestrator_core::run::{ExitClass, ExitReport, Run, Terminal};
use orchestrator_core::verdict::{self, Verdict, VerdictSource};
use orchestrator_engine::exhaustion;
use orchestrator_engine::output::AgentLogReader;
use orchestrator_engine::process::{
    EndCause, ProcessEnd, ProcessReport, StopCause, is_vanished_path,
};

use super::process::ProcessError;
use super::vm::VmError;
use crate::host::log_directory;
use crate::ledger::{self, RunEnd};

/// Most output searched for signatures and verdicts, in bytes.
const MAX_SEARCHED: usize = 8 << 20;
/// Most output posted as a comment, in bytes.
const MAX_COMMENT: usize = 30_000;

/// How often a start is repeated that found a folder gone: one that stays away is a wrong setting.
const MAX_VANISHED: u32 = 2;

/// The result of a process that has ended. The error is why the sandbox could not start the program
/// this time, where that is the machine's affair: what it lacked, or a folder that was gone for a
/// moment. `attempts` are those before this one.
pub(super) fn of_process(
    config: &Config,
    run: &Run,
    ended: &ProcessReport,
    (nonce, attempts): (&str, u32),
    now: Millis,
) -> Result<RunEnd, String> {
    let log = log_directory(&config.directories.data, run.id.as_str());
    if !ended.is_start_failure() {
        let output = AgentLogReader::tail(&log, MAX_SEARCHED).unwrap_or_default();
        let agent = config.agent(&run.home, &run.agent);
        return Ok(classified(run, agent, (ended, &output), nonce, now));
    }
    let line = last_line(&log);
    let why = format!("the sandbox did not start the program: {line}");
    if exhaustion::of_text(&line) || (is_vanished_path(&line) && attempts < MAX_VANISHED) {
        return Err(why);
    }
    Ok(ledger::start_failure(&why, now))
}

/// The result of a run whose process came to no end of its own. The error is what the machine
/// lacked.
pub(super) fn without_end(error: &ProcessError, now: Millis) -> Result<RunEnd, String> {
    let class = |text: &str, class| {
        let mut end = ledger::start_failure(text, now);
        end.report.class = class;
        end
    };
    Ok(match error {
        ProcessError::Start(error) if error.is_exhaustion() => return Err(error.to_string()),
        ProcessError::Start(error) => ledger::start_failure(&error.to_string(), now),
        ProcessError::Vm(VmError::Stopped(cause)) => stopped_before_start(*cause, now),
        ProcessError::Vm(VmError::Local(text)) if exhaustion::of_text(text) => {
            return Err(text.clone());
        }
        ProcessError::Vm(VmError::Local(text) | VmError::Refused(text)) => {
            ledger::start_failure(text, now)
        }
        ProcessError::Vm(VmError::NoRoom(text)) => class(text, ExitClass::ResourceExhaustion),
        // Nothing that the agent's configuration could be blamed for.
        ProcessError::Vm(VmError::Lost(text)) => class(text, ExitClass::Unknown),
    })
}

/// The result of a run that was stopped before its process was started.
pub(super) fn stopped_before_start(cause: StopCause, now: Millis) -> RunEnd {
    let (class, terminal) = match cause {
        StopCause::Shutdown => (ExitClass::OrchestratorRestart, Terminal::Restart),
        StopCause::Cancelled | StopCause::Superseded => (ExitClass::Cancelled, Terminal::Cancelled),
    };
    RunEnd {
        report: ExitReport {
            class,
            terminal,
            wall_millis: 0,
            output_bytes: 0,
            cost_cents: None,
            detail: Some("ended before its process was started".to_owned()),
            at: now,
        },
        verdict: None,
        comment: None,
        worktree: None,
    }
}

fn classified(
    run: &Run,
    agent: Option<&AgentSpec>,
    (ended, output): (&ProcessReport, &str),
    nonce: &str,
    now: Millis,
) -> RunEnd {
    let terminal = terminal(ended);
    let (class, detail) = classify(terminal, output.as_bytes());
    let source = if agent.is_some_and(AgentSpec::reads_blocks) {
        VerdictSource::Block { nonce }
    } else {
        VerdictSource::ExitStatus
    };
    let (verdict, cost_cents) = verdict::find(output, run, source);
    let built = agent.map_or(BuiltCommit::Unknown, |agent| built(run, agent, output));
    let verdict = verdict.or_else(|| built.refusal());
    let detail = detail.or_else(|| built.detail().filter(|_| class.is_success()));
    let comment = agent
        .filter(|agent| {
            agent.comment && !matches!(terminal, Terminal::Restart | Terminal::Cancelled)
        })
        .map(|agent| {
            let ended = match &detail {
                Some(detail) => format!("{class}, {detail}"),
                None => class.to_string(),
            };
            comment_text(run, &ended, &inert(output, &agent.allow_in_posts))
        });
    let took = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
    RunEnd {
        report: ExitReport {
            class,
            terminal,
            wall_millis: took,
            output_bytes: ended.output.bytes,
            cost_cents,
            detail: detail.or_else(|| survivors_text(ended)),
            at: now,
        },
        verdict,
        comment,
        worktree: None,
    }
}

/// Which commit the exit status of a check is about.
enum BuiltCommit {
    /// The head: it was checked out, or the build dispatcher says that it was sent.
    Head(String),
    /// The build dispatcher says that it sent another one.
    Other(String),
    /// The working directory of the project as it stood.
    Directory,
    /// There is no status, or no agent any more.
    Unknown,
}

/// How the build dispatcher begins the line that names its files.
const FILES_OF: &str = "build-dispatch: files of ";

fn built(run: &Run, agent: &AgentSpec, output: &str) -> BuiltCommit {
    let Some(status) = &run.status else {
        return BuiltCommit::Unknown;
    };
    let dispatched = output.lines().rev().find_map(|line| {
        let commit = line.trim_end().strip_prefix(FILES_OF)?;
        Some(
            commit
                .strip_prefix("commit ")
                .unwrap_or_default()
                .to_owned(),
        )
    });
    match dispatched {
        Some(commit) if commit == status.sha.as_str() => {
            BuiltCommit::Head(status.sha.short().to_owned())
        }
        Some(commit) => BuiltCommit::Other(commit),
        None if agent.worktree == WorktreeMode::Head => {
            BuiltCommit::Head(status.sha.short().to_owned())
        }
        None => BuiltCommit::Directory,
    }
}

impl BuiltCommit {
    fn detail(&self) -> Option<String> {
        match self {
            Self::Head(commit) => Some(format!("commit {commit}")),
            Self::Directory => Some("the project's directory as it stood, not a commit".to_owned()),
            Self::Other(_) | Self::Unknown => None,
        }
    }

    /// A commit that was not built gets no green status.
    fn refusal(&self) -> Option<Verdict> {
        let Self::Other(commit) = self else {
            return None;
        };
        let files = match commit.get(..12) {
            Some(short) => format!("commit {short}"),
            None => "the directory as it stood".to_owned(),
        };
        Some(Verdict::Refused {
            why: format!("{files} was built, not the head; dispatch it with --ref"),
        })
    }
}

fn terminal(ended: &ProcessReport) -> Terminal {
    match ended.cause {
        EndCause::WallClock => Terminal::WallClock,
        EndCause::Stalled => Terminal::Stalled,
        EndCause::Exhausted(_) => Terminal::Exhausted,
        EndCause::Stopped(StopCause::Shutdown) => Terminal::Restart,
        EndCause::Stopped(_) => Terminal::Cancelled,
        EndCause::Exited => match ended.end {
            ProcessEnd::Code(code) => Terminal::Code(code),
            ProcessEnd::Signal(signal) => Terminal::Signal(signal),
            ProcessEnd::Unkillable => Terminal::Signal(9),
        },
    }
}

/// The last thing that was printed.
fn last_line(log: &Path) -> String {
    let output = AgentLogReader::tail(log, 4096).unwrap_or_default();
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("it printed nothing").trim().to_owned()
}

fn survivors_text(ended: &ProcessReport) -> Option<String> {
    let text = format!("{} processes were left and ended", ended.survivors);
    (ended.survivors > 0).then_some(text)
}

/// The end of what the agent printed, made inert, below a line that says who and how.
fn comment_text(run: &Run, ended: &str, output: &str) -> String {
    let output = output.trim();
    let from = output.len().saturating_sub(MAX_COMMENT);
    let from = (from..=output.len())
        .find(|at| output.is_char_boundary(*at))
        .unwrap_or(0);
    let cut = if from > 0 {
        "[the beginning is left out]\n"
    } else {
        ""
    };
    let body = if output.is_empty() {
        "(no output)"
    } else {
        &output[from..]
    };
    format!(
        "**{}** ended: {ended} (run `{}`)\n\n{cut}{body}",
        run.agent, run.id
    )
}
/// The report of a run whose commits could not be brought to the checkout, for a reason: its end
/// stays what it was, and says so.
pub(super) fn with_commits_left(report: ExitReport, reason: Option<String>) -> ExitReport {
    let Some(reason) = reason else {
        return report;
    };
    let reason = reason.replace('\n', " ");
    let left = format!("its commits stayed in its worktree, which is kept: {reason}");
    let detail = match report.detail {
        Some(detail) => format!("{detail}; {left}"),
        None => left,
    };
    ExitReport {
        detail: Some(detail),
        ..report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_run_whose_commits_stayed_behind_says_so() {
        let report = |detail: Option<&str>| ExitReport {
            class: ExitClass::Success,
            terminal: Terminal::Code(0),
            wall_millis: 1,
            output_bytes: 1,
            cost_cents: None,
            detail: detail.map(str::to_owned),
            at: 1,
        };
        assert_eq!(with_commits_left(report(None), None), report(None));
        let reason = || Some("fatal:\nRead-only file system".to_owned());
        for (before, begins) in [
            (None, "its commits stayed"),
            (Some("one"), "one; its commits"),
        ] {
            let left = with_commits_left(report(before), reason());
            assert!(left.class.is_success());
            let detail = left.detail.expect("it says why");
            assert!(
                detail.starts_with(begins) && detail.ends_with("file system"),
                "{detail}"
            );
        }
    }
}
