//! The catch-up poller: asks the forge what was missed while nobody listened.
//!
//! ```text
//! Dispatcher --PollProject--> Poller ──comments since the cursor, open pull requests──▶ forge
//!                               └──AdmitFound──▶ Intake   (the same entrance as a webhook's; known ones are duplicates)
//! Dispatcher --CheckAuthor--> Poller ──may the author write?──▶ forge, then the run's row
//! ```

mod comments;
mod pulls;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_actors::ForgePoster;
use forge_actors::messages::Wake;
use forge_core::{CommentId, Event, ProjectId, Repository};
use orchestrator_core::Millis;
use orchestrator_core::config::{Config, Project};
use outbound::forge::{ForgeClient, ForgeError};
use outbound::http::{HttpClient, HttpOptions};
use parking_lot::Mutex;
use supervision::ChildRef;

use crate::author::{self, Asking};
use crate::dispatcher::Dispatcher;
use crate::intake::Intake;
use crate::ledger;
use crate::messages::{AdmitFound, CheckAuthor, PollProject, Reconcile};
use crate::shared::Shared;

/// The actor.
pub struct Poller {
    shared: Shared,
    intake: ChildRef<Intake>,
    dispatcher: ChildRef<Dispatcher>,
    poster: ChildRef<ForgePoster>,
    http: Option<HttpClient>,
    /// The configuration whose tokens' accounts are known.
    asked_who: Option<Arc<Config>>,
    /// Runs whose author the forge is being asked about.
    asking: Asking,
    /// The polls of each project.
    polls: Arc<Mutex<BTreeMap<ProjectId, Arc<Polls>>>>,
}

/// The polls of one project: at most one is under way, and one waits for it.
#[derive(Debug, Default)]
struct Polls {
    is_one_waiting: AtomicBool,
    known: tokio::sync::Mutex<Known>,
}

/// What the last poll of a project has read; it saves writes, and nothing depends on it.
#[derive(Debug, Default)]
struct Known {
    /// Comments that were handed on.
    comments: BTreeSet<CommentId>,
}

impl Poller {
    /// A poller that hands what it finds to `intake`.
    pub fn new(
        shared: Shared,
        intake: ChildRef<Intake>,
        dispatcher: ChildRef<Dispatcher>,
        poster: ChildRef<ForgePoster>,
    ) -> Self {
        Self {
            shared,
            intake,
            dispatcher,
            poster,
            http: None,
            asked_who: None,
            asking: Asking::default(),
            polls: Arc::default(),
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
        let polls = Arc::clone(self.polls.lock().entry(project.clone()).or_default());
        Box::pin(async move {
            let Some(client) = client(&config, http) else {
                return;
            };
            // One that takes longer than its interval is not overtaken, and they do not pile up.
            if polls.is_one_waiting.swap(true, Ordering::AcqRel) {
                return;
            }
            let mut known = polls.known.lock().await;
            polls.is_one_waiting.store(false, Ordering::Release);
            if first {
                ask_who(&shared, &config, &client).await;
            }
            let polling = Polling {
                shared: &shared,
                intake: &intake,
                client,
            };
            if let Err(error) = polling.project(&config, &project, &mut known).await {
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
        let poster = self.poster.clone();
        let (asking, http) = (self.asking.clone(), self.http.clone());
        Box::pin(async move {
            let client = http.and_then(|http| client(&shared.config(), http));
            let Some(client) = client.filter(|_| asking.lock().insert(run.clone())) else {
                return;
            };
            author::check(&shared, &client, &run).await;
            asking.lock().remove(&run);
            // A refusal has its status and its answer in the outbox.
            let _ = poster.tell(Wake);
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
    async fn project(
        &self,
        config: &Config,
        id: &ProjectId,
        known: &mut Known,
    ) -> Result<(), PollError> {
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
            self.comments(project, cursor, known).await?;
        }
        let dispatched = config
            .pr_dispatch
            .as_ref()
            .is_some_and(|pr| pr.project == *id);
        if dispatched {
            self.pulls(project, cursor.is_none()).await?;
        }
        if cursor.is_none() {
            self.passed(project, began).await?;
        }
        Ok(())
    }

    /// Everything before this time was read and handed on.
    async fn passed(&self, project: &Project, at: Millis) -> Result<(), PollError> {
        let key = project.id.clone();
        let written = self
            .shared
            .write(move |book| ledger::advance_cursor(book, &key, at));
        Ok(written.await?)
    }

    /// Hands on what the forge said when it was asked at `asked_at`.
    async fn admit(&self, event: Event, asked_at: Millis) -> Result<(), PollError> {
        let limit = Duration::from_secs(30);
        let event = Box::new(event);
        self.intake
            .ask_within(AdmitFound { event, asked_at }, limit)
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
