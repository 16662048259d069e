//! The products as parts of the platform: each takes its folder and its addresses first, so that
//! nothing is started when something is missing, then its actors are started below the common tree
//! and its edge serves.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use config_core::{Environment, Secret};
use daemon::lifecycle::on_hangup;
use edge_web::guard::ApiToken;
use edge_web::{BodyLimits, ServeOptions};
use orchestrator_actors::{OrchestratorService, OrchestratorView};
use orchestrator_web::{
    OrchestratorListeners, OrchestratorServer, boot as agents, reload_on_hangup,
};
use runner_actors::{RunnerService, RunnerView, VmHostSettings};
use runner_web::config::{RunnerConfig, services_at};
use runner_web::{RunnerServer, boot as runs};
use search_actors::SearchSettings;
use search_formats_engine::ReaderProgram;
use search_web::{FrontDoor, RunFeed, SearchServer, boot as search};
use store::{DirectoryLock, Store};
use supervision::RootHandle;
use vm_actors::VmService;
use vm_core::token::{Claims, TokenScope};
use vm_engine::image::agent;
use vm_web::boot::{self as machines, DataDirectory};
use vm_web::config::ManagerConfig;
use vm_web::{ManagerServerOptions, VmServer};

use crate::check::{AgentPlan, PlanFile, SearchPlan, runner_store_options};
use crate::front::{ProductRoute, reached};
use crate::reread::{self, RunnerFile};
use crate::servers::ProductServers;

/// The runner's token for the VM manager is made anew at each start; no process lives longer.
const TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 365 * 86_400);

fn print_address(product: &'static str, address: SocketAddr) {
    tracing::info!(
        event = "platform.listening",
        product,
        url = %format!("http://{address}/"),
        "a product of the platform listens"
    );
}

/// The search server, ready to be started.
pub(crate) struct SearchProduct {
    settings: SearchSettings,
    options: search_web::SearchServerOptions,
    listener: TcpListener,
    lock: DirectoryLock,
}

impl SearchProduct {
    pub(crate) fn take(plan: SearchPlan, serve: &ServeOptions) -> anyhow::Result<Self> {
        let SearchPlan {
            settings,
            configuration,
        } = plan;
        let roles = configuration.view().roles();
        let lock = search::lock_data(&settings, "platform").context("data_dir")?;
        let address = search::socket_address(&settings.listen.value)?;
        let listener = edge_web::bind(address, "listen in [search]")?;
        let mut options = search::server_options(&settings);
        options.serve = serve.clone();
        options.configuration_token = search::configuration_token(&settings)?.map(|one| one.token);
        options.configuration = Some(configuration);
        options.state = Some(search::open_state(&settings, "platform")?);
        options.readers = std::env::current_exe()
            .ok()
            .map(ReaderProgram::running_program);
        Ok(Self {
            settings: search::search_settings(&settings, roles),
            options,
            listener,
            lock,
        })
    }

    /// Whether everybody who reaches it may use it: it wants no token, and only this machine
    /// reaches it.
    pub(crate) fn is_open(&self) -> bool {
        let address = self.listener.local_addr();
        let is_local = address.is_ok_and(|it| it.ip().to_canonical().is_loopback());
        is_local && self.options.token.is_none()
    }

    /// `front`: the door to the other products. `runs`: what `/ws` tells of those that the other
    /// products keep.
    pub(crate) async fn start(
        self,
        runs: Option<RunFeed>,
        front: FrontDoor,
        tree: &RootHandle,
        servers: &mut ProductServers,
    ) -> anyhow::Result<()> {
        let Self {
            settings,
            mut options,
            listener,
            lock,
        } = self;
        options.runs = runs;
        options.front = Some(front);
        print_address("search", listener.local_addr()?);
        let server = SearchServer::prepare(&settings, options)
            .start_below(tree)
            .await?;
        servers.add("search", |stop| async move {
            server.serve(listener, stop).await?;
            drop(lock);
            Ok(())
        });
        Ok(())
    }
}

/// The VM manager, ready to be started. What VMs are made of is prepared on a thread of its own: it
/// may take minutes at the first start, and holds nothing up.
pub(crate) struct MachinesProduct {
    service: VmService,
    options: ManagerServerOptions,
    listener: TcpListener,
}

