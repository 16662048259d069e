//! A VM manager as a whole: actors, edge, routes.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use actix_web::{App, web};
use edge_web::guard::{HostPolicy, OriginPolicy};
use edge_web::{Edge, EdgeConfig, Health, Metrics, ServeOptions, serve};
use supervision::{ChildRef, Root, RootHandle, StartChildError, SupervisorSpec};
use vm_actors::images::HostState;
use vm_actors::{Desk, Shared, VmService};
use vm_core::token::TokenKey;

use crate::api;
use crate::metrics::VmMetrics;
use crate::state::VmState;

/// How a manager faces its callers.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The key that tokens are signed with.
    pub key: TokenKey,
    /// Further names the manager answers for (`Host`).
    pub hosts: Vec<String>,
    /// Worker threads and time limits of the HTTP side.
    pub serve: ServeOptions,
}

/// A VM manager that is started but does not listen yet.
pub struct VmServer {
    root: Root,
    state: web::Data<VmState>,
    metrics: Metrics,
    health: Health,
    options: ServerOptions,
}

impl VmServer {
    /// Starts the actors below a root supervisor of their own. Needs a running actix system.
    #[must_use]
    pub fn start(service: VmService, options: ServerOptions) -> Self {
        let (parts, server) = Self::parts(service, options);
        server(Root::own("orrery", parts))
    }

    /// Starts the actors below a tree that others have as well; this server's end stops its own only.
    ///
    /// # Errors
    /// When the tree takes no more, or has ended.
    pub async fn start_below(
        tree: &RootHandle,
        service: VmService,
        options: ServerOptions,
    ) -> Result<Self, StartChildError> {
        let (parts, server) = Self::parts(service, options);
        Ok(server(Root::below(tree, parts).await?))
    }

    /// The supervisors, and the server once they are started.
    fn parts(
        service: VmService,
        options: ServerOptions,
    ) -> (Vec<SupervisorSpec>, impl FnOnce(Root) -> Self) {
        let VmService {
            supervisor,
            desk,
            shared,
        } = service;
        (vec![supervisor], |root| {
            Self::of(root, desk, shared, options)
        })
    }

    fn of(root: Root, desk: ChildRef<Desk>, shared: Arc<Shared>, options: ServerOptions) -> Self {
        let metrics = Metrics::new();
        metrics.register(VmMetrics(Arc::clone(&shared)));
        let health = conditions(&shared, &desk);
        let state = web::Data::new(VmState {
            desk,
            shared,
            key: options.key.clone(),
        });
        Self {
            root,
            state,
            metrics,
            health,
            options,
        }
    }

    /// What the actors share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.state.shared
    }

    /// To look at the actors, or to stop them.
    #[must_use]
    pub fn actors(&self) -> RootHandle {
        self.root.handle()
    }

    /// Serves on `listener` until `shutdown` resolves or the root supervisor gives up; then ends
    /// all VMs and the actors, and with them the requests under way.
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
        } = self;
        let hosts = options.hosts.iter().map(String::as_str);
        let hosts = HostPolicy::new(listener.local_addr()?, hosts);
        let edge = Edge::new(EdgeConfig {
            origins: OriginPolicy::default(),
            // Tokens are checked by the routes: they say who calls, not only that one may.
            token: None,
            ..EdgeConfig::new(hosts, &metrics)
        });
        let handle = root.handle();
        let tree = web::Data::new(handle.tree().clone());
        let health = web::Data::new(health);
        let ready = state.desk.clone();
        let factory = move || {
            let routes = api::routes(&metrics);
            App::new()
                .wrap(edge.clone())
                .app_data(state.clone())
                .app_data(health.clone())
                .app_data(tree.clone())
                .app_data(web::Data::new(metrics.clone()))
                .configure(|config| routes.configure(config))
        };
        let (actors, ended) = root.until(shutdown);
        let ended = async move {
            ended.await;
            // At once, not after the requests: whoever follows a command would wait for its VM.
            handle.stop();
        };
        // What is not there by then is the business of `/readyz`.
        ready.ready_within(edge_web::START_PATIENCE).await;
        serve(listener, factory, options.serve, ended).await?;
        actors.end().await.map_err(io::Error::other)
    }
}

fn conditions(shared: &Arc<Shared>, desk: &ChildRef<Desk>) -> Health {
    let images = Arc::clone(&shared.images);
    Health::new()
        .check("desk", desk.condition())
        .check("machines", move || match images.host().state {
            HostState::Ready => Ok(()),
            HostState::Preparing(text) => Err(format!("being prepared: {text}")),
            HostState::Failed(text) => Err(text),
        })
        .check("store", shared.store.condition())
}

impl std::fmt::Debug for VmServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VmServer")
            .field("shared", &self.state.shared)
            .finish_non_exhaustive()
    }
}
