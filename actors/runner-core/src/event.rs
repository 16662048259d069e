//! What started a run, and whether a workflow wants to be started by it.

pub use crate::event_kind::{EventKind, FOLLOWED_RUN, RunCommit};
use crate::event_trigger::skip_reason;
use crate::expr::ExprValue;
use crate::workflow::{EventTrigger, GlobFilter, PullRequestTrigger, PushTrigger, Workflow};
use forge_core::{
    Activity, CommentAction, ForgeEvent, HeadOrigin, IssueCommentEvent, PullRequestAction,
    PullRequestEvent, RefChange, Repository, skip_mark,
};

/// What runs of a pull request have checked out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullRequestCommit {
    /// Its head.
    #[default]
    Head,
    /// What it would be merged as, as on GitHub.
    Merge,
}

impl PullRequestCommit {
    /// How its reference ends: `refs/pull/7/head`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Merge => "merge",
        }
    }
}

/// What started a run.
#[derive(Debug, Clone, PartialEq)]
pub struct EventContext {
    /// Which event.
    pub kind: EventKind,
    /// Its action (`opened`), of pull requests.
    pub action: Option<String>,
    /// The reference: `refs/heads/…`, `refs/tags/…`, `refs/pull/7/head`.
    pub reference: String,
    /// The commit that is run; empty where a pull request's payload does not name it.
    pub sha: String,
    /// `owner/repo`.
    pub repository: String,
    /// Who caused it; empty when nobody is named.
    pub actor: String,
    /// The branch a pull request is to be merged into.
    pub base_branch: Option<String>,
    /// The branch of a pull request.
    pub head_branch: Option<String>,
    /// Whether a pull request comes from elsewhere (or that cannot be told): no secrets.
    pub untrusted: bool,
    /// The changed files; `None` when they are not known yet (ask git, then set them).
    pub changed_paths: Option<Vec<String>>,
    /// The message of the newest commit, if known.
    pub message: Option<String>,
    /// Inputs of a dispatch.
    pub inputs: Vec<(String, String)>,
    /// The whole payload: `github.event`.
    pub payload: ExprValue,
}

/// Why an event starts nothing, whatever the workflows say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoStartReason {
    /// A branch or tag was deleted.
    #[error("{0} was deleted")]
    Deleted(String),
    /// Another event.
    #[error("the event `{0}` starts no run")]
    Other(String),
}

impl EventContext {
    /// As a run of the commit sees it that the pull request would be merged as: by GitHub's name.
    #[must_use]
    pub fn merged_as(mut self, commit: &str) -> Self {
        commit.clone_into(&mut self.sha);
        if let Some(pull) = self.reference.strip_suffix("/head") {
            self.reference = format!("{pull}/merge");
        }
        self
    }

    /// The number of the pull request that the run is a merge of: [`EventContext::merged_as`].
    #[must_use]
    pub fn merged_pull(&self) -> Option<u64> {
        let rest = self.reference.strip_prefix("refs/pull/")?;
        rest.strip_suffix("/merge")?.parse().ok()
    }

    /// The event of a webhook. `payload` is its body.
    ///
    /// # Errors
    /// When it starts nothing: deletions, pings, events that no workflow is started by.
    pub fn of_webhook(
        event: &ForgeEvent,
        payload: &serde_json::Value,
    ) -> Result<Self, NoStartReason> {
        let payload = ExprValue::from(payload);
        match event {
            ForgeEvent::Push(push) => {
                let after = match &push.change {
                    RefChange::Created { after } | RefChange::Updated { after, .. } => after,
                    RefChange::Deleted { .. } => {
                        return Err(NoStartReason::Deleted(push.reference.to_string()));
                    }
                };
                // For an annotated tag, the commit it points to.
                let sha = push.head_commit.as_ref().map_or(after, |commit| &commit.id);
                let changed = push.changed_paths();
                Ok(Self {
                    kind: EventKind::Push,
                    action: None,
                    reference: push.reference.to_string(),
                    sha: sha.to_string(),
                    repository: push.repository.name.to_string(),
                    actor: push
                        .pusher
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                    base_branch: None,
                    head_branch: None,
                    untrusted: false,
                    changed_paths: changed
                        .complete
                        .then(|| changed.paths.into_iter().collect()),
                    message: push
                        .head_commit
                        .as_ref()
                        .map(|commit| commit.message.clone()),
                    inputs: Vec::new(),
                    payload,
                })
            }
            ForgeEvent::PullRequest(event) => Ok(Self::of_pull_request(event, payload)),
            ForgeEvent::IssueComment(comment) => Ok(Self::of_comment(comment, payload)),
            ForgeEvent::Ping(_) => Err(NoStartReason::Other("ping".to_owned())),
            ForgeEvent::Other(other) => {
                let kind = EventKind::from_name(other.name.as_str());
                match (kind, &other.activity) {
                    (Some(kind), Some(activity)) => Self::of_activity(kind, activity, payload),
                    _ => Err(NoStartReason::Other(other.name.to_string())),
                }
            }
        }
    }