impl MachinesProduct {
    pub(crate) fn take(config: &ManagerConfig, serve: &ServeOptions) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("where this program is")?;
        let agent = agent::find(config.agent.as_deref(), &own).with_context(|| {
            format!(
                "there is no static agent for VMs beside {}: install vm-guest there, or name it with `agent` in [vm_manager]",
                own.display()
            )
        })?;
        let listener = edge_web::bind(config.listen.value, "listen in [vm_manager]")?;
        let folders = DataDirectory::open(&config.data.value)?;
        let options = ManagerServerOptions {
            key: folders.token_key()?,
            hosts: config.hosts.clone(),
            serve: serve.clone(),
        };
        Ok(Self {
            service: machines::service(config, &folders, &agent)?,
            options,
            listener,
        })
    }

    /// Its address, and a token of `subject` that is in no file and no argument.
    fn access(
        &self,
        subject: &str,
        scope: TokenScope,
    ) -> anyhow::Result<(SocketAddr, Secret<String>)> {
        let claims = Claims::new(subject, &[scope], vm_actors::wall(), TOKEN_LIFETIME);
        let token = Secret::new(self.options.key.sign(&claims));
        Ok((self.listener.local_addr()?, token))
    }

    /// It as a host of the runner's jobs.
    fn own_host(&self) -> anyhow::Result<VmHostSettings> {
        let (address, token) = self.access("runner", TokenScope::Write)?;
        let url = format!("http://{address}/").parse()?;
        Ok(VmHostSettings::single(url, Some(token)))
    }

    /// It behind the front door. Who has signed in sees and ends the VMs of all.
    pub(crate) fn mount(&self) -> anyhow::Result<ProductRoute> {
        let (address, token) = self.access("front-door", TokenScope::Admin)?;
        Ok(ProductRoute {
            product: "VM manager",
            part: "vm-manager",
            prefix: "/vm-manager",
            address: reached(address),
            token: Some(token),
        })
    }

    pub(crate) async fn start(
        self,
        tree: &RootHandle,
        servers: &mut ProductServers,
    ) -> anyhow::Result<()> {
        let Self {
            service,
            options,
            listener,
        } = self;
        print_address("vm_manager", listener.local_addr()?);
        let store = service.store.clone();
        let server = VmServer::prepare(service, options)
            .start_below(tree)
            .await?;
        servers.add("vm_manager", |stop| async move {
            server.serve(listener, stop).await?;
            store.close();
            Ok(())
        });
        Ok(())
    }
}

/// Where the runner's services for its jobs listen, which the manager is told to let them reach.
pub(crate) fn services_for(machines: &mut ManagerConfig) -> anyhow::Result<TcpListener> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = edge_web::bind(any_port, "the services of jobs")?;
    let own = listener.local_addr()?.to_string().parse()?;
    machines.settings.services.0.push(own);
    Ok(listener)
}

/// The workflow runner, ready to be started.
pub(crate) struct RunsProduct {
    service: RunnerService,
    options: runner_web::RunnerServerOptions,
    listener: TcpListener,
    services: Option<TcpListener>,
    store: Store,
}

impl RunsProduct {
    /// `machines`: the platform's own VM manager; `VMM_API_URL` names another one.
    pub(crate) fn take(
        (mut config, file): (RunnerConfig, PlanFile),
        machines: Option<&MachinesProduct>,
        services: Option<TcpListener>,
        serve: &ServeOptions,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let machines = machines.filter(|_| environment.text("VMM_API_URL").is_none());
        let own = machines.map(MachinesProduct::own_host).transpose()?;
        let file = Arc::new(RunnerFile::new(
            file,
            environment,
            own,
            &config.runner.vm_hosts,
        ));
        config.runner.vm_hosts = file.vm_hosts();
        let services = match (services, config.services_listen) {
            (Some(listener), _) => Some(listener),
            (None, Some(address)) => Some(edge_web::bind(address, "services_listen in [runner]")?),
            (None, None) => None,
        };
        if let Some(listener) = &services {
            config.runner.services = Some(services_at(listener.local_addr()?));
        }
        let options = runner_store_options();
        let store = Store::open_in(&config.runner.data, config.store.as_ref(), &options)?;
        let listener = edge_web::bind(config.listen, "listen in [runner], or PORT and HOST")?;
        let bound = listener.local_addr()?;
        runs::link_to(&mut config, bound);
        runs::warn(&config);
        let token = runs::token(&config, bound, || uuid::Uuid::new_v4().to_string());
        let options = runner_web::RunnerServerOptions {
            secrets: config.secrets,
            body: BodyLimits::default(),
            hosts: config.hosts,
            token,
            serve: serve.clone(),
        };
        Ok(Self {
            service: RunnerService::new(config.runner, store.clone())?.reading(file.source()),
            options,
            listener,
            services,
            store,
        })
    }

