//! Startup and shutdown: one tree of actors, the products started in order and ended in reverse.
//!
//! ```text
//! orrery ─┬─ search, chats     served on [search]'s address
//!         ├─ vms               on [vm_manager]'s
//!         ├─ runner            on [runner]'s, with the VM manager above
//!         └─ orchestrator      on its own addresses and its socket
//! ```
//! A signal ends the last product first: its server, the requests under way, its actors; then the
//! one before, which it may have needed until then. A product that ends by itself takes the others
//! along.

use anyhow::Context as _;
use config_core::{Diagnostic, Environment};
use daemon::lifecycle::ignore_hangup;
use daemon::log::LogFormat;
use daemon::{first_screen, notify};
use edge_web::ServeOptions;
use edge_web::guard::ApiToken;
use supervision::{Root, RootHandle, SupervisorSpec, TreeExit};

use crate::check::PlatformPlan;
use crate::front::{self, platform_token};
use crate::products::{AgentsProduct, MachinesProduct, RunsProduct, SearchProduct, services_for};
use crate::run_news::RunSources;
use crate::servers::ProductServers;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    plan: PlatformPlan,
    log_format: Option<LogFormat>,
    environment: &Environment,
) -> anyhow::Result<()> {
    let log_output = daemon::log::output(log_format, environment)?;
    let serve = daemon::limits::serve_options(environment)?;
    let (data, level) = (plan.data(), &plan.log_level);
    first_screen::start_log("platform", data, level, log_output, environment);
    daemon::limits::warn_of_few_files();
    for warning in plan.warnings.iter().map(Diagnostic::headline) {
        tracing::warn!(event = "config.warning", "{warning}");
    }
    plan.folders()
        .iter()
        .for_each(|folder| daemon::data::tighten(folder));
    let rows = plan.first_rows();
    let products = Products::take(plan, &serve, environment)?;
    actix_rt::System::new().block_on(run_products(products, &rows))
}

/// What was configured, with its folders and addresses taken.
struct Products {
    /// What people sign in with at the search server's address.
    token: Option<ApiToken>,
    search: Option<SearchProduct>,
    machines: Option<MachinesProduct>,
    runs: Option<RunsProduct>,
    agents: Option<AgentsProduct>,
}

impl Products {
    fn take(
        plan: PlatformPlan,
        serve: &ServeOptions,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let token = plan.search.as_ref().map(|_| {
            let token = platform_token(plan.token.as_ref(), &plan.data)?;
            ApiToken::new(token.expose()).context("PLATFORM_TOKEN is empty")
        });
        let token = token.transpose()?;
        let search = plan
            .search
            .map(|plan| SearchProduct::take(plan, serve))
            .transpose();
        let search = search.context("the search server cannot be started")?;
        let mut plan_of_machines = plan.vm_manager;
        // Both are of this process: the machines of jobs reach the services of the runner.
        let own = environment.text("VMM_API_URL").is_none() && plan.runner.is_some();
        let services = plan_of_machines.as_mut().filter(|_| own);
        let services = services.map(services_for).transpose()?;
        let machines = plan_of_machines.as_ref();
        let machines = machines
            .map(|config| MachinesProduct::take(config, serve))
            .transpose();
        let machines = machines.context("the VM manager cannot be started")?;
        let runs = plan.runner.map(|config| {
            let read = (config, plan.file);
            RunsProduct::take(read, machines.as_ref(), services, serve, environment)
        });
        let runs = runs
            .transpose()
            .context("the workflow runner cannot be started")?;
        let agents = plan.orchestrator;
        let agents = agents
            .map(|plan| AgentsProduct::take(plan, serve))
            .transpose();
        Ok(Self {
            token,
            search,
            machines,
            runs,
            agents: agents.context("the orchestrator cannot be started")?,
        })
    }

    async fn start(
        mut self,
        tree: &RootHandle,
        servers: &mut ProductServers,
    ) -> anyhow::Result<()> {
        let keepers = RunSources {
            runner: self.runs.as_ref().map(RunsProduct::view),
            agents: self.agents.as_ref().map(AgentsProduct::view),
        };
        if let (Some(search), Some(token)) = (self.search, self.token) {
            let mut mounts = Vec::new();
            if let Some(runs) = &self.runs {
                mounts.push(runs.mount()?);
            }
            if let Some(agents) = &mut self.agents {
                mounts.push(agents.mount()?);
            }
            if let Some(machines) = &self.machines {
                mounts.push(machines.mount()?);
            }
            let door = front::door(mounts, token, search.is_open());
            let feed = keepers.feed(self.runs.as_ref().and_then(RunsProduct::token));
            search.start(feed.clone(), door, tree, servers).await?;
            if let Some(feed) = feed {
                servers.run_beside(keepers.publish_changes(feed));
            }
        }
        if let Some(machines) = self.machines {
            machines.start(tree, servers).await?;
        }
        if self.runs.is_none() && self.agents.is_none() {
            ignore_hangup(
                "no product here reads its settings again: they take effect with a restart",
            )?;
        }
        if let Some(runs) = self.runs {
            runs.start(tree, servers).await?;
        }
        if let Some(agents) = self.agents {
            agents.start(tree, servers).await?;
        }
        Ok(())
    }
}

async fn run_products(products: Products, rows: &[(&str, String)]) -> anyhow::Result<()> {
    let signal = edge_web::shutdown_signal()?;
    let root = Root::start(SupervisorSpec::root("orrery"));
    let mut servers = ProductServers::new();
    let started = Box::pin(products.start(&root.handle(), &mut servers)).await;
    if started.is_ok() {
        tracing::info!(event = "platform.started", "the platform is up");
        first_screen::show("platform", env!("CARGO_PKG_VERSION"), rows);
        first_screen::line("ready", "Ctrl-C ends all products.");
        notify::ready();
        notify::keep_alive(notify::supervisor_answers(&root.handle()));
        tokio::select! {
            name = signal => tracing::info!(event = "platform.stopping", signal = name),
            name = servers.first_end() => tracing::error!(event = "platform.product_ended", product = name),
        }
        first_screen::line("stopping", "the products end one after the other");
        notify::stopping();
    }
    let ended = servers.stop().await;
    root.handle().stop();
    let verdict = root.verdict().await;
    started?;
    ended?;
    if verdict != TreeExit::Stopped {
        anyhow::bail!("the actors gave up: {verdict}");
    }
    tracing::info!(event = "platform.stopped");
    Ok(())
}
