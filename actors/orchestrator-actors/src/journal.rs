//! The journal: events under stable names, logged when they are durable, and kept in the store.

use forge_core::{CommitState, RepoName};
use orchestrator_core::intake::Ignored;
use orchestrator_core::run::{ExitClass, Reason, Run, StatusKey};

/// One row of the table of events.
macro_rules! line {
    ($level:ident, event = $event:literal, $text:literal) => {
        LogLine {
            level: Level::$level,
            event: $event,
            text: $text,
        }
    };
}

/// An event of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEvent {
    /// A run was accepted.
    Queued,
    /// A dispatch was refused.
    Rejected(Reason),
    /// A run ended before its process did anything.
    Ended(Reason),
    /// A process was started.
    Spawned {
        /// Its id.
        pid: u32,
    },
    /// A process ended.
    Exited {
        /// The kind of end.
        class: ExitClass,
        /// From start to end.
        wall_ms: u64,
    },
    /// The wall-clock or stall limit ended a process.
    WallClockKilled,
    /// A pull request was fanned out.
    FanOut {
        /// How many runs were queued.
        runs: usize,
    },
    /// A check of a pull request was skipped.
    FanOutSkipped(Reason),
    /// A status was decided; the poster says when the forge has it.
    StatusDecided(CommitState),
    /// The persona was put into a prompt.
    PersonaApplied(String),
    /// The persona is not loaded.
    PersonaNotFound(String),
    /// Skills were put into a prompt.
    SkillsInjected(Vec<String>),
    /// A comment has no issue to stand at: the command line asked for the run.
    NoIssueToPostAt,
    /// A worktree was made.
    WorktreeCreated(String),
    /// A worktree was removed.
    WorktreeRemoved(String),
    /// An event asked for nothing.
    Ignored(Ignored),
    /// The same was asked for before.
    DedupHit(String),
    /// A provider's circuit changed.
    Breaker {
        /// The provider.
        provider: String,
        /// `open`, `half_open` or `closed`.
        state: &'static str,
    },
    /// An agent's budget is nearly used up.
    BudgetNear,
    /// An agent was put into quarantine.
    Quarantined,
    /// A build was handed to the remote dispatcher.
    BuildRemote {
        /// Length of the task, in bytes.
        task_bytes: usize,
    },
    /// A project was paused or resumed.
    ProjectPaused(bool),
    /// The configuration was read again.
    Reloaded,
    /// What became of a post to the forge, under the name of its log line, which is written by the
    /// poster.
    Posted(&'static str),
}

/// An event and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The event.
    pub event: JournalEvent,
    /// The run.
    pub run: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// One more thing to know.
    pub about: String,
}

impl Entry {
    /// An event of a run.
    pub fn of(run: &Run, event: JournalEvent) -> Self {
        Self {
            event,
            run: Some(run.id.to_string()),
            agent: Some(run.agent.to_string()),
            project: Some(run.project.to_string()),
            about: String::new(),
        }
    }

    /// An event of no run.
    pub fn plain(event: JournalEvent, about: impl Into<String>) -> Self {
        Self {
            event,
            run: None,
            agent: None,
            project: None,
            about: about.into(),
        }
    }

    /// An event about a pull request.
    pub fn pull(repository: &RepoName, number: u64, event: JournalEvent) -> Self {
        Self::plain(event, format!("{repository}#{number}"))
    }

    /// The same with something more to know.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// The stable name, and one line about it.
    pub fn name_and_detail(&self) -> (&'static str, String) {
        let name = match &self.event {
            JournalEvent::Posted(name) => name,
            _ => self.line().map_or("", |line| line.event),
        };
        (name, self.detail())
    }

    fn detail(&self) -> String {
        let about = &self.about;
        match &self.event {
            JournalEvent::Rejected(reason) => format!("{reason} {about}"),
            JournalEvent::Ended(reason) => reason.to_string(),
            JournalEvent::Spawned { pid } if about.is_empty() => format!("pid {pid}"),
            JournalEvent::Spawned { .. } => about.clone(),
            JournalEvent::Exited { class, wall_ms } => {
                let text = format!("{class} after {wall_ms} ms {about}");
                text.trim_end().to_owned()
            }
            JournalEvent::FanOut { runs } => format!("{about} to {runs}"),
            JournalEvent::FanOutSkipped(reason) => format!("{about} {reason}"),
            JournalEvent::StatusDecided(state) => format!("{state} {about}"),
            JournalEvent::PersonaApplied(name) | JournalEvent::PersonaNotFound(name) => {
                name.clone()
            }
            JournalEvent::SkillsInjected(skills) => skills.join(" "),
            JournalEvent::WorktreeCreated(path) | JournalEvent::WorktreeRemoved(path) => {
                path.clone()
            }
            JournalEvent::NoIssueToPostAt => {
                format!("{about}: no_issue, as is expected of a trigger of the command line")
            }
            JournalEvent::Ignored(why) => format!("{about} {why}"),
            JournalEvent::DedupHit(what) => what.clone(),
            JournalEvent::Breaker { provider, .. } => provider.clone(),
            JournalEvent::BuildRemote { task_bytes } => format!("{task_bytes} bytes"),
            JournalEvent::Queued
            | JournalEvent::WallClockKilled
            | JournalEvent::BudgetNear
            | JournalEvent::Quarantined
            | JournalEvent::ProjectPaused(_)
            | JournalEvent::Reloaded
            | JournalEvent::Posted(_) => about.clone(),
        }
    }

