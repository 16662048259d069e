//! The event of a run as it is stored: enough to run it after a restart.

use forge_core::{CommitSha, Forge, ForgeEvent, GitRef, OtherEvent, RepoName};
use http_clients::forge::ForgePull;
use runner_core::event::{EventContext, EventKind, NoStartReason};
use runner_core::expr::ExprValue;
use serde::{Deserialize, Serialize};

mod forge;

/// What a working tree's pull request goes into.
const DEFAULT_BRANCH: &str = "main";

/// An event that starts runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    kind: EventKind,
    action: Option<String>,
    /// The reference.
    pub reference: String,
    /// The commit.
    pub sha: String,
    /// `owner/repo`.
    pub repository: String,
    /// Who caused it.
    pub actor: String,
    base_branch: Option<String>,
    head_branch: Option<String>,
    /// From elsewhere: no secrets, and the base's workflow files.
    pub untrusted: bool,
    changed_paths: Option<Vec<String>>,
    message: Option<String>,
    inputs: Vec<(String, String)>,
    /// JSON, as it came; stored in a row of its own.
    #[serde(skip)]
    pub(crate) payload: String,
    /// Where the repository is cloned from, as sent.
    pub clone_url: String,
    /// Its page, as sent.
    pub html_url: Option<String>,
    /// Its default branch, as sent.
    pub default_branch: Option<String>,
    /// The commit before a push; the base's head of a pull request.
    pub before: Option<String>,
    /// Number of the pull request.
    pub number: Option<u64>,
    /// The commit that a pull request was merged onto for its run, where that is what is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merged_onto: Option<String>,
    /// The kind of forge that sent it, as far as its headers say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forge: Option<Forge>,
}

impl StoredEvent {
    /// The event of a verified webhook, without its body: that is stored as it came, and read when
    /// the run is.
    ///
    /// # Errors
    /// When it starts no run.
    pub fn of_webhook(event: &ForgeEvent) -> Result<Self, NoStartReason> {
        let context = EventContext::of_webhook(event, &serde_json::Value::Null)?;
        let base_of = |pull: &forge_core::PullRequest| {
            let base = pull.base.as_ref().and_then(|base| base.sha.as_ref());
            base.map(ToString::to_string)
        };
        let (repository, before, number) = match event {
            ForgeEvent::Push(push) => {
                let before = match &push.change {
                    forge_core::RefChange::Updated { before, .. } => Some(before.to_string()),
                    _ => None,
                };
                (&push.repository, before, None)
            }
            ForgeEvent::PullRequest(event) => {
                let number = event.number.get();
                (
                    &event.repository,
                    base_of(&event.pull_request),
                    Some(number),
                )
            }
            ForgeEvent::IssueComment(event) => (&event.repository, None, None),
            ForgeEvent::Other(OtherEvent {
                activity: Some(activity),
                ..
            }) => {
                let pull = activity.pull_request.as_ref();
                let base = pull.and_then(|(_, pull)| base_of(pull));
                let number = pull.map(|(number, _)| number.get());
                (&activity.repository, base, number)
            }
            _ => return Err(NoStartReason::Other("unknown".to_owned())),
        };
        Ok(Self {
            clone_url: repository.clone_url.clone().unwrap_or_default(),
            html_url: repository.html_url.clone(),
            default_branch: repository.default_branch.as_ref().map(ToString::to_string),
            before,
            number,
            ..Self::of_context(context)
        })
    }

    /// What the default branch must ask for, before anything is fetched for such an event: its
    /// name, of less usual actions of a pull request `pull_request.closed`. Nothing where the
    /// commit itself says what it wants.
    pub(crate) fn trigger(&self) -> Option<String> {
        match (self.kind, self.action()) {
            (EventKind::Push, _)
            | (
                EventKind::PullRequest,
                None | Some("opened" | "reopened" | "synchronize" | "synchronized"),
            ) => None,
            (EventKind::PullRequest, Some(action)) => Some(format!("pull_request.{action}")),
            (kind, _) => Some(kind.as_str().to_owned()),
        }
    }

    /// With the commit that its reference means now; `reference` where none was named.
    pub(crate) fn at_head(mut self, reference: Option<String>, head: &CommitSha) -> Self {
        if let Some(reference) = reference {
            self.reference = reference;
        }
        self.sha = head.to_string();
        self
    }

