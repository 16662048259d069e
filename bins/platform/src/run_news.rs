//! What the search server's `/ws` tells of runs: those of the workflow runner and of the
//! orchestrator, which live in this process.

use std::future::pending;
use std::time::Duration;

use edge_web::guard::ApiToken;
use orchestrator_actors::{OrchestratorView, RunQuery};
use runner_actors::{RunRecord, RunnerView};
use search_web::{RunFeed, RunGuards, RunNews};
use tokio::sync::watch;

/// The newest runs of each product that are told of.
const RUNS: usize = 100;

/// Changes are gathered for this long: reading the runs costs more than telling of them.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Who keeps runs.
#[derive(Clone, Default)]
pub(crate) struct RunSources {
    /// The workflow runner.
    pub(crate) runner: Option<RunnerView>,
    /// The orchestrator.
    pub(crate) agents: Option<OrchestratorView>,
}

impl RunSources {
    /// Where `/ws` hears of runs; nowhere without anybody who keeps some. Each product's own token
    /// opens its runs; `runner` is the runner's.
    pub(crate) fn feed(&self, runner: Option<ApiToken>) -> Option<RunFeed> {
        let any = self.runner.is_some() || self.agents.is_some();
        let agents = self.agents.clone().map(|agents| {
            ApiToken::following(move || {
                let config = agents.config();
                let token = config.listeners.admin_token.as_ref();
                token.map(|token| token.expose().clone())
            })
        });
        let runner = runner.map(|token| ("runner", token));
        let agents = agents.map(|token| ("orchestrator", token));
        any.then(|| RunFeed::new(RunGuards::from_iter(runner.into_iter().chain(agents))))
    }

    /// Publishes the runs whenever they change and somebody listens; for ever.
    pub(crate) async fn publish_changes(self, feed: RunFeed) {
        let mut runner = self.runner.as_ref().map(RunnerView::changes);
        let mut agents = self.agents.as_ref().map(OrchestratorView::journal_changes);
        loop {
            tokio::select! {
                () = feed.subscribed() => {}
                () = changed(&mut runner) => {}
                () = changed(&mut agents) => {}
            }
            if feed.is_heard() {
                actix_rt::time::sleep(DEBOUNCE).await;
                feed.publish(self.newest().await);
            }
        }
    }

    /// The newest runs of each. One whose store cannot be read shows none: its own health says why.
    async fn newest(&self) -> Vec<RunNews> {
        let mut news = Vec::new();
        if let Some(runner) = &self.runner {
            let runs = runner.runs(None, RUNS).await.unwrap_or_default();
            news.extend(runs.into_iter().map(of_runner));
        }
        if let Some(agents) = &self.agents {
            let query = RunQuery {
                limit: RUNS,
                ..RunQuery::default()
            };
            let runs = agents
                .runs(query)
                .await
                .map(|list| list.runs)
                .unwrap_or_default();
            news.extend(runs.into_iter().map(|run| RunNews {
                product: "orchestrator",
                id: run.id,
                name: Some(run.agent),
                repository: run.repository,
                state: run.state,
                ended: run.ended,
                reason: run.reason.or(run.hold),
            }));
        }
        news
    }
}

fn of_runner(run: RunRecord) -> RunNews {
    // The word it has everywhere in JSON.
    let state = serde_json::to_value(run.state).unwrap_or_default();
    RunNews {
        product: "runner",
        id: run.id,
        name: run.name,
        repository: run.repository,
        state: state.as_str().unwrap_or_default().to_owned(),
        ended: run.state.is_terminal(),
        reason: run.reason,
    }
}

/// The next change; for ever where there is nobody, or nobody any more.
async fn changed(news: &mut Option<watch::Receiver<u64>>) {
    let seen = match news {
        Some(news) => news.changed().await,
        None => pending().await,
    };
    if seen.is_err() {
        pending::<()>().await;
    }
}