    /// Nothing but the event, where and who.
    fn bare(kind: EventKind, repository: &Repository, actor: String, payload: ExprValue) -> Self {
        // The newest commit of the default branch, unless something else is said.
        let branch = repository.default_branch.as_ref();
        let reference = branch.map(|branch| format!("refs/heads/{branch}"));
        Self {
            kind,
            action: None,
            reference: reference.unwrap_or_default(),
            sha: String::new(),
            repository: repository.name.to_string(),
            actor,
            base_branch: None,
            head_branch: None,
            untrusted: false,
            changed_paths: None,
            message: None,
            inputs: Vec::new(),
            payload,
        }
    }

    fn of_pull_request(event: &PullRequestEvent, payload: ExprValue) -> Self {
        let action = match &event.action {
            PullRequestAction::Opened => "opened",
            PullRequestAction::Reopened => "reopened",
            PullRequestAction::Synchronized => "synchronize",
            PullRequestAction::ReadyForReview => "ready_for_review",
            PullRequestAction::Closed => "closed",
            PullRequestAction::Edited => "edited",
            // The words of Gitea and Forgejo.
            PullRequestAction::Other(other) => match other.as_str() {
                "label_updated" => "labeled",
                "label_cleared" => "unlabeled",
                other => other,
            },
        };
        let actor = event.sender.as_ref().map(ToString::to_string);
        let actor = actor.unwrap_or_default();
        let bare = Self::bare(EventKind::PullRequest, &event.repository, actor, payload);
        // A payload of the documented fields alone names none: the forge is asked for it before the
        // run is read.
        let head = event.pull_request.head.as_ref();
        let base = event.pull_request.base.as_ref();
        Self {
            action: Some(action.to_owned()),
            reference: format!("refs/pull/{}/head", event.number),
            sha: head.map(|head| head.sha.to_string()).unwrap_or_default(),
            base_branch: base.map(|base| base.branch.to_string()),
            head_branch: head.map(|head| head.branch.to_string()),
            untrusted: event.origin() != HeadOrigin::SameRepository,
            ..bare
        }
    }

    /// The same pull request for workflows that ask for `pull_request_target`: the newest commit of
    /// this branch is run, with what belongs to it.
    #[must_use]
    pub fn into_target(self, branch: Option<&str>) -> Self {
        let reference = branch.map(|branch| format!("refs/heads/{branch}"));
        Self {
            kind: EventKind::PullRequestTarget,
            reference: reference.unwrap_or_default(),
            sha: String::new(),
            untrusted: false,
            message: None,
            ..self
        }
    }

    fn of_comment(event: &IssueCommentEvent, payload: ExprValue) -> Self {
        let action = match &event.action {
            CommentAction::Created => "created",
            CommentAction::Edited => "edited",
            CommentAction::Deleted => "deleted",
            CommentAction::Other(other) => other,
        };
        let actor = event.sender.as_ref().unwrap_or(&event.comment.author);
        let kind = EventKind::IssueComment;
        let bare = Self::bare(kind, &event.repository, actor.to_string(), payload);
        Self {
            action: Some(action.to_owned()),
            ..bare
        }
    }

    fn of_activity(
        kind: EventKind,
        activity: &Activity,
        payload: ExprValue,
    ) -> Result<Self, NoStartReason> {
        let nothing = || Err(NoStartReason::Other(kind.as_str().to_owned()));
        let actor = activity.sender.as_ref().map(ToString::to_string);
        let mut event = Self::bare(
            kind,
            &activity.repository,
            actor.unwrap_or_default(),
            payload,
        );
        event.action.clone_from(&activity.action);
        match (kind.commit(), &activity.reference, &activity.sha) {
            (RunCommit::DefaultBranch, ..) => {}
            (RunCommit::Reference, Some(reference), _) => event.reference.clone_from(reference),
            (RunCommit::Named, Some(reference), Some(sha)) if kind == EventKind::MergeGroup => {
                event.reference.clone_from(reference);
                event.sha = sha.to_string();
                event.base_branch.clone_from(&activity.base_branch);
            }
            (RunCommit::PullHead, ..) => {
                let Some((number, pull)) = &activity.pull_request else {
                    return nothing();
                };
                let head = pull.head.as_ref();
                event.reference = format!("refs/pull/{number}/head");
                event.sha = head.map(|head| head.sha.to_string()).unwrap_or_default();
                event.head_branch = head.map(|head| head.branch.to_string());
                event.base_branch = pull.base.as_ref().map(|base| base.branch.to_string());
                let origin = pull.origin(&activity.repository.name);
                event.untrusted = origin != HeadOrigin::SameRepository;
            }
            // A push that does not say of what: the default branch's newest commit.
            (RunCommit::Named, None, None) if kind == EventKind::Push => event.action = None,
            _ => return nothing(),
        }
        Ok(event)
    }

    /// The reference's short name: the branch, the tag, or `7/head`.
    pub fn ref_name(&self) -> &str {
        let reference = &self.reference;
        ["refs/heads/", "refs/tags/", "refs/pull/"]
            .iter()
            .find_map(|prefix| reference.strip_prefix(prefix))
            .unwrap_or(reference)
    }

