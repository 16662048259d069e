//! One orchestrator: the actors, its two sides, and all of it brought to an end together.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{App, web};
use edge_web::guard::HostPolicy;
use edge_web::{
    BodyLimits, Edge, EdgeConfig, ForgeVerifier, Health, Metrics, ServeOptions, SignedBodyConfig,
    serve,
};
use forge_core::ParseOptions;
use orchestrator_actors::{Desk, Dispatcher, OrchestratorService, Shared};
use orchestrator_core::config::Config;
use supervision::{ChildRef, Root, RootHandle, StartChildError, SupervisorSpec};

use crate::bridge::Bridge;
use crate::metrics::OrchestratorMetrics;
use crate::receiver;
use crate::run_page;
use crate::socket::Bound;
use crate::state::WebState;

/// Why an orchestrator cannot be started or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The socket of the admin bridge cannot be made.
    #[error("cannot listen on {}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The tree it was to be a part of takes no more, or has ended.
    #[error(transparent)]
    Tree(#[from] StartChildError),
    /// A listener failed, or the actors gave up.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where an orchestrator listens; bound by the program, so that nothing is started when an address is taken.
#[derive(Debug)]
pub struct Listening {
    /// The receiver.
    pub receiver: TcpListener,
    /// The admin bridge on loopback.
    pub admin: Option<TcpListener>,
    /// The admin bridge's socket.
    pub socket: Option<Bound>,
    /// How connections are treated.
    pub serve: ServeOptions,
}

/// An orchestrator that is started but does not listen yet.
pub struct OrchestratorServer {
    root: Root,
    service: Parts,
    verifier: ForgeVerifier,
    metrics: Metrics,
    health: Health,
}

/// What is kept of the service.
struct Parts {
    shared: Shared,
    state: web::Data<WebState>,
    dispatcher: ChildRef<Dispatcher>,
}

impl OrchestratorServer {
    /// Starts the actors below a root supervisor of their own. Needs a running actix system.
    #[must_use]
    pub fn start(shared: Shared) -> Self {
        let (parts, server) = Self::parts(shared);
        server(Root::own("orrery", parts))
    }

    /// Starts the actors below a tree that others have as well; this server's end stops its own only.
    ///
    /// # Errors
    /// When the tree takes no more.
    pub async fn start_below(tree: &RootHandle, shared: Shared) -> Result<Self, ServerError> {
        let (parts, server) = Self::parts(shared);
        Ok(server(Root::below(tree, parts).await?))
    }

    /// The supervisors, and the server once they are started.
    fn parts(shared: Shared) -> (Vec<SupervisorSpec>, impl FnOnce(Root) -> Self) {
        let mut service = OrchestratorService::new(shared);
        let supervisor = std::mem::replace(&mut service.supervisor, SupervisorSpec::new("taken"));
        let server = move |root| Self::of(root, &service);
        (vec![supervisor], server)
    }

    fn of(root: Root, service: &OrchestratorService) -> Self {
        let shared = service.shared.clone();
        let metrics = Metrics::new();
        let health = health(&shared, service);
        let (intake, desk) = (service.intake.clone(), service.desk.clone());
        let dispatcher = service.dispatcher.clone();
        let state = WebState {
            intake,
            desk,
            shared: shared.clone(),
            tree: root.handle().tree().clone(),
            metrics: OrchestratorMetrics::new(&metrics),
        };
        Self {
            root,
            service: Parts {
                shared: service.shared.clone(),
                state: web::Data::new(state),
                dispatcher,
            },
            verifier: ForgeVerifier::following(
                move || Arc::clone(&shared.config().secrets),
                ParseOptions::default(),
            ),
            metrics,
            health,
        }
    }

    /// To look at the actors, or to stop them.
    #[must_use]
    pub fn actors(&self) -> RootHandle {
        self.root.handle()
    }

    /// Waits until every actor that a request needs has started.
    pub async fn ready(&self) {
        self.service.state.intake.ready().await;
        self.service.state.desk.ready().await;
        self.service.dispatcher.ready().await;
    }

    /// Who answers operators.
    #[must_use]
    pub fn desk(&self) -> &ChildRef<Desk> {
        &self.service.state.desk
    }

    /// The tick, for tests.
    #[must_use]
    pub fn dispatcher(&self) -> &ChildRef<Dispatcher> {
        &self.service.dispatcher
    }

    /// Serves until `shutdown` resolves or the root supervisor gives up; then ends the requests under way, the
    /// runs, and at last the actors.
    ///
    /// # Errors
    /// When a listener cannot be used, or when the root supervisor gave up.
    pub async fn serve(
        self,
        listening: Listening,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            root,
            service,
            verifier,
            metrics,
            health,
        } = self;
        let config = service.shared.config();
        let (actors, ended) = root.until(shutdown);
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let health = web::Data::new(health);
        let bridge = Bridge {
            state: service.state.clone(),
            metrics: metrics.clone(),
            health: health.clone(),
        };
        let options = listening.serve;
        let admin = bridge.serve(
            listening.admin,
            listening.socket,
            options.clone(),
            stopped.clone(),
        );
        let admin = actix_rt::spawn(admin);
        let ended = async move {
            ended.await;
            let _ = stop.send(true);
        };
        let receiving = serve_receiver(
            (listening.receiver, options),
            &config,
            verifier,
            metrics,
            health,
            service.state,
            ended,
        );
        let received = receiving.await;
        let bridged = admin.await.map_err(io::Error::other)?;
        let verdict = actors.end().await;
        received?;
        bridged?;
        Ok(verdict.map_err(io::Error::other)?)
    }
}

fn health(shared: &Shared, service: &OrchestratorService) -> Health {
    Health::new()
        .check("intake", service.intake.condition())
        .check("dispatcher", service.dispatcher.condition())
        .check("store", shared.store().condition())
}

async fn serve_receiver(
    (listener, options): (TcpListener, ServeOptions),
    config: &Config,
    verifier: ForgeVerifier,
    metrics: Metrics,
    health: web::Data<Health>,
    state: web::Data<WebState>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let limits = BodyLimits {
        max_bytes: config.webhook.max_body_bytes,
        deadline: Duration::from_secs(10),
    };
    let signed = SignedBodyConfig::new(verifier, limits, &metrics);
    let names = config.listeners.hosts.iter().map(String::as_str);
    let hosts = HostPolicy::new(listener.local_addr()?, names);
    let edge = Edge::new(EdgeConfig::new(hosts, &metrics));
    let sign_in = run_page::sign_in(&state.shared);
    let factory = move || {
        let routes = run_page::add(receiver::routes(&metrics), &sign_in);
        App::new()
            .wrap(edge.clone())
            .app_data(signed.clone())
            .app_data(state.clone())
            .app_data(health.clone())
            .app_data(web::Data::new(metrics.clone()))
            .configure(|config| routes.configure(config))
    };
    serve(listener, factory, options, shutdown).await
}