    fn of_context(context: EventContext) -> Self {
        Self {
            kind: context.kind,
            action: context.action,
            reference: context.reference,
            sha: context.sha,
            repository: context.repository,
            actor: context.actor,
            base_branch: context.base_branch,
            head_branch: context.head_branch,
            untrusted: context.untrusted,
            changed_paths: context.changed_paths,
            message: context.message,
            inputs: context.inputs,
            payload: String::new(),
            clone_url: String::new(),
            html_url: None,
            default_branch: None,
            before: None,
            number: None,
            merged_onto: None,
            forge: None,
        }
    }

    /// An event made here: a working tree on a laptop; `page` is its repository's at a forge.
    #[must_use]
    pub fn local(
        kind: EventKind,
        repository: &RepoName,
        reference: &GitRef,
        sha: &str,
        clone_url: &str,
        page: Option<&str>,
    ) -> Self {
        let is_pull = matches!(kind, EventKind::PullRequest | EventKind::PullRequestTarget);
        let actor = "local";
        let (owner, name) = repository.as_ref().split_once('/').unwrap_or_default();
        let of_repository = serde_json::json!({
            "full_name": repository.as_ref(), "name": name, "owner": { "login": owner },
            "html_url": page, "clone_url": clone_url, "default_branch": DEFAULT_BRANCH,
        });
        let head = reference.to_string();
        let branch = head.strip_prefix("refs/heads/").unwrap_or(&head);
        let sender = serde_json::json!({ "login": actor });
        let other = local_payload(kind, branch, sha, (&of_repository, &sender));
        let action = other
            .as_ref()
            .and_then(|payload| payload.get("action")?.as_str());
        let action = action.map(str::to_owned);
        let payload = if let Some(other) = other {
            other
        } else if is_pull {
            serde_json::json!({
                "action": "opened", "number": 1, "repository": of_repository, "sender": sender,
                "pull_request": {
                    "number": 1, "title": branch, "body": null, "state": "open", "draft": false, "merged": false,
                    "user": sender, "labels": [],
                    "head": { "ref": branch, "sha": sha, "repo": of_repository },
                    "base": { "ref": DEFAULT_BRANCH, "repo": of_repository },
                },
            })
        } else {
            serde_json::json!({
                "ref": head, "after": sha, "created": false, "deleted": false, "forced": false,
                "head_commit": { "id": sha }, "pusher": { "name": actor },
                "repository": of_repository, "sender": sender,
            })
        };
        let made = Self::without_webhook(kind, repository.as_ref(), &head, sha, clone_url);
        Self {
            action: action.or_else(|| is_pull.then(|| "opened".to_owned())),
            actor: actor.to_owned(),
            base_branch: is_pull.then(|| DEFAULT_BRANCH.to_owned()),
            payload: payload.to_string(),
            ..made
        }
        .with_page(page.map(str::to_owned), Some(DEFAULT_BRANCH.to_owned()))
    }

    /// An event that no webhook brought.
    pub(crate) fn without_webhook(
        kind: EventKind,
        repository: &str,
        reference: &str,
        sha: &str,
        clone_url: &str,
    ) -> Self {
        Self {
            kind,
            action: None,
            reference: reference.to_owned(),
            sha: sha.to_owned(),
            repository: repository.to_owned(),
            actor: String::new(),
            base_branch: None,
            head_branch: reference.strip_prefix("refs/heads/").map(str::to_owned),
            untrusted: false,
            changed_paths: None,
            message: None,
            inputs: Vec::new(),
            payload: "{}".to_owned(),
            clone_url: clone_url.to_owned(),
            html_url: None,
            default_branch: None,
            before: None,
            number: None,
            merged_onto: None,
            forge: None,
        }
    }

    /// With the repository's page and default branch.
    pub(crate) fn with_page(mut self, page: Option<String>, branch: Option<String>) -> Self {
        self.html_url = page;
        self.default_branch = branch;
        self
    }

    /// Started by the clock.
    pub(crate) fn scheduled(mut self, cron: &str) -> Self {
        self.payload = serde_json::json!({
            "schedule": cron, "repository": self.own_repository(),
        })
        .to_string();
        self
    }

