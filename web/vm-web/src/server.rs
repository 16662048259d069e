//! A VM manager as a whole: actors, edge, routes.

use std::future::Future;
use std::io;
use std::net::TcpListener;

use actix_web::web;
use edge_web::guard::{HostPolicy, OriginPolicy};
use edge_web::{EdgeConfig, EdgeServer, HealthChecks, Metrics, PreparedServer, ServeOptions};
use supervision::{ChildRef, Root, RootHandle};
use vm_actors::images::HostState;
use vm_actors::{VmManagerView, VmScheduler, VmService};
use vm_core::token::TokenKey;

use crate::api;
use crate::handlers::terminal::TerminalGate;
use crate::metrics::VmMetrics;
use crate::state::VmWebState;

/// How a manager faces its callers.
#[derive(Debug, Clone)]
pub struct ManagerServerOptions {
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
    state: web::Data<VmWebState>,
    metrics: Metrics,
    health: HealthChecks,
    options: ManagerServerOptions,
}

impl VmServer {
    /// The supervisors, and the server once they are started.
    pub fn prepare(
        service: VmService,
        options: ManagerServerOptions,
    ) -> PreparedServer<impl FnOnce(Root) -> Self> {
        let VmService {
            supervisor,
            scheduler,
            view,
            ..
        } = service;
        PreparedServer::new(vec![supervisor], |root| {
            Self::new(root, scheduler, view, options)
        })
    }

    fn new(
        root: Root,
        scheduler: ChildRef<VmScheduler>,
        view: VmManagerView,
        options: ManagerServerOptions,
    ) -> Self {
        let metrics = Metrics::new();
        metrics.register(VmMetrics(view.clone()));
        let health = conditions(&view, &scheduler);
        let state = web::Data::new(VmWebState { scheduler, view });
        Self {
            root,
            state,
            metrics,
            health,
            options,
        }
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
        let edge = EdgeConfig {
            origins: OriginPolicy::default(),
            // Tokens are checked by the routes: they say who calls, not only that one may.
            token: None,
            ..EdgeConfig::new(hosts, &metrics)
        };
        let handle = root.handle();
        let scheduler = state.scheduler.clone();
        let server = EdgeServer::new(edge, options.serve, (&metrics, health), move |metrics| {
            api::routes(metrics).session(None)
        });
        server
            .data(state)
            .data(web::Data::new(options.key))
            .data(web::Data::new(TerminalGate::default()))
            .data(web::Data::new(handle.tree().clone()))
            // At once, not after the requests: whoever follows a command would wait for its VM.
            .serve_actors(listener, (root, &scheduler), shutdown, move || {
                handle.stop();
            })
            .await
    }
}

fn conditions(view: &VmManagerView, scheduler: &ChildRef<VmScheduler>) -> HealthChecks {
    let host = view.clone();
    HealthChecks::new()
        .check("scheduler", scheduler.condition())
        .check("machines", move || match host.host().state {
            HostState::Ready => Ok(()),
            HostState::Preparing(text) => Err(format!("being prepared: {text}")),
            HostState::Failed(text) => Err(text),
        })
        .check("store", view.store_condition())
}

impl std::fmt::Debug for VmServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VmServer")
            .field("view", &self.state.view)
            .finish_non_exhaustive()
    }
}
