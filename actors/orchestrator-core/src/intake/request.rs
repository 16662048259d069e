//! A run that is requested: what every kind of event has in common.

use forge_core::text::truncate;

use super::decision::IntakeContext;
use crate::Millis;
use crate::config::{AgentSpec, Project};
use crate::health::BudgetState;
use crate::run::{AgentRunState, Priority, Reason, Run, RunTrigger, StatusKey, Subject};

/// Longest title kept, in bytes.
const MAX_TITLE: usize = 500;
/// Longest text kept of a comment or a description, in bytes.
pub const MAX_TEXT: usize = 16 << 10;

/// A run before it is queued or refused.
pub(super) struct RunRequest<'a> {
    pub(super) project: &'a Project,
    pub(super) agent: &'a AgentSpec,
    pub(super) subject: Subject,
    pub(super) trigger: RunTrigger,
    pub(super) depth: u16,
    pub(super) status: Option<StatusKey>,
    pub(super) check_author: bool,
}

impl RunRequest<'_> {
    pub(super) fn run(self, context: &IntakeContext<'_>) -> Run {
        Run {
            id: (context.new_id)(),
            project: self.project.id.clone(),
            agent: self.agent.name.clone(),
            home: self.agent.project.clone(),
            repository: self.project.repository.clone(),
            subject: self.subject,
            trigger: self.trigger,
            priority: Priority::for_trigger(self.agent.layer, self.trigger),
            depth: self.depth,
            state: AgentRunState::Queued,
            hold: None,
            reason: None,
            status: self.status,
            ending: None,
            queued_at: context.now,
            started_at: None,
            ended_at: None,
            process: None,
            worktree: None,
            exit: None,
            provider: None,
            check_author: self.check_author,
        }
    }
}

/// Why the agent takes no run now, whoever requests it.
pub(super) fn refusal(
    agent: &AgentSpec,
    context: &IntakeContext<'_>,
    already: usize,
) -> Option<Reason> {
    let key = (agent.project.clone(), agent.name.clone());
    if !agent.enabled {
        return Some(Reason::Disabled);
    }
    if context.quarantined.contains(&key) {
        return Some(Reason::Quarantined);
    }
    if agent.budget.state((context.usage)(&key)) == BudgetState::Exhausted {
        return Some(Reason::BudgetExhausted);
    }
    if context.queued + already >= context.config.max_queued {
        return Some(Reason::QueueFull);
    }
    None
}

/// A record of a refusal: a run that never starts.
pub(super) fn rejected(mut run: Run, reason: Reason, now: Millis) -> Run {
    run.state = AgentRunState::Rejected;
    run.reason = Some(reason);
    run.ended_at = Some(now);
    run
}

pub(super) fn title(text: Option<&str>) -> String {
    truncate(text.unwrap_or_default(), MAX_TITLE).to_owned()
}

pub(super) fn long(text: Option<&str>) -> String {
    truncate(text.unwrap_or_default(), MAX_TEXT).to_owned()
}
