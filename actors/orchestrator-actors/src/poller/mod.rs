//! The catch-up poller: asks the forge what was missed while nobody listened.
//!
//! ```text
//! Dispatcher --PollProject--> Poller ──comments since the cursor, open pull requests──▶ forge
//!                               └──AdmitFound──▶ Intake   (the same door as a webhook's; known ones are duplicates)
//! Dispatcher --CheckAuthor--> Poller ──may the author write?──▶ forge, then the run's row
//! ```

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_core::{
    Comment, CommentAction, Event, Issue, IssueCommentEvent, IssueState, ProjectId, PullRequest,
    PullRequestAction, PullRequestBase, PullRequestEvent, PullRequestHead, Repository,
};
use jiff::Timestamp;
use orchestrator_core::config::{Config, Project};
use orchestrator_core::run::Subject;
use outbound::forge::{ForgeClient, ForgeComment, ForgeError, ForgePull};
use outbound::http::{HttpClient, HttpOptions};
use supervision::ChildRef;

use crate::author::{self, Asking};
use crate::dispatcher::Dispatcher;
use crate::intake::Intake;
use crate::ledger;
use crate::messages::{AdmitFound, CheckAuthor, PollProject, Reconcile};
use crate::shared::Shared;

/// Comments are read again for this long before the cursor: forges' clocks and ours differ.
const OVERLAP: u64 = 60_000;

/// The actor.
pub struct Poller {
    shared: Shared,
    intake: ChildRef<Intake>,
    dispatcher: ChildRef<Dispatcher>,
    http: Option<HttpClient>,
    /// The configuration whose tokens' accounts are known.
    asked_who: Option<Arc<Config>>,
    /// Runs whose author the forge is being asked about.
    asking: Asking,
}

impl Poller {
    /// A poller that hands what it finds to `intake`.
    pub fn new(shared: Shared, intake: ChildRef<Intake>, dispatcher: ChildRef<Dispatcher>) -> Self {
        Self {
            shared,
            intake,
            dispatcher,
            http: None,
            asked_who: None,
            asking: Asking::default(),
        }
    }
}

impl Actor for Poller {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.http = Some(HttpClient::new(HttpOptions {
            deadline: Duration::from_secs(20),
            ..HttpOptions::default()
        }));
    }
}

impl Handler<PollProject> for Poller {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, PollProject(project): PollProject, _: &mut Context<Self>) -> Self::Result {
        let (shared, intake) = (self.shared.clone(), self.intake.clone());
        let config = shared.config();
        let known = self.asked_who.replace(Arc::clone(&config));
        let first = known.is_none_or(|known| !Arc::ptr_eq(&known, &config));
        let http = self.http.clone().expect("made when the actor started");
        Box::pin(async move {
            let Some(client) = client(&config, http) else {
                return;
            };
            if first {
                ask_who(&shared, &config, &client).await;
            }
            let polling = Polling {
                shared: &shared,
                intake: &intake,
                client,
            };
            if let Err(error) = polling.project(&config, &project).await {
                tracing::warn!(
                    event = "forge.poll_failed", project = %project, error = %error,
                    "the forge could not be asked what was missed; the next poll will"
                );
            }
        })
    }
}

impl Handler<CheckAuthor> for Poller {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, CheckAuthor(run): CheckAuthor, _: &mut Context<Self>) -> Self::Result {
        let (shared, dispatcher) = (self.shared.clone(), self.dispatcher.clone());
        let (asking, http) = (self.asking.clone(), self.http.clone());
        Box::pin(async move {
            let client = http.and_then(|http| client(&shared.config(), http));
            let Some(client) = client.filter(|_| asking.lock().insert(run.clone())) else {
                return;
            };
            author::check(&shared, &client, &run).await;
            asking.lock().remove(&run);
            let _ = dispatcher.tell(Reconcile);
        })
    }
}

fn client(config: &Config, http: HttpClient) -> Option<ForgeClient> {
    let forge = config.forge.as_ref()?;
    Some(ForgeClient::new(
        http,
        forge.kind,
        forge.url.clone(),
        Some(forge.token.clone()),
    ))
}

/// The accounts behind the tokens: their comments start nothing.
async fn ask_who(shared: &Shared, config: &Config, client: &ForgeClient) {
    let tokens = config.agent_tokens.values().cloned();
    let clients =
        std::iter::once(client.clone()).chain(tokens.map(|token| client.with_token(token)));
    for client in clients {
        if let Ok(login) = client.whoami().await {
            shared.add_own_logins([login]);
        }
    }
}

struct Polling<'a> {
    shared: &'a Shared,
    intake: &'a ChildRef<Intake>,
    client: ForgeClient,
}

/// Why a poll did not get to its end.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("the intake does not answer: {0}")]
    Intake(#[from] supervision::AskError),
}