    /// Writes the log line; not of posts, whose line the poster has written.
    pub fn log(&self) {
        let Some(LogLine { level, event, text }) = self.line() else {
            return;
        };
        let detail = self.detail();
        let (run, agent) = (self.run.as_deref(), self.agent.as_deref());
        let project = self.project.as_deref();
        match level {
            Level::Debug => tracing::debug!(event, run, agent, project, detail = %detail, "{text}"),
            Level::Info => tracing::info!(event, run, agent, project, detail = %detail, "{text}"),
            Level::Warn => tracing::warn!(event, run, agent, project, detail = %detail, "{text}"),
            Level::Error => tracing::error!(event, run, agent, project, detail = %detail, "{text}"),
        }
    }

    /// How each event is logged: one table, which every new event must be put into. `None`: its
    /// line was written elsewhere.
    #[allow(
        clippy::too_many_lines,
        reason = "one table, which the compiler holds complete"
    )]
    fn line(&self) -> Option<LogLine> {
        Some(match &self.event {
            JournalEvent::Queued => {
                line!(Info, event = "run.queued", "a run waits for the next tick")
            }
            JournalEvent::Rejected(_) => {
                line!(Info, event = "run.rejected", "a dispatch was refused")
            }
            JournalEvent::Ended(_) => {
                line!(Info, event = "run.ended", "a run ended without a process")
            }
            JournalEvent::Spawned { .. } => {
                line!(Info, event = "agent.spawned", "an agent was started")
            }
            JournalEvent::Exited { .. } => {
                line!(Info, event = "agent.exited", "an agent ended")
            }
            JournalEvent::WallClockKilled => {
                line!(
                    Warn,
                    event = "run.wall_clock_killed",
                    "an agent was ended at its limit"
                )
            }
            JournalEvent::FanOut { .. } => {
                line!(
                    Info,
                    event = "pr.fanout.dispatched",
                    "a pull request was fanned out"
                )
            }
            JournalEvent::FanOutSkipped(_) => {
                line!(
                    Warn,
                    event = "pr.fanout.skipped",
                    "a check of a pull request was skipped"
                )
            }
            JournalEvent::StatusDecided(_) => {
                line!(
                    Info,
                    event = "status.decided",
                    "a commit status was decided"
                )
            }
            JournalEvent::PersonaApplied(_) => {
                line!(
                    Info,
                    event = "persona.applied",
                    "a persona was put into a prompt"
                )
            }
            JournalEvent::PersonaNotFound(_) => {
                line!(
                    Warn,
                    event = "persona.not_found",
                    "a persona is not loaded; restart or reload"
                )
            }
            JournalEvent::SkillsInjected(_) => {
                line!(
                    Info,
                    event = "skills.injected",
                    "skills were put into a prompt"
                )
            }
            // The name that the poster's failures have; nothing is wrong, so no warning.
            JournalEvent::NoIssueToPostAt => {
                line!(
                    Info,
                    event = "forge.post.failed",
                    "there is no issue to post at"
                )
            }
            JournalEvent::WorktreeCreated(_) => {
                line!(Info, event = "worktree.created", "a worktree was made")
            }
            JournalEvent::WorktreeRemoved(_) => {
                line!(Info, event = "worktree.removed", "a worktree was removed")
            }
            JournalEvent::Ignored(why) if why.is_skipped_fan_out() => {
                line!(
                    Warn,
                    event = "pr.fanout.skipped",
                    "a pull request was not fanned out"
                )
            }
            // Dropped without a word, as the contract has it; who looks for the reason finds it.
            JournalEvent::Ignored(Ignored::MentionsNotConfigured) => {
                line!(
                    Debug,
                    event = "webhook.ignored",
                    "an event asked for nothing"
                )
            }
            JournalEvent::Ignored(_) => {
                line!(
                    Info,
                    event = "webhook.ignored",
                    "an event asked for nothing"
                )
            }
            JournalEvent::DedupHit(_) => {
                line!(Info, event = "dedup.hit", "the same was asked for before")
            }
            JournalEvent::Breaker { state: "open", .. } => {
                line!(
                    Warn,
                    event = "breaker.opened",
                    "a provider's circuit opened"
                )
            }
            JournalEvent::Breaker {
                state: "half_open", ..
            } => {
                line!(
                    Info,
                    event = "breaker.half_opened",
                    "one run tries a provider"
                )
            }
            JournalEvent::Breaker { .. } => {
                line!(Info, event = "breaker.closed", "a provider works again")
            }
            JournalEvent::BudgetNear => {
                line!(
                    Warn,
                    event = "budget.near",
                    "80 percent of a budget are used"
                )
            }
            JournalEvent::Quarantined => {
                line!(
                    Error,
                    event = "agent.quarantined",
                    "an agent could not be started too often"
                )
            }
            JournalEvent::BuildRemote { .. } => {
                line!(Info, event = "build.remote", "a build goes to a worker")
            }
            JournalEvent::ProjectPaused(true) => {
                line!(Info, event = "project.paused", "a project is paused")
            }
            JournalEvent::ProjectPaused(false) => {
                line!(Info, event = "project.resumed", "a project goes on")
            }
            JournalEvent::Reloaded => {
                line!(
                    Info,
                    event = "config.reloaded",
                    "the configuration was read again"
                )
            }
            JournalEvent::Posted(_) => return None,
        })
    }
}

/// How an event is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogLine {
    level: Level,
    event: &'static str,
    text: &'static str,
}

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// `owner/repo sha context`, for people.
pub fn status_text(status: &StatusKey) -> String {
    format!(
        "{} {} {}",
        status.repository,
        status.sha.short(),
        status.context
    )
}

#[cfg(test)]
mod tests;