    /// What a forge's event says of its repository, as far as it is known.
    fn own_repository(&self) -> serde_json::Value {
        let (owner, name) = self.repository.split_once('/').unwrap_or_default();
        serde_json::json!({
            "full_name": self.repository, "name": name, "owner": { "login": owner, "name": owner },
            "html_url": self.html_url, "clone_url": self.clone_url,
            "default_branch": self.default_branch,
        })
    }

    /// With what a file says of it: `github.event`, and what of it decides which workflows start.
    #[must_use]
    pub fn with_payload(mut self, payload: &serde_json::Value) -> Self {
        let text = |path: &str| {
            let found = payload.pointer(path)?.as_str()?;
            Some(found.to_owned())
        };
        self.action = text("/action").or(self.action);
        self.base_branch = text("/pull_request/base/ref").or(self.base_branch);
        self.head_branch = text("/pull_request/head/ref").or(self.head_branch);
        self.actor = text("/sender/login").unwrap_or(self.actor);
        self.payload = payload.to_string();
        self
    }

    /// Started by what became of a run on that branch, whom somebody had started.
    pub(crate) fn following(
        mut self,
        action: &str,
        (actor, branch): (&str, Option<&str>),
        payload: &serde_json::Value,
    ) -> Self {
        self.action = Some(action.to_owned());
        self.actor = actor.to_owned();
        self.head_branch = branch.map(str::to_owned);
        self.payload = payload.to_string();
        self
    }

    /// The branch whose commit it runs, of a pull request that of its head.
    pub(crate) fn head_branch(&self) -> Option<&str> {
        let own = self.head_branch.as_deref();
        own.or_else(|| self.reference.strip_prefix("refs/heads/"))
    }

    /// Started by somebody, with these inputs.
    #[must_use]
    pub fn dispatched(mut self, actor: &str, inputs: Vec<(String, String)>) -> Self {
        let all: serde_json::Map<_, _> = inputs
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        self.payload = serde_json::json!({
            "inputs": all, "ref": self.reference, "repository": self.own_repository(),
            "sender": { "login": actor },
        })
        .to_string();
        self.actor = actor.to_owned();
        self.inputs = inputs;
        self
    }

    /// The branch that a pull request goes into.
    pub(crate) fn base_branch(&self) -> Option<&str> {
        self.base_branch.as_deref()
    }

    /// Which event it is.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// As the workflow language wants it.
    #[must_use]
    pub fn context(&self) -> EventContext {
        EventContext {
            kind: self.kind,
            action: self.action.clone(),
            reference: self.reference.clone(),
            sha: self.sha.clone(),
            repository: self.repository.clone(),
            actor: self.actor.clone(),
            base_branch: self.base_branch.clone(),
            head_branch: self.head_branch.clone(),
            untrusted: self.untrusted,
            changed_paths: self.changed_paths.clone(),
            message: self.message.clone(),
            inputs: self.inputs.clone(),
            payload: serde_json::from_str::<serde_json::Value>(&self.payload)
                .map_or(ExprValue::Null, |payload| ExprValue::from(&payload)),
        }
    }

    /// The branches and tags whose moves it may tell of, by their whole names; none where it tells
    /// of something else.
    pub(crate) fn moved_references(&self) -> Vec<String> {
        match (self.kind, self.action()) {
            (EventKind::Push, _) => vec![self.reference.clone()],
            (
                EventKind::PullRequest | EventKind::PullRequestTarget,
                Some("synchronize" | "synchronized"),
            ) => {
                let branch = self.head_branch.iter();
                branch
                    .map(|branch| format!("refs/heads/{branch}"))
                    .collect()
            }
            // Its own reference is the default branch, where it is gone.
            (EventKind::Create | EventKind::Delete, _) => {
                let payload = serde_json::from_str::<serde_json::Value>(&self.payload);
                let payload = payload.unwrap_or_default();
                let text = |name: &str| payload[name].as_str().unwrap_or_default();
                let (name, is_tag) = (text("ref"), text("ref_type") == "tag");
                let kind = if is_tag { "tags" } else { "heads" };
                match name.starts_with("refs/") {
                    true => vec![name.to_owned()],
                    false => vec![format!("refs/{kind}/{name}")],
                }
            }
            _ => Vec::new(),
        }
    }