    fn is_tag(&self) -> bool {
        self.reference.starts_with("refs/tags/")
    }
}

/// Whether a workflow is started by an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartDecision {
    /// It is.
    Start,
    /// It is not, and why.
    Skip(String),
    /// It depends on the changed files: set [`EventContext::changed_paths`] and ask again.
    NeedsPaths,
}

/// Whether `workflow` is started by `event`.
pub fn decide(workflow: &Workflow, event: &EventContext) -> StartDecision {
    let on = &workflow.on;
    let not_asked = || StartDecision::Skip(format!("it is not started by {}", event.kind.as_str()));
    if event.kind.can_be_skipped()
        && let Some(mark) = event.message.as_deref().and_then(skip_mark)
    {
        return StartDecision::Skip(format!("the commit message says {mark}"));
    }
    if let Some(mark) = skip_in_title(workflow, event) {
        return StartDecision::Skip(format!("the pull request's title says {mark}"));
    }
    match event.kind {
        EventKind::Push => on
            .push
            .as_ref()
            .map_or_else(not_asked, |push| decide_push(push, event)),
        EventKind::PullRequest => on
            .pull_request
            .as_ref()
            .map_or_else(not_asked, |trigger| decide_pull_request(trigger, event)),
        EventKind::WorkflowDispatch if on.workflow_dispatch.is_some() => StartDecision::Start,
        EventKind::Schedule if !on.schedule.is_empty() => StartDecision::Start,
        EventKind::WorkflowDispatch | EventKind::Schedule => not_asked(),
        kind => on
            .event(kind)
            .map_or_else(not_asked, |trigger| decide_other(trigger, event)),
    }
}

/// Forgejo and Gitea look for the mark in the title of a pull request as well.
fn skip_in_title(workflow: &Workflow, event: &EventContext) -> Option<&'static str> {
    let is_meant = workflow.dialect.is_forge() && event.kind == EventKind::PullRequest;
    let pull = event.payload.get("pull_request").filter(|_| is_meant)?;
    skip_mark(&pull.get("title")?.as_text())
}

fn decide_other(trigger: &EventTrigger, event: &EventContext) -> StartDecision {
    if event.kind == EventKind::PullRequestTarget {
        let trigger = PullRequestTrigger {
            types: trigger.types.clone(),
            branches: trigger.branches.clone(),
            // Nothing of the pull request is fetched to compare it: it counts as one that touches
            // them all.
            paths: GlobFilter::All,
        };
        return decide_pull_request(&trigger, event);
    }
    let action = event.action.as_deref().unwrap_or_default();
    // Of a merge group where it goes, of a workflow where it ran.
    let branch = event
        .base_branch
        .as_deref()
        .or(event.head_branch.as_deref());
    let followed = event.payload.get("workflow_run");
    let followed = followed.and_then(|run| run.get("name").cloned());
    let followed = followed.map(|name| name.as_text().to_string());
    let reason = skip_reason(
        trigger,
        action,
        branch.unwrap_or_default(),
        followed.as_deref().unwrap_or_default(),
    );
    reason.map_or(StartDecision::Start, StartDecision::Skip)
}

fn decide_push(trigger: &PushTrigger, event: &EventContext) -> StartDecision {
    let name = event.ref_name();
    let (filter, other, kind) = if event.is_tag() {
        (&trigger.tags, &trigger.branches, "tag")
    } else {
        (&trigger.branches, &trigger.tags, "branch")
    };
    // Whoever filters only branches does not want tags, and the other way round.
    if !filter.is_given() && other.is_given() {
        return StartDecision::Skip(format!("it filters no {kind} names, so it wants none"));
    }
    if !filter.passes(name) {
        return StartDecision::Skip(format!("the {kind} {name} is filtered out"));
    }
    // Filters of paths are not looked at for tags.
    if event.is_tag() {
        StartDecision::Start
    } else {
        decide_paths(&trigger.paths, event)
    }
}

fn decide_pull_request(trigger: &PullRequestTrigger, event: &EventContext) -> StartDecision {
    let action = event.action.as_deref().unwrap_or_default();
    let wanted = if trigger.types.is_empty() {
        ["opened", "synchronize", "reopened"].contains(&action)
    } else {
        // Gitea and Forgejo say `synchronized`.
        trigger
            .types
            .iter()
            .any(|kind| kind.trim_end_matches('d') == action.trim_end_matches('d'))
    };
    if !wanted {
        return StartDecision::Skip(format!("it is not started by the action {action}"));
    }
    let base = event.base_branch.as_deref().unwrap_or_default();
    if !trigger.branches.passes(base) {
        return StartDecision::Skip(format!("the base branch {base} is filtered out"));
    }
    decide_paths(&trigger.paths, event)
}

fn decide_paths(filter: &crate::workflow::GlobFilter, event: &EventContext) -> StartDecision {
    match &event.changed_paths {
        _ if !filter.is_given() => StartDecision::Start,
        None => StartDecision::NeedsPaths,
        Some(paths) if filter.passes_any(paths.iter().map(String::as_str)) => StartDecision::Start,
        Some(_) => StartDecision::Skip("no changed file passes its filter".to_owned()),
    }
}
