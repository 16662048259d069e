//! One orchestrator: the actors, its two sides, and all of it brought to an end together.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::guard::fn_guard;
use actix_web::web;
use cluster_actors::replica::RoleControl;
use edge_web::guard::{ApiToken, HostPolicy};
use edge_web::replica::{
    LeaderPassage, PassageOptions, PassageTimeouts, ReplicaMetrics, SharedIntake, key_of,
};
use edge_web::{
    BodyLimits, EdgeConfig, EdgeServer, ForgeVerifier, HealthChecks, Metrics, PreparedServer,
    REPLICA_KEY, ServeOptions, SignedBodyConfig,
};
use forge_core::ParseOptions;
use orchestrator_actors::{Dispatcher, OperatorApi, OrchestratorService};
use orchestrator_core::config::Config;
use store::SharedStore;
use supervision::{ChildRef, Root, RootHandle};

use crate::admin_routes;
use crate::bridge::AdminBridge;
use crate::error::ServerError;
use crate::metrics::OrchestratorMetrics;
use crate::receiver;
use crate::run_page;
use crate::shared_intake;
use crate::socket::AdminSocket;
use crate::state::WebState;

/// Where an orchestrator listens; bound by the program, so that nothing is started when an address
/// is taken.
#[derive(Debug)]
pub struct OrchestratorListeners {
    /// The receiver.
    pub receiver: TcpListener,
    /// The admin bridge on loopback.
    pub admin: Option<TcpListener>,
    /// The admin bridge's socket.
    pub socket: Option<AdminSocket>,
    /// The admin bridge for the platform's front door: a listener on loopback, and a token that
    /// only the door knows.
    pub front: Option<(TcpListener, ApiToken)>,
    /// How connections are treated.
    pub serve: ServeOptions,
}

impl OrchestratorListeners {
    /// The same addresses again, for another role of the process; without the front door.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn try_clone(&self) -> io::Result<Self> {
        let admin = self.admin.as_ref().map(TcpListener::try_clone);
        Ok(Self {
            receiver: self.receiver.try_clone()?,
            admin: admin.transpose()?,
            socket: self.socket.clone(),
            front: None,
            serve: self.serve.clone(),
        })
    }
}

/// Where operators of other processes find the admin bridge beside the receiver.
pub(crate) const PASSED_ON: &str = "/passed-on";

/// How what operators of this machine ask is passed on.
pub(crate) const PASSAGE_OF_OPERATORS: PassageOptions = PassageOptions {
    prefix: PASSED_ON,
    as_operator: true,
    timeouts: PassageTimeouts::DEFAULT,
};

/// An orchestrator that is started but does not listen yet.
pub struct OrchestratorServer {
    root: Root,
    state: web::Data<WebState>,
    dispatcher: ChildRef<Dispatcher>,
    verifier: ForgeVerifier,
    metrics: Metrics,
    health: HealthChecks,
    replica: Option<(SharedStore, RoleControl)>,
}

impl OrchestratorServer {
    /// Starts the actors of a process that leads others: it decides what they took in, and answers
    /// what they pass on. Needs a running actix system.
    #[must_use]
    pub fn start_leading(
        service: OrchestratorService,
        (shared, control): (&SharedStore, &RoleControl),
    ) -> Self {
        let follower = shared_intake::supervisor(shared, &service.intake);
        let mut server = Self::prepare(service).with(follower).start();
        server.metrics.register(ReplicaMetrics::new(control));
        server.replica = Some((shared.clone(), control.clone()));
        server
    }

    /// The supervisors, and the server once they are started.
    pub fn prepare(service: OrchestratorService) -> PreparedServer<impl FnOnce(Root) -> Self> {
        let OrchestratorService {
            supervisor,
            view,
            intake,
            dispatcher,
            operator_api,
            ..
        } = service;
        PreparedServer::new(vec![supervisor], move |root: Root| {
            let metrics = Metrics::new();
            let health = HealthChecks::new()
                .check("intake", intake.condition())
                .check("dispatcher", dispatcher.condition())
                .check("store", view.store_condition());
            let config = view.clone();
            let state = WebState {
                intake,
                operator_api,
                view,
                tree: root.handle().tree().clone(),
                metrics: OrchestratorMetrics::new(&metrics),
            };
            Self {
                root,
                state: web::Data::new(state),
                dispatcher,
                verifier: ForgeVerifier::following(
                    move || Arc::clone(&config.config().secrets),
                    ParseOptions::default(),
                ),
                metrics,
                health,
                replica: None,
            }
        })
    }

    /// To look at the actors, or to stop them.
    #[must_use]
    pub fn actors(&self) -> RootHandle {
        self.root.handle()
    }

    /// Waits until every actor that a request needs has started.
    pub async fn ready(&self) {
        self.state.intake.ready().await;
        self.state.operator_api.ready().await;
        self.dispatcher.ready().await;
    }

    /// The actor that answers operators.
    #[must_use]
    pub fn operator_api(&self) -> &ChildRef<OperatorApi> {
        &self.state.operator_api
    }

