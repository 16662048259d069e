//! The platform's life: one tree of actors, the products started in order and ended in reverse.
//!
//! ```text
//! orrery ─┬─ search, chats     served on [search]'s address
//!         ├─ vms               on [vm_manager]'s
//!         ├─ runner            on [runner]'s, with the VM manager above
//!         └─ orchestrator      on its own addresses and its socket
//! ```
//! A signal ends the last product first: its edge, the requests under way, its actors; then the one before, which it
//! may have needed until then. A product that ends by itself takes the others along.

use std::future::Future;

use actix_rt::task::JoinHandle;
use anyhow::Context as _;
use config_core::{Diagnostic, Environment};
use edge_web::ServeOptions;
use program::life::{Stop, ignore_hangup};
use program::log::LogFormat;
use program::notify;
use supervision::{Root, RootHandle, SupervisorSpec, Verdict};
use tokio::sync::{mpsc, oneshot};

use crate::check::Plan;
use crate::products::{Agents, Machines, Runs, Search};
use crate::run_news::RunKeepers;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    plan: Plan,
    log_format: Option<LogFormat>,
    environment: &Environment,
) -> anyhow::Result<()> {
    let look = program::log::look(log_format, environment)?;
    let serve = program::limits::serve_options(environment)?;
    program::log::init(&plan.log_level, look, environment);
    program::limits::warn_of_few_files();
    for warning in plan.warnings.iter().map(Diagnostic::headline) {
        tracing::warn!(event = "config.warning", "{warning}");
    }
    plan.folders()
        .iter()
        .for_each(|folder| program::data::tighten(folder));
    let parts = Parts::take(plan, &serve, environment)?;
    actix_rt::System::new().block_on(live(parts))
}

/// What was configured, with its folders and addresses taken.
struct Parts {
    search: Option<Search>,
    machines: Option<Machines>,
    runs: Option<Runs>,
    agents: Option<Agents>,
}

impl Parts {
    fn take(plan: Plan, serve: &ServeOptions, environment: &Environment) -> anyhow::Result<Self> {
        let search = plan
            .search
            .map(|plan| Search::take(plan, serve))
            .transpose();
        let search = search.context("the search server cannot be started")?;
        let machines = plan.vm_manager.as_ref();
        let machines = machines
            .map(|config| Machines::take(config, serve))
            .transpose();
        let machines = machines.context("the VM manager cannot be started")?;
        let runs = plan
            .runner
            .map(|config| Runs::take(config, machines.as_ref(), serve, environment));
        let runs = runs
            .transpose()
            .context("the workflow runner cannot be started")?;
        let agents = plan.orchestrator;
        let agents = agents.map(|plan| Agents::take(plan, serve)).transpose();
        Ok(Self {
            search,
            machines,
            runs,
            agents: agents.context("the orchestrator cannot be started")?,
        })
    }

    async fn start(self, tree: &RootHandle, edges: &mut Edges) -> anyhow::Result<()> {
        let keepers = RunKeepers {
            runner: self.runs.as_ref().map(Runs::view),
            agents: self.agents.as_ref().map(Agents::shared),
        };
        if let Some(search) = self.search {
            let feed = keepers.feed(self.runs.as_ref().and_then(Runs::token));
            search.start(feed.clone(), tree, edges).await?;
            if let Some(feed) = feed {
                edges.beside(keepers.tell(feed));
            }
        }
        if let Some(machines) = self.machines {
            machines.start(tree, edges).await?;
        }
        if let Some(runs) = self.runs {
            runs.start(tree, edges).await?;
        }
        match self.agents {
            Some(agents) => agents.start(tree, edges).await?,
            None => ignore_hangup(
                "no product here reads its settings again: they take effect with a restart",
            )?,
        }
        Ok(())
    }
}

