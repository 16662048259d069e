//! What an event asks for: runs to queue, runs to end, refusals with their reasons.
//!
//! The decision is made on what is known in memory; what must be exact under races (has this
//! comment been seen? is a run of this pull request open?) is left to the transaction that stores
//! it, which gets [`Dispatch::identity`] and [`Dispatch::runs_to_end`] for that.

mod decision;
mod ignored;
mod mentions;
mod pulls;
mod request;

use forge_core::{CommentAction, ForgeEvent};

use self::request::RunRequest;
use crate::Millis;
use crate::config::{AgentSpec, Project};
use crate::run::{RunContext, RunTrigger, Subject};

pub use decision::{
    AgentKey, Dispatch, EventDecision, EventIdentity, IntakeContext, NewRun, Rejection, RunsToEnd,
    comment_key,
};
pub use ignored::Ignored;
pub use request::MAX_TEXT;

/// Decides what an event leads to.
pub fn decide(event: &ForgeEvent, context: &IntakeContext<'_>) -> EventDecision {
    match event {
        ForgeEvent::IssueComment(comment) => mentions::decide(comment, context),
        ForgeEvent::PullRequest(pull) => pulls::decide(pull, context),
        ForgeEvent::Push(_) => EventDecision::Ignored(Ignored::Push),
        ForgeEvent::Ping(_) => EventDecision::Ignored(Ignored::Ping),
        ForgeEvent::Other(_) => EventDecision::Ignored(Ignored::OtherEvent),
    }
}

/// The identity to remember of an event that requests nothing: a comment that was written without a
/// mention stays without one, also when it is reported again after an edit.
pub fn identity_without_request(event: &ForgeEvent) -> Option<String> {
    let ForgeEvent::IssueComment(comment) = event else {
        return None;
    };
    let id = comment.comment.id;
    let at_the_forge = id.get() != 0 && !comment.issue.number.is_cli();
    (comment.action == CommentAction::Created && at_the_forge)
        .then(|| comment_key(&comment.repository.name, id))
}

/// An event made by hand for an agent that is due by its schedule.
pub fn scheduled(
    agent: &AgentSpec,
    project: &Project,
    due: Millis,
    context: &IntakeContext<'_>,
) -> NewRun {
    let request = RunRequest {
        project,
        agent,
        subject: Subject::Schedule { due },
        trigger: RunTrigger::Schedule,
        depth: 1,
        status: None,
        check_author: false,
    };
    NewRun {
        run: request.run(context),
        context: RunContext::default(),
    }
}
