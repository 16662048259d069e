//! One search server: the actors, the edge around the routes, and both brought to an end together.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use actix_web::{App, web};
use edge_web::guard::{ApiToken, HostPolicy, OriginPolicy, PublicPaths};
use edge_web::{Edge, EdgeConfig, Health, Metrics, Routes, ServeOptions, actor_tree, serve};
use search_actors::{Board, SearchService, SearchSettings};
use supervision::{ActorTree, Root, RootHandle, SupervisorSpec, Verdict};

use crate::api;
use crate::cache::AnswerCache;
use crate::state::SearchState;

/// How a search server faces its callers.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The token callers have to send; none on loopback.
    pub token: Option<String>,
    /// Further names the server answers for (`Host`).
    pub hosts: Vec<String>,
    /// Bound of the result cache in bytes.
    pub cache_bytes: u64,
    /// Worker threads and time limits of the HTTP side.
    pub serve: ServeOptions,
}

/// A search server that is started but does not listen yet.
#[derive(Debug)]
pub struct SearchServer {
    root: Root,
    state: web::Data<SearchState>,
    metrics: Metrics,
    health: Health,
    options: ServerOptions,
}

impl SearchServer {
    /// Starts the actors below a root supervisor of their own. Needs a running actix system.
    #[must_use]
    pub fn start(settings: &SearchSettings, options: ServerOptions) -> Self {
        let service = SearchService::new(settings);
        let state = web::Data::new(SearchState {
            desk: service.desk.clone(),
            board: Arc::clone(&service.board),
            cache: AnswerCache::new(options.cache_bytes),
            started: Instant::now(),
        });
        let root = Root::start(SupervisorSpec::root("orrery").supervisor(service.supervisor));
        let desk = service.desk;
        let health = Health::new().check("search desk", move || {
            desk.incarnation()
                .map(|_| ())
                .ok_or_else(|| "is being restarted".to_owned())
        });
        Self {
            root,
            state,
            metrics: Metrics::new(),
            health,
            options,
        }
    }

    /// What can be searched, and how it is.
    #[must_use]
    pub fn board(&self) -> &Arc<Board> {
        &self.state.board
    }

    /// To look at the actors, or to stop them.
    #[must_use]
    pub fn actors(&self) -> RootHandle {
        self.root.handle()
    }

    /// Serves on `listener` until `shutdown` resolves or the root supervisor gives up; then ends
    /// the requests under way, and after them the actors.
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
        let edge = Edge::new(edge_config(&listener, &options, &metrics)?);
        let board = Arc::clone(&state.board);
        let (handle, tree) = (root.handle(), root.handle().tree().clone());
        let health = web::Data::new(health);
        let factory = move || {
            let routes = with_actor_tree(api::routes(&metrics), &tree);
            App::new()
                .wrap(edge.clone())
                .app_data(state.clone())
                .app_data(health.clone())
                .app_data(web::Data::new(metrics.clone()))
                .configure(|config| routes.configure(config))
        };
        let (gave_up, verdict) = tokio::sync::oneshot::channel();
        let watcher = actix_rt::spawn(async move {
            let verdict = root.verdict().await;
            let _ = gave_up.send(());
            verdict
        });
        let ended = async move {
            tokio::select! {
                () = shutdown => {}
                _ = verdict => {}
            }
        };
        serve(listener, factory, options.serve, ended).await?;
        handle.stop();
        let verdict = watcher.await.map_err(io::Error::other)?;
        board.wait_for_threads();
        match verdict {
            Verdict::Stopped => Ok(()),
            verdict => Err(io::Error::other(format!("the actors gave up: {verdict:?}"))),
        }
    }
}

fn edge_config(
    listener: &TcpListener,
    options: &ServerOptions,
    metrics: &Metrics,
) -> io::Result<EdgeConfig> {
    let hosts = HostPolicy::new(
        listener.local_addr()?,
        options.hosts.iter().map(String::as_str),
    );
    Ok(EdgeConfig {
        origins: OriginPolicy::default(),
        token: options.token.as_deref().and_then(ApiToken::new),
        public: PublicPaths::new(["/", "/assets/*"]),
        ..EdgeConfig::new(hosts, metrics)
    })
}

fn with_actor_tree(routes: Routes, tree: &ActorTree) -> Routes {
    let tree = tree.clone();
    routes.get("/admin/actors", move || {
        let tree = tree.clone();
        actor_tree(async move { Ok(tree.snapshot()) })
    })
}