impl Polling<'_> {
    async fn project(&self, config: &Config, id: &ProjectId) -> Result<(), PollError> {
        let Some(project) = config.projects.get(id) else {
            return Ok(());
        };
        let (began, key) = (self.shared.now(), id.clone());
        let cursor = self
            .shared
            .store()
            .read(move |rows| ledger::cursor(rows, &key))
            .await?;
        if let Some(cursor) = cursor {
            self.comments(project, cursor.saturating_sub(OVERLAP))
                .await?;
        }
        let dispatched = config
            .pr_dispatch
            .as_ref()
            .is_some_and(|pr| pr.project == *id);
        if dispatched {
            self.pulls(project, cursor.is_none()).await?;
        }
        let key = id.clone();
        self.shared
            .write(move |book| ledger::set_cursor(book, &key, began))
            .await?;
        Ok(())
    }

    async fn comments(&self, project: &Project, since: u64) -> Result<(), PollError> {
        let millis = i64::try_from(since).unwrap_or(i64::MAX);
        let since = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        let found = self
            .client
            .comments_since(&project.repository, since)
            .await?;
        // Comments that are older were seen as they were; a change starts nothing.
        let new = found
            .items
            .into_iter()
            .filter(|comment| comment.created_at >= since);
        for comment in new {
            if let Some(event) = comment_event(project, comment) {
                self.admit(event).await?;
            }
        }
        Ok(())
    }

    /// Pull requests that are open now; at the very first poll they are only remembered. Open runs of others
    /// end.
    async fn pulls(&self, project: &Project, first: bool) -> Result<(), PollError> {
        let open = self.client.open_pulls(&project.repository).await?;
        if first {
            let heads: Vec<_> = open
                .items
                .iter()
                .map(|pull| (pull.number, pull.head_sha.clone()))
                .collect();
            let repository = project.repository.clone();
            self.shared
                .write(move |book| ledger::remember_heads(book, &repository, &heads))
                .await?;
            return Ok(());
        }
        let numbers: Vec<_> = open.items.iter().map(|pull| pull.number).collect();
        let complete = !open.more;
        for pull in open.items {
            self.admit(pull_event(project, pull, PullRequestAction::Opened))
                .await?;
        }
        if complete {
            self.closed(project, &numbers).await?;
        }
        Ok(())
    }

    async fn closed(
        &self,
        project: &Project,
        open: &[forge_core::PullRequestNumber],
    ) -> Result<(), PollError> {
        let runs = self
            .shared
            .store()
            .read(|rows| ledger::open_runs(rows))
            .await?;
        let mut gone: Vec<_> = runs
            .into_iter()
            .filter(|run| run.repository == project.repository)
            .filter_map(|run| match run.subject {
                Subject::PullRequest { number, .. } if !open.contains(&number) => Some(number),
                _ => None,
            })
            .collect();
        gone.sort();
        gone.dedup();
        for number in gone {
            let pull = self.client.pull(&project.repository, number).await?;
            if !pull.is_open {
                self.admit(pull_event(project, pull, PullRequestAction::Closed))
                    .await?;
            }
        }
        Ok(())
    }

    async fn admit(&self, event: Event) -> Result<(), PollError> {
        let limit = Duration::from_secs(30);
        self.intake
            .ask_within(AdmitFound(Box::new(event)), limit)
            .await??;
        Ok(())
    }
}

fn repository(project: &Project) -> Repository {
    Repository {
        name: project.repository.clone(),
        clone_url: None,
        html_url: None,
        default_branch: None,
    }
}

fn comment_event(project: &Project, comment: ForgeComment) -> Option<Event> {
    Some(Event::IssueComment(Box::new(IssueCommentEvent {
        action: CommentAction::Created,
        issue: Issue {
            number: comment.issue?,
            title: None,
            body: None,
            state: None,
            html_url: None,
            is_pull_request: comment.is_pull,
        },
        comment: Comment {
            id: comment.id,
            body: comment.body,
            author: comment.author?,
            created_at: Some(comment.created_at.to_string()),
            html_url: comment.html_url,
            author_association: None,
        },
        repository: repository(project),
        sender: None,
        by_hand: false,
    })))
}

fn pull_event(project: &Project, pull: ForgePull, action: PullRequestAction) -> Event {
    let state = if pull.is_open {
        IssueState::Open
    } else {
        IssueState::Closed
    };
    let branch = pull.head_branch.parse().ok();
    let head = branch.map(|branch| PullRequestHead {
        branch,
        sha: pull.head_sha,
        repository: pull.head_repo,
        clone_url: None,
    });
    Event::PullRequest(Box::new(PullRequestEvent {
        action,
        number: pull.number,
        pull_request: PullRequest {
            title: Some(pull.title),
            body: Some(pull.body),
            html_url: Some(pull.html_url),
            state: Some(state),
            draft: pull.is_draft,
            merged: pull.is_merged,
            author: pull.author,
            head,
            base: Some(PullRequestBase {
                branch: pull.base_branch,
                sha: Some(pull.base_sha),
            }),
        },
        repository: repository(project),
        sender: None,
    }))
}