    /// Serves until `shutdown` resolves or the root supervisor gives up; then ends the requests
    /// under way, the runs, and at last the actors.
    ///
    /// # Errors
    /// When a listener cannot be used, or when the root supervisor gave up.
    pub async fn serve(
        self,
        listening: OrchestratorListeners,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            root,
            state,
            dispatcher: _,
            verifier,
            metrics,
            health,
            replica,
        } = self;
        let config = state.view.config();
        let (actors, ended) = root.watch_until(shutdown);
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let bridge = bridge(&state, &metrics, &health, replica.as_ref());
        let options = listening.serve;
        let admin = bridge.serve(
            listening.admin,
            listening.socket,
            listening.front,
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
            (state, replica),
            ended,
        );
        let received = receiving.await;
        let bridged = admin.await.map_err(io::Error::other)?;
        let verdict = actors.shut_down().await;
        received?;
        bridged?;
        Ok(verdict.map_err(io::Error::other)?)
    }
}

async fn serve_receiver(
    (listener, options): (TcpListener, ServeOptions),
    config: &Config,
    verifier: ForgeVerifier,
    metrics: Metrics,
    health: HealthChecks,
    (state, replica): (web::Data<WebState>, Option<(SharedStore, RoleControl)>),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let limits = BodyLimits {
        max_bytes: config.webhook.max_body_bytes,
        deadline: Duration::from_secs(10),
    };
    let signed = SignedBodyConfig::new(verifier, limits, &metrics);
    let names = config.own_names();
    let hosts = HostPolicy::new(listener.local_addr()?, names);
    let edge = EdgeConfig {
        signed: &["/webhook"],
        replicas: replica.as_ref().and_then(|(shared, _)| key_of(shared)),
        ..EdgeConfig::new(hosts, &metrics)
    };
    let sign_in = run_page::sign_in(&state.view);
    let server = EdgeServer::new(edge, options, (&metrics, health), move |metrics| {
        run_page::add(receiver::routes(metrics), &sign_in)
    });
    let server = match replica {
        Some((shared, control)) => {
            let passage = LeaderPassage::new(&control, PassageOptions::default());
            server
                .data(web::Data::new(SharedIntake::new(&shared, &control)))
                .data(web::Data::new(control))
                .services(passed_on_bridge(&shared, &metrics))
                .services(leaving(passage, &state, &metrics))
        }
        None => server,
    };
    server
        .data(signed)
        .data(state)
        .serve(listener, shutdown)
        .await
}

/// The admin bridge of these actors.
fn bridge(
    state: &web::Data<WebState>,
    metrics: &Metrics,
    health: &HealthChecks,
    replica: Option<&(SharedStore, RoleControl)>,
) -> AdminBridge {
    let (view, of_routes) = (state.view.clone(), metrics.clone());
    let (state, health) = (state.clone(), web::Data::new(health.clone()));
    let control = replica.map(|(_, control)| web::Data::new(control.clone()));
    let leaving = control.as_ref().map(|control| {
        let passage = LeaderPassage::new(control, PASSAGE_OF_OPERATORS);
        leaving(passage, &state, metrics)
    });
    AdminBridge {
        routes: Arc::new(move || admin_routes::routes(&of_routes)),
        data: Arc::new(move |config| {
            config.app_data(state.clone()).app_data(health.clone());
            if let Some(control) = &control {
                config.app_data(control.clone());
            }
            if let Some(leaving) = &leaving {
                leaving(config);
            }
        }),
        token: ApiToken::following(move || {
            let config = view.config();
            let token = config.listeners.admin_token.as_ref();
            token.map(|token| token.expose().clone())
        }),
        metrics: metrics.clone(),
    }
}

/// What a leader does not answer any more, once it has lost the store or hands over.
fn leaving(
    passage: LeaderPassage,
    state: &web::Data<WebState>,
    metrics: &Metrics,
) -> impl Fn(&mut web::ServiceConfig) + Send + Sync + use<> {
    let (state, metrics) = (state.clone(), metrics.clone());
    move |config| {
        let state = state.clone();
        passage.add_before(config, &metrics, move || state.view.has_lost_store());
    }
}

/// The admin bridge for operators of other processes, who judge by whom they are asked: below
/// [`PASSED_ON`], for those who show the key; to all others nothing is there.
fn passed_on_bridge(
    shared: &SharedStore,
    metrics: &Metrics,
) -> impl Fn(&mut web::ServiceConfig) + Send + Sync + use<> {
    let (key, metrics) = (key_of(shared), metrics.clone());
    move |config| {
        let key = key.clone();
        let has_key = fn_guard(move |context| {
            let shown = context.head().headers().get(REPLICA_KEY);
            shown
                .zip(key.as_ref())
                .is_some_and(|(shown, key)| key.is(shown.as_bytes()))
        });
        let routes = admin_routes::routes(&metrics);
        let scope = web::scope(PASSED_ON).guard(has_key);
        config.service(scope.configure(|config| routes.configure(config)));
    }
}