async fn live(parts: Parts) -> anyhow::Result<()> {
    let signal = edge_web::shutdown_signal()?;
    let root = Root::start(SupervisorSpec::root("orrery"));
    let mut edges = Edges::new();
    let started = parts.start(&root.handle(), &mut edges).await;
    if started.is_ok() {
        tracing::info!(event = "platform.started", "the platform is up");
        notify::ready();
        notify::keep_alive(notify::supervisor_answers(&root.handle()));
        tokio::select! {
            name = signal => tracing::info!(event = "platform.stopping", signal = name),
            name = edges.first_end() => tracing::error!(event = "platform.product_ended", product = name),
        }
        notify::stopping();
    }
    let ended = edges.stop().await;
    root.handle().stop();
    let verdict = root.verdict().await;
    started?;
    ended?;
    if verdict != Verdict::Stopped {
        anyhow::bail!("the actors gave up: {verdict}");
    }
    tracing::info!(event = "platform.stopped");
    Ok(())
}

/// The products that serve, in the order of their start.
pub(crate) struct Edges {
    all: Vec<Edge>,
    /// What goes on for as long as all of them serve.
    beside: Vec<JoinHandle<()>>,
    tell_end: mpsc::UnboundedSender<&'static str>,
    ends: mpsc::UnboundedReceiver<&'static str>,
}

struct Edge {
    name: &'static str,
    stop: oneshot::Sender<()>,
    served: JoinHandle<anyhow::Result<()>>,
}

impl Edges {
    fn new() -> Self {
        let (tell_end, ends) = mpsc::unbounded_channel();
        Self {
            all: Vec::new(),
            beside: Vec::new(),
            tell_end,
            ends,
        }
    }

    /// Has a product serve until it is told to stop.
    pub(crate) fn add<F>(&mut self, name: &'static str, serve: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = anyhow::Result<()>> + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let serving = serve(stopped_by(stopped));
        let tell_end = self.tell_end.clone();
        let served = actix_rt::spawn(async move {
            let ended = serving.await;
            // Nobody listens any more while all of them are being ended.
            let _ = tell_end.send(name);
            ended
        });
        self.all.push(Edge { name, stop, served });
    }

    /// Has something go on until the first of them is told to stop.
    fn beside(&mut self, work: impl Future<Output = ()> + 'static) {
        self.beside.push(actix_rt::spawn(work));
    }

    /// Waits until one of them ends by itself.
    async fn first_end(&mut self) -> &'static str {
        match self.ends.recv().await {
            Some(name) => name,
            // This holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// Ends the last, then the one before, and so on; the first error is kept, and none stops the rest from ending.
    async fn stop(&mut self) -> anyhow::Result<()> {
        self.beside.drain(..).for_each(|work| work.abort());
        let mut worst = Ok(());
        while let Some(Edge { name, stop, served }) = self.all.pop() {
            // One that has ended already hears nothing.
            let _ = stop.send(());
            let ended = served.await.map_err(anyhow::Error::from);
            let ended = ended.and_then(|ended| ended).context(name);
            tracing::info!(event = "platform.product_stopped", product = name);
            if worst.is_ok() {
                worst = ended;
            }
        }
        worst
    }
}

fn stopped_by(stopped: oneshot::Receiver<()>) -> Stop {
    Box::pin(async move {
        // A platform that is gone wants nothing served either.
        let _ = stopped.await;
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn products_end_in_reverse_and_an_error_stops_none_of_them() {
        actix_rt::System::new().block_on(async {
            let ends = Rc::new(RefCell::new(Vec::new()));
            let mut edges = Edges::new();
            for name in ["first", "second", "third"] {
                let ends = Rc::clone(&ends);
                edges.add(name, move |stop| async move {
                    stop.await;
                    ends.borrow_mut().push(name);
                    anyhow::ensure!(name != "second", "the disk is full");
                    Ok(())
                });
            }
            let error = edges.stop().await.unwrap_err();
            assert_eq!(format!("{error:#}"), "second: the disk is full");
            assert_eq!(*ends.borrow(), ["third", "second", "first"]);
        });
    }

    #[test]
    fn a_product_that_ends_by_itself_is_heard_of() {
        actix_rt::System::new().block_on(async {
            let mut edges = Edges::new();
            edges.add("stays", |stop| async move {
                stop.await;
                Ok(())
            });
            edges.add("leaves", |_| async { Ok(()) });
            assert_eq!(edges.first_end().await, "leaves");
            edges.stop().await.unwrap();
        });
    }
}
