//! The journal: events under stable names, logged when they are durable, and kept in the store.

use forge_core::{CommitState, RepoName};
use orchestrator_core::intake::Ignored;
use orchestrator_core::run::{ExitClass, Reason, Run, StatusKey};

/// How each event is logged: a table, which the compiler holds complete.
macro_rules! lines {
    ($of:expr; $without:pat => None; $($which:pat $(if $more:expr)? => $level:ident, event = $event:literal, $text:literal;)*) => {
        match $of {
            $without => None,
            $($which $(if $more)? => {
                let level = Level::$level;
                Some(LogLine { level, event: $event, text: $text })
            })*
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
    /// A status was decided; the outbox worker says when the forge has it.
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
    /// outbox worker.
    Posted(&'static str),
}

/// An event and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvent {
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

impl RecordedEvent {
    /// An event of a run.
    pub fn new(run: &Run, event: JournalEvent) -> Self {
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

    /// Writes the log line; not of posts, whose line the outbox worker has written.
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
    fn line(&self) -> Option<LogLine> {
        use JournalEvent::*;
        lines! { &self.event;
            Posted(_) => None;
            Queued => Info, event = "run.queued", "a run waits for the next tick";
            Rejected(_) => Info, event = "run.rejected", "a dispatch was refused";
            Ended(_) => Info, event = "run.ended", "a run ended without a process";
            Spawned { .. } => Info, event = "agent.spawned", "an agent was started";
            Exited { .. } => Info, event = "agent.exited", "an agent ended";
            WallClockKilled => Warn, event = "run.wall_clock_killed", "an agent was ended at its limit";
            FanOut { .. } => Info, event = "pr.fanout.dispatched", "a pull request was fanned out";
            FanOutSkipped(_) => Warn, event = "pr.fanout.skipped", "a check of a pull request was skipped";
            StatusDecided(_) => Info, event = "status.decided", "a commit status was decided";
            PersonaApplied(_) => Info, event = "persona.applied", "a persona was put into a prompt";
            PersonaNotFound(_) => Warn, event = "persona.not_found", "a persona is not loaded; restart or reload";
            SkillsInjected(_) => Info, event = "skills.injected", "skills were put into a prompt";
            // The name that the outbox worker's failures have; nothing is wrong, so no warning.
            NoIssueToPostAt => Info, event = "forge.post.failed", "there is no issue to post at";
            WorktreeCreated(_) => Info, event = "worktree.created", "a worktree was made";
            WorktreeRemoved(_) => Info, event = "worktree.removed", "a worktree was removed";
            Ignored(why) if why.is_skipped_fan_out() => Warn, event = "pr.fanout.skipped", "a pull request was not fanned out";
            // Dropped without a word, as the contract has it; who looks for the reason finds it.
            Ignored(orchestrator_core::intake::Ignored::MentionsNotConfigured) => Debug, event = "webhook.ignored", "an event asked for nothing";
            Ignored(_) => Info, event = "webhook.ignored", "an event asked for nothing";
            DedupHit(_) => Info, event = "dedup.hit", "the same was asked for before";
            Breaker { state: "open", .. } => Warn, event = "breaker.opened", "a provider's circuit opened";
            Breaker { state: "half_open", .. } => Info, event = "breaker.half_opened", "one run tries a provider";
            Breaker { .. } => Info, event = "breaker.closed", "a provider works again";
            BudgetNear => Warn, event = "budget.near", "80 percent of a budget are used";
            Quarantined => Error, event = "agent.quarantined", "an agent could not be started too often";
            BuildRemote { .. } => Info, event = "build.remote", "a build goes to a worker";
            ProjectPaused(true) => Info, event = "project.paused", "a project is paused";
            ProjectPaused(false) => Info, event = "project.resumed", "a project goes on";
            Reloaded => Info, event = "config.reloaded", "the configuration was read again";
        }
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