    /// What can be read of its runs.
    pub(crate) fn view(&self) -> RunnerView {
        self.service.view.clone()
    }

    /// The token of its API, which opens its runs elsewhere too.
    pub(crate) fn token(&self) -> Option<ApiToken> {
        let token = self.options.token.as_ref();
        token.and_then(|token| ApiToken::new(token.expose()))
    }

    /// It behind the front door.
    pub(crate) fn mount(&self) -> anyhow::Result<ProductRoute> {
        Ok(ProductRoute {
            product: "workflow runner",
            part: "runner",
            prefix: "/runner",
            address: reached(self.listener.local_addr()?),
            token: self.options.token.clone(),
        })
    }

    pub(crate) async fn start(
        self,
        tree: &RootHandle,
        servers: &mut ProductServers,
    ) -> anyhow::Result<()> {
        let Self {
            service,
            options,
            listener,
            services,
            store,
        } = self;
        print_address("runner", listener.local_addr()?);
        let server = RunnerServer::prepare(service, options)
            .start_below(tree)
            .await?;
        let server = server.services_on(services);
        if let Some(reloader) = server.settings() {
            on_hangup(move || reread::reload(reloader.clone()))?;
        }
        servers.add("runner", |stop| async move {
            let stop = daemon::store::stop_or_taken_over(stop, &store);
            server.serve(listener, stop).await?;
            daemon::store::close(&store)
        });
        Ok(())
    }
}

/// The orchestrator, ready to be started.
pub(crate) struct AgentsProduct {
    service: OrchestratorService,
    listening: OrchestratorListeners,
}

impl AgentsProduct {
    pub(crate) fn take(plan: AgentPlan, serve: &ServeOptions) -> anyhow::Result<Self> {
        let AgentPlan {
            path,
            checked,
            environment,
        } = plan;
        let (service, mut listening) = agents::open(checked, &path, environment, "platform")?;
        listening.serve = serve.clone();
        Ok(Self { service, listening })
    }

    /// Its operations behind the front door: on a listener of their own, for they may have only a
    /// socket, with a token that is in no file and no argument.
    pub(crate) fn mount(&mut self) -> anyhow::Result<ProductRoute> {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = edge_web::bind(any_port, "the front door")?;
        let address = listener.local_addr()?;
        let half = || uuid::Uuid::new_v4().simple().to_string();
        let token = Secret::new(format!("{}{}", half(), half()));
        let wanted = ApiToken::new(token.expose()).context("a token of random digits")?;
        self.listening.front = Some((listener, wanted));
        Ok(ProductRoute {
            product: "orchestrator",
            part: "orchestrator",
            prefix: "/orchestrator",
            address,
            token: Some(token),
        })
    }

    /// Reads the runs.
    pub(crate) fn view(&self) -> OrchestratorView {
        self.service.view.clone()
    }

    pub(crate) async fn start(
        self,
        tree: &RootHandle,
        servers: &mut ProductServers,
    ) -> anyhow::Result<()> {
        let Self { service, listening } = self;
        print_address("orchestrator", listening.receiver.local_addr()?);
        if let Some(admin) = &listening.admin {
            print_address("orchestrator's operations", admin.local_addr()?);
        }
        let store = service.store.clone();
        let server = OrchestratorServer::prepare(service)
            .start_below(tree)
            .await?;
        server.ready().await;
        reload_on_hangup(server.operator_api().clone(), || {
            tracing::info!(
                event = "platform.reloaded",
                "the orchestrator's configuration was read again"
            );
        })?;
        servers.add("orchestrator", |stop| async move {
            let stop = daemon::store::stop_or_taken_over(stop, &store);
            server.serve(listening, stop).await?;
            daemon::store::close(&store)
        });
        Ok(())
    }
}
