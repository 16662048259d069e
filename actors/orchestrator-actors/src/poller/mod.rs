//! The catch-up poller: asks the forge what was missed while no webhook arrived.
//!
//! ```text
//! Dispatcher --PollProject--> Poller ──comments since the cursor, open pull requests──▶ forge
//!                               └──AdmitFound──▶ Intake   (as a webhook; known events are duplicates)
//! ```

mod comments;
mod project_poll;
mod pulls;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_core::{Login, ProjectId};
use http_clients::forge::ForgeClient;
use http_clients::http::HttpClient;
use orchestrator_core::config::Config;
use supervision::ChildRef;
use tokio::sync::watch;

use self::project_poll::{PollError, ProjectPoll, SeenComments};
use crate::accounts::{forge_client, http_client};
use crate::intake::Intake;
use crate::ledger::{self, Ledger};
use crate::messages::PollProject;

/// The actor.
pub struct Poller {
    ledger: Ledger,
    intake: ChildRef<Intake>,
    /// The accounts behind the tokens, which intake reads.
    token_logins: watch::Sender<Arc<BTreeSet<Login>>>,
    http: Option<HttpClient>,
    /// The configuration whose tokens' accounts are known.
    known_accounts_of: Option<Arc<Config>>,
    /// The polls of each project.
    polls: BTreeMap<ProjectId, Arc<PollGate>>,
}

/// The polls of one project: at most one is under way, and one waits for it.
#[derive(Debug, Default)]
struct PollGate {
    is_one_waiting: AtomicBool,
    seen: tokio::sync::Mutex<SeenComments>,
}

impl Poller {
    pub(crate) fn new(
        ledger: Ledger,
        intake: ChildRef<Intake>,
        token_logins: watch::Sender<Arc<BTreeSet<Login>>>,
    ) -> Self {
        Self {
            ledger,
            intake,
            token_logins,
            http: None,
            known_accounts_of: None,
            polls: BTreeMap::new(),
        }
    }
}

impl Actor for Poller {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.http = Some(http_client());
    }
}

impl Handler<PollProject> for Poller {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, PollProject(project): PollProject, _: &mut Context<Self>) -> Self::Result {
        let (ledger, intake) = (self.ledger.clone(), self.intake.clone());
        let config = ledger.config();
        let known = self.known_accounts_of.replace(Arc::clone(&config));
        let is_new_config = known.is_none_or(|known| !Arc::ptr_eq(&known, &config));
        let token_logins = self.token_logins.clone();
        let http = self.http.clone().expect("made when the actor started");
        let gate = Arc::clone(self.polls.entry(project.clone()).or_default());
        Box::pin(async move {
            let Some(client) = forge_client(&config, http) else {
                return;
            };
            // One that takes longer than its interval is not overtaken, and they do not pile up.
            if gate.is_one_waiting.swap(true, Ordering::AcqRel) {
                return;
            }
            let mut seen = gate.seen.lock().await;
            gate.is_one_waiting.store(false, Ordering::Release);
            if is_new_config {
                find_accounts(&token_logins, &config, &client).await;
            }
            let poll = ProjectPoll {
                ledger: &ledger,
                intake: &intake,
                client,
            };
            if let Err(error) = poll.run(&config, &project, &mut seen).await {
                tracing::warn!(
                    event = "forge.poll_failed", project = %project, error = %error,
                    "the forge could not be asked what was missed; the next poll will"
                );
            }
        })
    }
}

impl ProjectPoll<'_> {
    async fn run(
        &self,
        config: &Config,
        id: &ProjectId,
        seen: &mut SeenComments,
    ) -> Result<(), PollError> {
        let Some(project) = config.projects.get(id) else {
            return Ok(());
        };
        let (began, key) = (self.ledger.now(), id.clone());
        let cursor = self
            .ledger
            .read(move |rows| ledger::cursor(rows, &key))
            .await?;
        if let Some(cursor) = cursor {
            self.comments(project, cursor, seen).await?;
        }
        let dispatched = config
            .pr_dispatch
            .as_ref()
            .is_some_and(|pr| pr.project == *id);
        if dispatched {
            self.pulls(project, cursor.is_none()).await?;
        }
        if cursor.is_none() {
            self.advance(project, began).await?;
        }
        Ok(())
    }
}

/// Finds the accounts behind the tokens: their comments start nothing.
async fn find_accounts(
    token_logins: &watch::Sender<Arc<BTreeSet<Login>>>,
    config: &Config,
    client: &ForgeClient,
) {
    let tokens = config.agent_tokens.values().cloned();
    let clients =
        std::iter::once(client.clone()).chain(tokens.map(|token| client.with_token(token)));
    for client in clients {
        if let Ok(login) = client.whoami().await {
            token_logins.send_modify(|logins| {
                Arc::make_mut(logins).insert(login);
            });
        }
    }
}
