//! Comments: `@orch:[project/]agent`.

use forge_core::mention::{self, Mention, ScanLimits};
use forge_core::{CommentAction, IssueCommentEvent, IssueState, Login, Marker};

use super::decision::{
    Dispatch, EventDecision, EventIdentity, IntakeContext, NewRun, Rejection, comment_key,
};
use super::ignored::Ignored;
use super::request::{RunRequest, long, refusal, rejected, title};
use crate::config::{AgentSpec, MentionSettings, Project};
use crate::run::{Reason, RunContext, RunTrigger, Subject};

/// Standings of an author on GitHub that come with the right to write.
const WRITERS: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];

pub(super) fn decide(event: &IssueCommentEvent, intake: &IntakeContext<'_>) -> EventDecision {
    match event.action {
        CommentAction::Created => {}
        CommentAction::Edited => return EventDecision::Ignored(Ignored::CommentEdited),
        CommentAction::Deleted => return EventDecision::Ignored(Ignored::CommentDeleted),
        CommentAction::Other(_) => return EventDecision::Ignored(Ignored::CommentAction),
    }
    let settings = intake.config.mentions.as_ref();
    let mut limits = ScanLimits::default();
    if let Some(settings) = settings {
        limits.mentions = settings.limits.per_comment;
    }
    let mentions = mention::scan(&event.comment.body, limits);
    if mentions.found.is_empty() {
        return EventDecision::Ignored(Ignored::NoMention);
    }
    if intake.own_logins.contains(&event.comment.author) {
        return EventDecision::Ignored(Ignored::OwnComment);
    }
    let Some(settings) = settings else {
        return EventDecision::Ignored(Ignored::MentionsNotConfigured);
    };
    let request = CommentRequest {
        event,
        intake,
        settings,
        project: intake.config.project_of(&event.repository.name),
    };
    let mut dispatch = Dispatch {
        identity: request.identity(),
        ..Dispatch::default()
    };
    for mention in &mentions.found {
        match request.new_run(mention, dispatch.runs.len()) {
            Ok(want) => dispatch.runs.push(want),
            Err(rejection) => dispatch.rejected.push(*rejection),
        }
    }
    if mentions.over_limit > 0 {
        dispatch.rejected.push(Rejection {
            agent: format!("{} more", mentions.over_limit),
            reason: Reason::OverMentionLimit,
            run: None,
        });
    }
    EventDecision::Dispatch(Box::new(dispatch))
}

struct CommentRequest<'a> {
    event: &'a IssueCommentEvent,
    intake: &'a IntakeContext<'a>,
    settings: &'a MentionSettings,
    project: Option<&'a Project>,
}

impl<'a> CommentRequest<'a> {
    /// A comment is the same whatever delivery tells of it. Triggers by hand, without an id
    /// or at no issue, are no comments of the forge: their deliveries alone distinguish them.
    fn identity(&self) -> Option<EventIdentity> {
        let (repository, id) = (&self.event.repository.name, self.event.comment.id);
        let at_the_forge = id.get() != 0 && !self.event.issue.number.is_cli();
        at_the_forge.then(|| EventIdentity {
            key: comment_key(repository, id),
            once: true,
        })
    }

    /// Made by somebody who holds the secret, not by a user of the forge.
    fn is_cli(&self) -> bool {
        self.event.by_hand || self.event.issue.number.is_cli()
    }

    fn new_run(&self, mention: &Mention, already: usize) -> Result<NewRun, Box<Rejection>> {
        let named = match &mention.project {
            Some(project) => format!("{project}/{}", mention.agent),
            None => mention.agent.to_string(),
        };
        let refused = |reason, run| {
            let agent = named.clone();
            Box::new(Rejection { agent, reason, run })
        };
        let settings = self.settings;
        let project = self
            .project
            .ok_or_else(|| refused(Reason::UnknownProject, None))?;
        let agent = self
            .resolve(mention, project)
            .map_err(|reason| refused(reason, None))?;
        let (depth, too_deep) = self.depth(settings);
        let request = RunRequest {
            project,
            agent,
            subject: Subject::Comment {
                issue: self.event.issue.number,
                comment: self.event.comment.id,
            },
            trigger: if self.is_cli() {
                RunTrigger::Cli
            } else {
                RunTrigger::Mention
            },
            depth,
            status: None,
            check_author: !self.is_cli() && self.must_ask(settings, project, agent),
        };
        let against = self
            .against(settings, project, agent)
            .or_else(|| too_deep.then_some(Reason::LoopGuard))
            .or_else(|| self.too_many(settings, already))
            .or_else(|| refusal(agent, self.intake, already));
        if let Some(reason) = against {
            let run = rejected(request.run(self.intake), reason, self.intake.now);
            return Err(refused(reason, Some(run)));
        }
        Ok(NewRun {
            run: request.run(self.intake),
            context: self.context(mention),
        })
    }