    /// `push`, `pull_request`, ….
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.as_str()
    }

    /// `opened`, …, of pull requests.
    #[must_use]
    pub fn action(&self) -> Option<&str> {
        self.action.as_deref()
    }

    /// A push that no webhook told of: a branch that is elsewhere than it was.
    pub(crate) fn missed_push(mut self, before: Option<&str>) -> Self {
        let zeros = "0".repeat(self.sha.len());
        self.before = before.map(str::to_owned);
        self.payload = serde_json::json!({
            "ref": self.reference, "before": before.unwrap_or(&zeros), "after": self.sha,
            "created": before.is_none(), "deleted": false,
            "repository": { "full_name": self.repository, "clone_url": self.clone_url, "html_url": self.html_url,
                "default_branch": self.default_branch },
        })
        .to_string();
        self
    }

    /// A pull request as the forge has it now: one that no webhook told of.
    pub(crate) fn missed_pull(mut self, pull: &ForgePull, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self.number = Some(pull.number.get());
        self.actor = pull
            .author
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let branch =
            |name: &str, sha: &CommitSha| serde_json::json!({ "ref": name, "sha": sha.as_str() });
        let mut head = branch(&pull.head_branch, &pull.head_sha);
        // One that is gone is null, as forges send it.
        let fork = pull.head_repo.as_ref();
        head["repo"] = fork
            .map(|name| serde_json::json!({ "full_name": name.as_str() }))
            .into();
        self.payload = serde_json::json!({
            "action": action, "number": pull.number.get(),
            "pull_request": { "number": pull.number.get(), "title": pull.title, "body": pull.body, "html_url": pull.html_url,
                "state": "open", "draft": pull.is_draft, "merged": false, "user": { "login": self.actor },
                "head": head, "base": branch(pull.base_branch.as_str(), &pull.base_sha) },
            "repository": { "full_name": self.repository, "clone_url": self.clone_url, "html_url": self.html_url,
                "default_branch": self.default_branch },
            "sender": { "login": self.actor },
        })
        .to_string();
        self.of_pull(pull)
    }

    /// With the head and base that the forge has for the pull request.
    pub(crate) fn of_pull(mut self, pull: &ForgePull) -> Self {
        self.sha = pull.head_sha.to_string();
        self.before = Some(pull.base_sha.to_string());
        self.base_branch = Some(pull.base_branch.to_string());
        self.head_branch = Some(pull.head_branch.clone());
        self.untrusted = pull.is_fork;
        self
    }

    /// With the head that a reference of the repository has, compared with its default branch:
    /// where it comes from is not known, so it is treated as a stranger's.
    pub(crate) fn of_reference(mut self, head: &CommitSha, base: (String, CommitSha)) -> Self {
        self.sha = head.to_string();
        self.before = Some(base.1.to_string());
        self.base_branch = Some(base.0);
        self.untrusted = true;
        self
    }
}

/// What a forge would send of an event that is neither a push nor a pull request; nothing of these.
fn local_payload(
    kind: EventKind,
    branch: &str,
    sha: &str,
    (repository, sender): (&serde_json::Value, &serde_json::Value),
) -> Option<serde_json::Value> {
    let issue = serde_json::json!({
        "number": 1, "title": branch, "body": null, "state": "open", "user": sender, "labels": [],
    });
    let mut payload = match kind {
        EventKind::Schedule => serde_json::json!({ "schedule": "" }),
        EventKind::IssueComment => serde_json::json!({
            "action": "created", "issue": issue,
            "comment": { "id": 1, "body": "", "user": sender, "author_association": "OWNER" },
        }),
        EventKind::Issues => serde_json::json!({ "action": "opened", "issue": issue }),
        EventKind::Release => serde_json::json!({
            "action": "published",
            "release": {
                "tag_name": branch, "name": branch, "body": null, "draft": false,
                "prerelease": false, "author": sender, "target_commitish": DEFAULT_BRANCH,
            },
        }),
        EventKind::RepositoryDispatch => {
            serde_json::json!({ "action": "local", "branch": branch, "client_payload": {} })
        }
        EventKind::MergeGroup => serde_json::json!({
            "action": "checks_requested",
            "merge_group": {
                "head_sha": sha, "head_ref": format!("refs/heads/{branch}"),
                "base_ref": format!("refs/heads/{DEFAULT_BRANCH}"),
            },
        }),
        _ => return None,
    };
    payload["repository"] = repository.clone();
    payload["sender"] = sender.clone();
    Some(payload)
}
