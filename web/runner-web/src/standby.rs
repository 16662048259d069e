//! A runner that stands by: it takes webhooks in, and passes everything else on to the leader.

use std::io;
use std::net::TcpListener;

use actix_web::guard::fn_guard;
use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse, Route, web};
use cluster_actors::replica::{AcquiredStore, RoleControl};
use edge_web::guard::{ApiToken, HostPolicy};
use edge_web::replica::{
    LeaderPassage, PassageOptions, ReplicaMetrics, SharedIntake, StandbyParts, actors,
    standby_health,
};
use edge_web::{
    EdgeConfig, EdgeServer, ForgeVerifier, Metrics, Problem, Routes, SignedBody, SignedBodyConfig,
    livez, metrics_text, readyz,
};
use forge_core::ParseOptions;
use store::SharedStore;
use tokio::sync::mpsc;

use crate::deliveries::{ignored, new_delivery};
use crate::server::RunnerServerOptions;
use crate::shared_intake::taken_in;

/// A standby that is started but does not listen yet.
pub struct StandbyRunner {
    parts: StandbyParts,
    shared: SharedStore,
    control: RoleControl,
    options: RunnerServerOptions,
}

impl StandbyRunner {
    /// Starts its actors; a store that they take is sent to `taken`. Needs a running actix system.
    #[must_use]
    pub fn start(
        shared: &SharedStore,
        control: &RoleControl,
        taken: mpsc::UnboundedSender<AcquiredStore>,
        options: RunnerServerOptions,
    ) -> Self {
        Self {
            parts: StandbyParts::start(shared, control, taken),
            shared: shared.clone(),
            control: control.clone(),
            options,
        }
    }

    /// Serves on `listener` until `shutdown` resolves; then ends the actors.
    ///
    /// # Errors
    /// When the listener cannot be used, or when the root supervisor gave up.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let Self {
            parts,
            shared,
            control,
            options,
        } = self;
        let metrics = Metrics::new();
        metrics.register(ReplicaMetrics::new(&control));
        let hosts = options.hosts.iter().map(String::as_str);
        let hosts = HostPolicy::new(listener.local_addr()?, hosts);
        // Who may do what is judged by the leader, but for what this process says of itself.
        let edge = EdgeConfig {
            signed: &["/webhook"],
            ..EdgeConfig::new(hosts, &metrics)
        };
        let verifier = ForgeVerifier::new(options.secrets, ParseOptions::default());
        let signed = SignedBodyConfig::new(verifier, options.body, &metrics);
        let passage = LeaderPassage::new(&control, PassageOptions::default());
        let token = options.token.as_ref();
        let token = token.and_then(|token| ApiToken::new(token.expose()));
        let server = EdgeServer::new(
            edge,
            options.serve,
            (&metrics, parts.health),
            move |metrics| routes(metrics, &passage, token.as_ref()),
        );
        let handle = parts.root.handle();
        server
            .data(signed)
            .data(web::Data::new(SharedIntake::new(&shared, &control)))
            .data(web::Data::new(control))
            .data(web::Data::new(handle.tree().clone()))
            .serve_actors(listener, (parts.root, &parts.watch), shutdown, move || {
                handle.stop();
            })
            .await
    }
}

fn routes(metrics: &Metrics, passage: &LeaderPassage, token: Option<&ApiToken>) -> Routes {
    let own = Routes::new(metrics)
        .post("/webhook", webhook)
        .get("/health", standby_health)
        .get("/livez", livez)
        .get("/readyz", readyz);
    // Sessions of browsers are the leader's: whoever shows no token gets its answer.
    let own = [
        ("/metrics", web::route().to(metrics_text)),
        ("/admin/actors", web::route().to(actors)),
    ]
    .into_iter()
    .fold(own, |own, (path, route)| {
        let own = own.route(Method::GET, path, require_token(route, token));
        passage.add_behind(own, path)
    });
    passage.add(own)
}

/// For those who show the token, if there is one.
fn require_token(route: Route, token: Option<&ApiToken>) -> Route {
    let Some(token) = token.cloned() else {
        return route;
    };
    route.guard(fn_guard(move |context| {
        let shown = context.head().headers().get(header::AUTHORIZATION);
        shown.is_some_and(|shown| token.matches(shown.as_bytes()))
    }))
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
    if let Err(reason) = new_delivery(delivery, raw.clone())? {
        return Ok(ignored(id, reason));
    }
    let taken = intake.take_in(&request, (&id, digest, &raw)).await?;
    Ok(taken_in(id, taken))
}