    /// The agent of that name that serves the repository's project. A project that is written must
    /// be one, and its agent must serve this project too.
    fn resolve(&self, mention: &Mention, project: &'a Project) -> Result<&'a AgentSpec, Reason> {
        let config = self.intake.config;
        if let Some(written) = &mention.project {
            if !config.projects.contains_key(written) {
                return Err(Reason::UnknownProject);
            }
            let agent = config
                .agent(written, &mention.agent)
                .ok_or(Reason::UnknownAgent)?;
            return agent
                .serves(&project.id)
                .then_some(agent)
                .ok_or(Reason::OtherProject);
        }
        if let Some(agent) = config.agent(&project.id, &mention.agent) {
            return Ok(agent);
        }
        let mut named = config
            .agents
            .values()
            .filter(|agent| agent.name == mention.agent)
            .peekable();
        if named.peek().is_none() {
            return Err(Reason::UnknownAgent);
        }
        named
            .find(|agent| agent.serves(&project.id))
            .ok_or(Reason::OtherProject)
    }

    fn against(
        &self,
        settings: &MentionSettings,
        project: &Project,
        agent: &AgentSpec,
    ) -> Option<Reason> {
        let author = &self.event.comment.author;
        if !self.is_cli() && matches!(self.event.issue.state, Some(IssueState::Closed)) {
            return Some(Reason::IssueClosed);
        }
        if !agent.mentionable || !project.mentions {
            return Some(Reason::Disabled);
        }
        // Who holds the secret may use the command line.
        let may = self.is_cli() || self.is_allowed(author, settings, project, agent);
        (!may).then_some(Reason::NotAllowed)
    }

    /// The nearest allow-list counts; without any, whoever the forge does not call a stranger.
    /// Where the event does not say what the author is, the forge is asked before the run starts
    /// (`must_ask`).
    fn is_allowed(
        &self,
        author: &Login,
        settings: &MentionSettings,
        project: &Project,
        agent: &AgentSpec,
    ) -> bool {
        let lists = [&agent.allow, &project.allow, &settings.allow];
        if let Some(list) = lists.into_iter().find(|list| !list.is_empty()) {
            return list.contains(author);
        }
        let standing = self.event.comment.author_association.as_deref();
        standing.is_none_or(|standing| WRITERS.contains(&standing))
    }

    /// Whether only the forge can say if the author may write: no allow-list decides, and the event
    /// does not say.
    fn must_ask(&self, settings: &MentionSettings, project: &Project, agent: &AgentSpec) -> bool {
        let listed = [&agent.allow, &project.allow, &settings.allow];
        settings.require_write
            && self.intake.config.forge.is_some()
            && self.event.comment.author_association.is_none()
            && listed.into_iter().all(Vec::is_empty)
    }

    /// Length of the chain this run would end, and whether that is too long.
    fn depth(&self, settings: &MentionSettings) -> (u16, bool) {
        let before = Marker::find(&self.event.comment.body).map_or(0, |marker| marker.depth);
        let depth = before.saturating_add(1);
        (depth, depth > settings.limits.max_depth)
    }

    fn too_many(&self, settings: &MentionSettings, already: usize) -> Option<Reason> {
        if self.is_cli() {
            return None;
        }
        let recent = (self.intake.recent)(&self.event.repository.name, self.event.issue.number);
        let already = u32::try_from(already).unwrap_or(u32::MAX);
        let limit = settings.limits.per_issue_per_hour;
        (recent.saturating_add(already) >= limit).then_some(Reason::RateLimited)
    }

    fn context(&self, mention: &Mention) -> RunContext {
        let IssueCommentEvent { comment, issue, .. } = self.event;
        RunContext {
            issue: Some(issue.number),
            title: title(issue.title.as_deref()),
            body: long(issue.body.as_deref()),
            comment: long(Some(&comment.body)),
            task: mention.rest_of_line.clone(),
            author: Some(comment.author.clone()),
            url: comment.html_url.clone().or_else(|| issue.html_url.clone()),
            ..RunContext::default()
        }
    }
}
