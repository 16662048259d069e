//! Pull requests: the fan-out to the agents of `[pr_dispatch]`.

use forge_core::{HeadOrigin, IssueState, PullRequestAction, PullRequestEvent, PullRequestHead};

use super::decision::{
    Dispatch, EventDecision, EventIdentity, IntakeContext, NewRun, Rejection, RunsToEnd,
};
use super::ignored::Ignored;
use super::request::{RunRequest, long, refusal, rejected, title};
use crate::config::{PrAgent, PrDispatch, Project};
use crate::run::{Reason, RunContext, RunTrigger, StatusKey, Subject};

pub(super) fn decide(event: &PullRequestEvent, intake: &IntakeContext<'_>) -> EventDecision {
    let once = match event.action {
        PullRequestAction::Opened
        | PullRequestAction::Synchronized
        | PullRequestAction::ReadyForReview => true,
        PullRequestAction::Reopened => false,
        PullRequestAction::Closed => return closed(event),
        // Gitea's way to say `ready_for_review`.
        PullRequestAction::Edited if event.became_ready => true,
        PullRequestAction::Edited | PullRequestAction::Other(_) => {
            return EventDecision::Ignored(Ignored::PullRequestAction);
        }
    };
    // The contract: without it every webhook's dispatch is dropped, this one, too.
    if intake.config.mentions.is_none() {
        return EventDecision::Ignored(Ignored::MentionsNotConfigured);
    }
    let Some(settings) = &intake.config.pr_dispatch else {
        return EventDecision::Ignored(Ignored::PrDispatchNotConfigured);
    };
    let project = intake.config.project_of(&event.repository.name);
    let Some(project) = project.filter(|project| project.id == settings.project) else {
        return EventDecision::Ignored(Ignored::PrOtherProject);
    };
    let Some(head) = &event.pull_request.head else {
        return EventDecision::Ignored(Ignored::PrWithoutHead);
    };
    if matches!(event.pull_request.state, Some(IssueState::Closed)) || event.pull_request.merged {
        return closed(event);
    }
    if event.pull_request.draft && !settings.drafts {
        return EventDecision::Ignored(Ignored::PrDraft);
    }
    let fan_out = FanOut {
        event,
        intake,
        settings,
        project,
        head,
    };
    EventDecision::Dispatch(Box::new(fan_out.dispatch(once)))
}

/// Everything of the pull request ends; opened again, it begins anew.
fn closed(event: &PullRequestEvent) -> EventDecision {
    EventDecision::Dispatch(Box::new(Dispatch {
        runs_to_end: Some(RunsToEnd {
            repository: event.repository.name.clone(),
            number: event.number,
            keep: None,
            reason: Reason::PullRequestClosed,
            forget: true,
        }),
        ..Dispatch::default()
    }))
}

struct FanOut<'a> {
    event: &'a PullRequestEvent,
    intake: &'a IntakeContext<'a>,
    settings: &'a PrDispatch,
    project: &'a Project,
    head: &'a PullRequestHead,
}

impl FanOut<'_> {
    fn dispatch(&self, once: bool) -> Dispatch {
        let whole = self.against_all();
        let mut dispatch = Dispatch {
            identity: Some(EventIdentity {
                key: self.identity_key(),
                once,
            }),
            runs_to_end: Some(RunsToEnd {
                repository: self.event.repository.name.clone(),
                number: self.event.number,
                keep: Some(self.head.sha.clone()),
                reason: Reason::Superseded,
                forget: false,
            }),
            ..Dispatch::default()
        };
        for entry in &self.settings.agents {
            match self.new_run(entry, whole, dispatch.runs.len()) {
                Ok(want) => dispatch.runs.push(want),
                Err(rejection) => dispatch.rejected.push(*rejection),
            }
        }
        dispatch
    }

    /// A forge may tell of one head by several events (`synchronized` before `opened`).
    fn identity_key(&self) -> String {
        let repository = self.event.repository.name.as_str().to_ascii_lowercase();
        format!("pull:{repository}:{}:{}", self.event.number, self.head.sha)
    }

    /// What is against the pull request as a whole.
    fn against_all(&self) -> Option<Reason> {
        // A payload that does not say where the head comes from is treated as a fork's, but for
        // repositories that take pull requests from anywhere.
        let fork = self.event.origin() != HeadOrigin::SameRepository;
        if fork && !self.settings.forks {
            return Some(Reason::NotDispatched);
        }
        let allow = &self.settings.allow;
        let author = self
            .event
            .pull_request
            .author
            .as_ref()
            .or(self.event.sender.as_ref());
        let allowed = allow.is_empty() || author.is_some_and(|author| allow.contains(author));
        (!allowed).then_some(Reason::NotAllowed)
    }

    fn new_run(
        &self,
        entry: &PrAgent,
        whole: Option<Reason>,
        already: usize,
    ) -> Result<NewRun, Box<Rejection>> {
        let refused = |reason, run| {
            let agent = entry.agent.to_string();
            Box::new(Rejection { agent, reason, run })
        };
        let Some(agent) = self.intake.config.agent(&self.project.id, &entry.agent) else {
            return Err(refused(Reason::UnknownAgent, None));
        };
        let request = RunRequest {
            project: self.project,
            agent,
            subject: Subject::PullRequest {
                number: self.event.number,
                sha: self.head.sha.clone(),
            },
            trigger: RunTrigger::PullRequest,
            depth: 1,
            status: Some(StatusKey {
                repository: self.event.repository.name.clone(),
                sha: self.head.sha.clone(),
                context: entry.context.clone(),
            }),
            // Only the forge knows the message of the head commit.
            check_author: self.intake.config.forge.is_some(),
        };
        let run = request.run(self.intake);
        match whole.or_else(|| refusal(agent, self.intake, already)) {
            None => Ok(NewRun {
                run,
                context: self.context(),
            }),
            Some(reason) => {
                let run = rejected(run, reason, self.intake.now);
                Err(refused(reason, Some(run)))
            }
        }
    }

    fn context(&self) -> RunContext {
        let pull = &self.event.pull_request;
        RunContext {
            issue: Some(self.event.number.into()),
            title: title(pull.title.as_deref()),
            body: long(pull.body.as_deref()),
            author: pull.author.clone(),
            url: pull.html_url.clone(),
            base_branch: pull.base.as_ref().map(|base| base.branch.clone()),
            head_branch: Some(self.head.branch.clone()),
            fork: self.event.origin() != HeadOrigin::SameRepository,
            ..RunContext::default()
        }
    }
}
