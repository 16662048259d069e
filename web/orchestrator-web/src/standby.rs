//! An orchestrator that stands by: it takes webhooks in, and passes everything else on to the
//! leader, what operators ask on socket and port of this machine among it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use cluster_actors::replica::{AcquiredStore, RoleControl};
use edge_web::guard::{ApiToken, HostPolicy};
use edge_web::replica::{
    LeaderPassage, PassageOptions, ReplicaMetrics, SharedIntake, StandbyParts, actors,
    standby_health,
};
use edge_web::{
    BodyLimits, EdgeConfig, EdgeServer, ForgeVerifier, HealthChecks, Metrics, Problem, Routes,
    SignedBody, SignedBodyConfig, livez, metrics_text, readyz,
};
use forge_core::ParseOptions;
use orchestrator_core::config::Config;
use store::SharedStore;
use supervision::ActorTree;
use tokio::sync::mpsc;

use crate::bridge::AdminBridge;
use crate::error::ServerError;
use crate::server::{OrchestratorListeners, PASSAGE_OF_OPERATORS};
use crate::shared_intake::{answer, reply_to};

/// The configuration as it is in force: a standby reads it again as a leader does.
pub type ConfigSource = Arc<dyn Fn() -> Arc<Config> + Send + Sync>;

/// A standby that is started but does not listen yet.
pub struct StandbyOrchestrator {
    parts: StandbyParts,
    shared: SharedStore,
    control: RoleControl,
    config: ConfigSource,
}

impl StandbyOrchestrator {
    /// Starts its actors; a store that they take is sent to `taken`. Needs a running actix system.
    #[must_use]
    pub fn start(
        shared: &SharedStore,
        control: &RoleControl,
        taken: mpsc::UnboundedSender<AcquiredStore>,
        config: ConfigSource,
    ) -> Self {
        Self {
            parts: StandbyParts::start(shared, control, taken),
            shared: shared.clone(),
            control: control.clone(),
            config,
        }
    }

    /// Serves until `shutdown` resolves; then ends the actors.
    ///
    /// # Errors
    /// When a listener cannot be used, or when the root supervisor gave up.
    pub async fn serve(
        self,
        listening: OrchestratorListeners,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Self {
            parts,
            shared,
            control,
            config,
        } = self;
        let metrics = Metrics::new();
        metrics.register(ReplicaMetrics::new(&control));
        let now = config();
        let tree = parts.root.handle().tree().clone();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let admin = bridge(&control, (&tree, &parts.health), &metrics, &config).serve(
            listening.admin,
            listening.socket,
            listening.front,
            listening.serve.clone(),
            stopped,
        );
        let admin = actix_web::rt::spawn(admin);
        let ended = async move {
            shutdown.await;
            let _ = stop.send(true);
        };
        let limits = BodyLimits {
            max_bytes: now.webhook.max_body_bytes,
            deadline: Duration::from_secs(10),
        };
        let verifier = ForgeVerifier::following(
            move || Arc::clone(&config().secrets),
            ParseOptions::default(),
        );
        let signed = SignedBodyConfig::new(verifier, limits, &metrics);
        let names = now.own_names();
        let hosts = HostPolicy::new(listening.receiver.local_addr()?, names);
        let passage = LeaderPassage::new(&control, PassageOptions::default());
        let server = EdgeServer::new(
            EdgeConfig {
                signed: &["/webhook"],
                ..EdgeConfig::new(hosts, &metrics)
            },
            listening.serve,
            (&metrics, parts.health),
            move |metrics| passage.add(own_routes(metrics).post("/webhook", webhook)),
        );
        let handle = parts.root.handle();
        let served = server
            .data(signed)
            .data(web::Data::new(SharedIntake::new(&shared, &control)))
            .data(web::Data::new(control))
            .data(web::Data::new(tree))
            .serve_actors(
                listening.receiver,
                (parts.root, &parts.watch),
                ended,
                move || handle.stop(),
            )
            .await;
        let bridged = admin.await.map_err(io::Error::other)?;
        served?;
        Ok(bridged?)
    }
}

/// What operators of this machine ask: the role of this process, and all else of the leader.
fn bridge(
    control: &RoleControl,
    (tree, health): (&ActorTree, &HealthChecks),
    metrics: &Metrics,
    config: &ConfigSource,
) -> AdminBridge {
    let passage = LeaderPassage::new(control, PASSAGE_OF_OPERATORS);
    let (of_routes, config) = (metrics.clone(), Arc::clone(config));
    let (control, tree) = (
        web::Data::new(control.clone()),
        web::Data::new(tree.clone()),
    );
    let health = web::Data::new(health.clone());
    AdminBridge {
        routes: Arc::new(move || {
            let own = own_routes(&of_routes)
                .get("/health", standby_health)
                .get("/metrics", metrics_text);
            passage.add(own.get("/admin/actors", actors))
        }),
        data: Arc::new(move |data| {
            data.app_data(control.clone()).app_data(tree.clone());
            data.app_data(health.clone());
        }),
        token: ApiToken::following(move || {
            let config = config();
            let token = config.listeners.admin_token.as_ref();
            token.map(|token| token.expose().clone())
        }),
        metrics: metrics.clone(),
    }
}

/// What a standby answers by itself.
fn own_routes(metrics: &Metrics) -> Routes {
    Routes::new(metrics)
        .get("/healthz", livez)
        .get("/livez", livez)
        .get("/readyz", readyz)
}

async fn webhook(
    request: HttpRequest,
    intake: web::Data<SharedIntake>,
    body: SignedBody<ForgeVerifier>,
) -> Result<HttpResponse, Problem> {
    let SignedBody(webhook) = body;
    let raw = webhook.body.clone();
    let delivery = webhook.into_delivery()?;
    let (id, digest) = (delivery.id.to_string(), delivery.body);
    let taken = intake.take_in(&request, (&id, digest, &raw)).await?;
    Ok(answer(&reply_to(&id, taken)))
}
