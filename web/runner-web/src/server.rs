//! A workflow runner as a whole: actors, edge, routes.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use actix_web::web;
use cluster_actors::replica::RoleControl;
use config_core::Secret;
use edge_web::guard::{ApiToken, HostPolicy, OriginPolicy, PublicPaths};
use edge_web::replica::{LeaderPassage, PassageOptions, ReplicaMetrics, SharedIntake, key_of};
use edge_web::{
    APPLICATION_PATHS, BodyLimits, EdgeConfig, EdgeServer, ForgeVerifier, HealthChecks, Metrics,
    PreparedServer, ServeOptions, SignIn, SignInAttempts, SignInSessions, SignedBodyConfig,
};
use forge_core::{ParseOptions, SecretBook};
use runner_actors::{
    HandOver, JobServices, RunCoordinator, RunnerIntake, RunnerService, RunnerView,
    SettingsReloader,
};
use store::SharedStore;
use supervision::{ChildRef, Root, RootHandle};
use tokio::sync::oneshot;

use crate::api;
use crate::job_services;
use crate::metrics::RunnerMetrics;
use crate::shared_intake;
use crate::shell::ShellGate;
use crate::state::RunnerState;

/// How a runner faces its callers.
#[derive(Debug, Clone)]
pub struct RunnerServerOptions {
    /// Secrets that webhooks are signed with.
    pub secrets: SecretBook,
    /// Limits of a webhook's body.
    pub body: BodyLimits,
    /// Further names the runner answers for (`Host`).
    pub hosts: Vec<String>,
    /// A token that everything but webhooks, health and the page's files needs; needed beyond the
    /// loopback address.
    pub token: Option<Secret<String>>,
    /// Worker threads and time limits of the HTTP side.
    pub serve: ServeOptions,
}

/// A runner that is started but does not listen yet.
pub struct RunnerServer {
    root: Root,
    state: web::Data<RunnerState>,
    metrics: Metrics,
    health: HealthChecks,
    options: RunnerServerOptions,
    job_services: JobServices,
    services_listener: Option<TcpListener>,
    replica: Option<(SharedStore, RoleControl)>,
}

impl RunnerServer {
    /// Starts the actors of a process that leads others: it decides what they took in, and answers
    /// what they pass on. Needs a running actix system.
    #[must_use]
    pub fn start_leading(
        service: RunnerService,
        options: RunnerServerOptions,
        (shared, control): (&SharedStore, &RoleControl),
    ) -> Self {
        let follower = shared_intake::supervisor(shared, &service.intake);
        let mut server = Self::prepare(service, options).with(follower).start();
        server.metrics.register(ReplicaMetrics::new(control));
        server.replica = Some((shared.clone(), control.clone()));
        server
    }

    /// The supervisors, and the server once they are started.
    pub fn prepare(
        service: RunnerService,
        options: RunnerServerOptions,
    ) -> PreparedServer<impl FnOnce(Root) -> Self> {
        let RunnerService {
            supervisor,
            coordinator,
            intake,
            view,
            job_services,
            hand_over,
            settings,
        } = service;
        let asked = (coordinator, hand_over, settings);
        let actors = (asked, intake, view, job_services);
        PreparedServer::new(vec![supervisor], |root| Self::new(root, actors, options))
    }

    fn new(
        root: Root,
        ((coordinator, hand_over, settings), intake, view, job_services): ServedActors,
        options: RunnerServerOptions,
    ) -> Self {
        let metrics = Metrics::new();
        metrics.register(RunnerMetrics(view.clone()));
        let store = view.clone();
        let health = HealthChecks::new()
            .check("coordinator", coordinator.condition())
            .check("store", move || match store.store_health().state {
                store::StoreState::Ready => Ok(()),
                state => Err(state.to_string()),
            });
        Self {
            root,
            state: web::Data::new(RunnerState {
                coordinator,
                hand_over,
                settings,
                intake,
                view,
                has_token: options.token.is_some(),
            }),
            metrics,
            health,
            options,
            job_services,
            services_listener: None,
            replica: None,
        }
    }

    /// Serves the machines of jobs on this listener as well, where there is one.
    #[must_use]
    pub fn services_on(mut self, listener: Option<TcpListener>) -> Self {
        self.services_listener = listener;
        self
    }

    /// To look at the actors, or to stop them.
    #[must_use]
    pub fn actors(&self) -> RootHandle {
        self.root.handle()
    }

    /// Who reads the settings again, where they can be.
    #[must_use]
    pub fn settings(&self) -> Option<ChildRef<SettingsReloader>> {
        self.state.settings.clone()
    }

