//! What happened, under stable names: logged when it is durable, and kept in the store.

use forge_core::{CommitState, RepoName};
use orchestrator_core::run::{ExitClass, Reason, Run, StatusKey};

/// One log line; the fields are the same for all of them.
macro_rules! line {
    ($of:ident, $level:ident, event = $event:literal, $text:literal) => {{
        let (_, detail) = $of.name_and_detail();
        let (run, agent) = ($of.run.as_deref(), $of.agent.as_deref());
        let project = $of.project.as_deref();
        tracing::$level!(event = $event, run, agent, project, detail = %detail, $text);
    }};
}

/// An event of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
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
    /// A worktree was made.
    WorktreeCreated(String),
    /// A worktree was removed.
    WorktreeRemoved(String),
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
    /// What became of a post to the forge, under the name of its log line, which is written by the poster.
    Posted(&'static str),
}

/// An event and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What happened.
    pub what: Happened,
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
    pub fn of(run: &Run, what: Happened) -> Self {
        Self {
            what,
            run: Some(run.id.to_string()),
            agent: Some(run.agent.to_string()),
            project: Some(run.project.to_string()),
            about: String::new(),
        }
    }

    /// An event of no run.
    pub fn plain(what: Happened, about: impl Into<String>) -> Self {
        Self {
            what,
            run: None,
            agent: None,
            project: None,
            about: about.into(),
        }
    }

    /// An event about a pull request.
    pub fn pull(repository: &RepoName, number: u64, what: Happened) -> Self {
        Self::plain(what, format!("{repository}#{number}"))
    }

    /// The same with something more to know.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// The stable name, and one line about it.
    pub fn name_and_detail(&self) -> (&'static str, String) {
        let about = &self.about;
        match &self.what {
            Happened::Queued => ("run.queued", about.clone()),
            Happened::Rejected(reason) => ("run.rejected", format!("{reason} {about}")),
            Happened::Ended(reason) => ("run.ended", reason.to_string()),
            Happened::Spawned { pid } => ("agent.spawned", format!("pid {pid}")),
            Happened::Exited { class, wall_ms } => {
                let text = format!("{class} after {wall_ms} ms {about}");
                ("agent.exited", text.trim_end().to_owned())
            }
            Happened::WallClockKilled => ("run.wall_clock_killed", about.clone()),
            Happened::FanOut { runs } => ("pr.fanout.dispatched", format!("{about} to {runs}")),
            Happened::FanOutSkipped(reason) => ("pr.fanout.skipped", format!("{about} {reason}")),
            Happened::StatusDecided(state) => ("status.decided", format!("{state} {about}")),
            Happened::PersonaApplied(name) => ("persona.applied", name.clone()),
            Happened::PersonaNotFound(name) => ("persona.not_found", name.clone()),
            Happened::SkillsInjected(skills) => ("skills.injected", skills.join(" ")),
            Happened::WorktreeCreated(path) => ("worktree.created", path.clone()),
            Happened::WorktreeRemoved(path) => ("worktree.removed", path.clone()),
            Happened::DedupHit(what) => ("dedup.hit", what.clone()),
            Happened::Breaker { provider, state } => (breaker_name(state), provider.clone()),
            Happened::BudgetNear => ("budget.near", about.clone()),
            Happened::Quarantined => ("agent.quarantined", about.clone()),
            Happened::BuildRemote { task_bytes } => ("build.remote", format!("{task_bytes} bytes")),
            Happened::ProjectPaused(true) => ("project.paused", about.clone()),
            Happened::ProjectPaused(false) => ("project.resumed", about.clone()),
            Happened::Reloaded => ("config.reloaded", about.clone()),
            Happened::Posted(name) => (name, about.clone()),
        }
    }

    /// Writes the log line.
    pub fn log(&self) {
        match &self.what {
            Happened::Queued => line!(
                self,
                info,
                event = "run.queued",
                "a run waits for the next tick"
            ),
            Happened::Rejected(_) => {
                line!(self, info, event = "run.rejected", "a dispatch was refused");
            }
            Happened::Ended(_) => line!(
                self,
                info,
                event = "run.ended",
                "a run ended without a process"
            ),
            Happened::Spawned { .. } => {
                line!(self, info, event = "agent.spawned", "an agent was started");
            }
            Happened::Exited { .. } => line!(self, info, event = "agent.exited", "an agent ended"),
            Happened::WallClockKilled => {
                line!(
                    self,
                    warn,
                    event = "run.wall_clock_killed",
                    "an agent was ended at its limit"
                );
            }
            Happened::FanOut { .. } => {
                line!(
                    self,
                    info,
                    event = "pr.fanout.dispatched",
                    "a pull request was fanned out"
                );
            }
            Happened::FanOutSkipped(_) => {
                line!(
                    self,
                    warn,
                    event = "pr.fanout.skipped",
                    "a check of a pull request was skipped"
                );
            }
            _ => self.log_more(),
        }
    }

    fn log_more(&self) {
        match &self.what {
            Happened::StatusDecided(_) => {
                line!(
                    self,
                    info,
                    event = "status.decided",
                    "a commit status was decided"
                );
            }
            Happened::PersonaApplied(_) => {
                line!(
                    self,
                    info,
                    event = "persona.applied",
                    "a persona was put into a prompt"
                );
            }
            Happened::PersonaNotFound(_) => {
                line!(
                    self,
                    warn,
                    event = "persona.not_found",
                    "a persona is not loaded; restart or reload"
                );
            }
            Happened::SkillsInjected(_) => {
                line!(
                    self,
                    info,
                    event = "skills.injected",
                    "skills were put into a prompt"
                );
            }
            Happened::WorktreeCreated(_) => {
                line!(
                    self,
                    info,
                    event = "worktree.created",
                    "a worktree was made"
                );
            }
            Happened::WorktreeRemoved(_) => {
                line!(
                    self,
                    info,
                    event = "worktree.removed",
                    "a worktree was removed"
                );
            }
            Happened::DedupHit(_) => {
                line!(
                    self,
                    info,
                    event = "dedup.hit",
                    "the same was asked for before"
                );
            }
            _ => self.log_rest(),
        }
    }

    fn log_rest(&self) {
        match &self.what {
            Happened::Breaker { state: "open", .. } => {
                line!(
                    self,
                    warn,
                    event = "breaker.opened",
                    "a provider's circuit opened"
                );
            }
            Happened::Breaker {
                state: "half_open", ..
            } => {
                line!(
                    self,
                    info,
                    event = "breaker.half_opened",
                    "one run tries a provider"
                );
            }
            Happened::Breaker { .. } => {
                line!(
                    self,
                    info,
                    event = "breaker.closed",
                    "a provider works again"
                );
            }
            Happened::BudgetNear => line!(
                self,
                warn,
                event = "budget.near",
                "80 percent of a budget are used"
            ),
            Happened::Quarantined => {
                line!(
                    self,
                    error,
                    event = "agent.quarantined",
                    "an agent could not be started too often"
                );
            }
            Happened::BuildRemote { .. } => {
                line!(
                    self,
                    info,
                    event = "build.remote",
                    "a build goes to a worker"
                );
            }
            Happened::ProjectPaused(true) => {
                line!(self, info, event = "project.paused", "a project is paused");
            }
            Happened::ProjectPaused(false) => {
                line!(self, info, event = "project.resumed", "a project goes on");
            }
            Happened::Reloaded => {
                line!(
                    self,
                    info,
                    event = "config.reloaded",
                    "the configuration was read again"
                );
            }
            // The poster has written its line; the rest is above.
            _ => {}
        }
    }
}

fn breaker_name(state: &str) -> &'static str {
    match state {
        "open" => "breaker.opened",
        "half_open" => "breaker.half_opened",
        _ => "breaker.closed",
    }
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
