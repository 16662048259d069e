//! What is made of the end of a process.

use orchestrator_core::classify::classify;
use orchestrator_core::config::AgentSpec;
use orchestrator_core::run::{ExitReport, Run, Terminal, WorktreeRecord};
use orchestrator_core::verdict;
use orchestrator_engine::output::LogReader;
use orchestrator_engine::process::{EndCause, Ended, ProcessEnd, StopCause};

use crate::ledger::EndOfRun;
use crate::shared::Shared;

/// Most output looked through for signatures and verdicts, in bytes.
const MAX_LOOKED: usize = 8 << 20;
/// Most output posted as a comment, in bytes.
const MAX_COMMENT: usize = 30_000;

/// What to record of a process that has ended.
pub(super) fn end_of(
    shared: &Shared,
    run: &Run,
    agent: Option<&AgentSpec>,
    ended: &Ended,
    worktree: Option<WorktreeRecord>,
) -> EndOfRun {
    let folder = shared.log_folder(run.id.as_str());
    let output = LogReader::tail(&folder, MAX_LOOKED).unwrap_or_default();
    let terminal = terminal(ended);
    let (class, detail) = classify(terminal, output.as_bytes());
    let (verdict, cost_cents) = verdict::find(&output, run);
    let comment = agent
        .filter(|agent| {
            agent.comment && !matches!(terminal, Terminal::Restart | Terminal::Cancelled)
        })
        .map(|_| comment_text(run, class.as_str(), &output));
    let took = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
    EndOfRun {
        report: ExitReport {
            class,
            terminal,
            wall_millis: took,
            output_bytes: ended.output.bytes,
            cost_cents,
            detail: detail.or_else(|| leftover_text(ended)),
            at: shared.now(),
        },
        verdict,
        comment,
        worktree,
    }
}

fn terminal(ended: &Ended) -> Terminal {
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

fn leftover_text(ended: &Ended) -> Option<String> {
    let text = format!("{} processes were left and ended", ended.survivors);
    (ended.survivors > 0).then_some(text)
}

/// The end of what the agent printed, below a line that says who and how.
fn comment_text(run: &Run, class: &str, output: &str) -> String {
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
        "**{}** ended: {class} (run `{}`)\n\n{cut}{body}",
        run.agent, run.id
    )
}