    /// Serves on `listener` until `shutdown` resolves or the root supervisor gives up; then ends
    /// the actors.
    ///
    /// # Errors
    /// When the listener cannot be used, or when the root supervisor gave up.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let Self {
            root,
            state,
            metrics,
            health,
            options,
            job_services,
            services_listener,
            replica,
        } = self;
        let key_services = job_services.clone();
        // Jobs use them until the actors have ended.
        let services = services_listener
            .map(|listener| ServingServices::start(job_services, listener, &options.serve));
        let hosts = options.hosts.iter().map(String::as_str);
        let hosts = HostPolicy::new(listener.local_addr()?, hosts);
        let token = options.token.as_ref();
        let token = token.and_then(|token| ApiToken::new(token.expose()));
        let sign_in = token
            .clone()
            .map(|token| sign_in(token, state.view.public_url()));
        let edge = EdgeConfig {
            origins: OriginPolicy::default(),
            token,
            sign_in: sign_in.clone(),
            // A forge signs what it sends.
            public: PublicPaths::new([
                "/webhook",
                "/health",
                "/assets/*",
                "/favicon.ico",
                // Verifiers of identity tokens have no token of ours.
                "/.well-known/openid-configuration",
                "/.well-known/jwks",
                APPLICATION_PATHS,
            ]),
            signed: &["/webhook"],
            replicas: replica.as_ref().and_then(|(shared, _)| key_of(shared)),
            ..EdgeConfig::new(hosts, &metrics)
        };
        let verifier = ForgeVerifier::new(options.secrets.clone(), ParseOptions::default());
        let signed = SignedBodyConfig::new(verifier, options.body, &metrics);
        let handle = root.handle();
        let server = EdgeServer::new(edge, options.serve, (&metrics, health), move |metrics| {
            let routes = api::routes(metrics, sign_in.is_some());
            let routes = routes.session(sign_in.as_ref());
            match &sign_in {
                Some(sign_in) => sign_in.clone().routes(routes),
                None => routes,
            }
        });
        let coordinator = state.coordinator.clone();
        let server = match replica {
            Some((shared, control)) => {
                let passage = LeaderPassage::new(&control, PassageOptions::default());
                let view = state.view.clone();
                server
                    .services(move |config| {
                        let view = view.clone();
                        passage.add_before(config, &metrics, move || view.has_lost_store());
                    })
                    .data(web::Data::new(SharedIntake::new(&shared, &control)))
                    .data(web::Data::new(control))
            }
            None => server,
        };
        let served = server
            .data(signed)
            .data(state)
            .data(web::Data::new(key_services))
            .data(web::Data::new(ShellGate::default()))
            .data(web::Data::new(handle.tree().clone()))
            .serve_actors(listener, (root, &coordinator), shutdown, move || {
                handle.stop();
            })
            .await;
        drop(services);
        served
    }
}

/// What the server is put together from.
type ServedActors = (AskedActors, RunnerIntake, RunnerView, JobServices);

/// Those that are asked.
type AskedActors = (
    ChildRef<RunCoordinator>,
    ChildRef<HandOver>,
    Option<ChildRef<SettingsReloader>>,
);

/// The services of jobs while they are served: until this is dropped.
pub struct ServingServices {
    _stop: oneshot::Sender<()>,
}

impl ServingServices {
    /// Serves them on `listener`. Needs a running actix system.
    #[must_use]
    pub fn start(services: JobServices, listener: TcpListener, options: &ServeOptions) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let options = ServeOptions {
            // All connections are one manager's.
            max_connections_per_address: Some(options.max_connections),
            shutdown_timeout: Duration::from_secs(1),
            ..options.clone()
        };
        actix_rt::spawn(async move {
            let until = async move { drop(stopped.await) };
            let served = job_services::serve(services, listener, options, until).await;
            if let Err(error) = served {
                tracing::error!(event = "run.services_ended", %error, "the services of jobs are not served any more");
            }
        });
        Self { _stop: stop }
    }
}

/// How people sign in to see runs: links in commit statuses carry no token.
fn sign_in(token: ApiToken, public_url: Option<&url::Url>) -> SignIn {
    SignIn {
        token,
        cookie: "workflow-runner-session",
        asks_for: "the API token of this workflow runner (<code>WORKFLOW_RUNNER_API_TOKEN</code>)",
        style: "/assets/style.css",
        secure: public_url.is_some_and(|url| url.scheme() == "https"),
        attempts: SignInAttempts::default(),
        sessions: SignInSessions::default(),
    }
}
