//! One search server: the actors, the edge around the routes, and both brought to an end together.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use actix_web::web;
use edge_web::guard::{ApiToken, HostPolicy, OriginPolicy, PublicPaths};
use edge_web::{
    APPLICATION_PATHS, EdgeConfig, EdgeServer, HealthChecks, Metrics, PreparedServer, Routes,
    SIGN_IN_STYLE, ServeOptions, SignIn, SignInAttempts, SignInSessions, actor_events, actor_tree,
};
use search_actors::chat::{ChatLimits, ChatParts, Conversations, chat_service};
use search_actors::snapshots::SnapshotMode;
use search_actors::{
    ConfigPublisher, IndexThreads, ReaderProgram, RoleRegistry, RoleSet, SearchService,
    SearchSettings, SearchTree, config_manager,
};
use store::LocalState;
use store::local::LocalMemory;
use supervision::{ActorTree, ChildRef, Root, RootHandle, SupervisorSpec};
use url::Url;

use crate::api;
use crate::cache::AnswerCache;
use crate::chat::ChatState;
use crate::config::{ConfigState, Writers};
use crate::front::FrontDoor;
use crate::metrics::SearchMetrics;
use crate::runs::RunFeed;
use crate::state::SearchState;
use crate::ws::WsGate;

/// How a search server faces its callers.
#[derive(Debug, Clone, Default)]
pub struct SearchServerOptions {
    /// The token callers have to send; none on loopback.
    pub token: Option<String>,
    /// The token that changes of the configuration need where `token` is absent; without either
    /// nobody may change it.
    pub configuration_token: Option<String>,
    /// Further names the server answers for (`Host`).
    pub hosts: Vec<String>,
    /// Bound of the result cache in bytes.
    pub cache_bytes: u64,
    /// Worker threads and time limits of the HTTP side.
    pub serve: ServeOptions,
    /// The program that reads documents which are no text files; without it they are skipped.
    pub readers: Option<ReaderProgram>,
    /// Where conversations and summaries are kept; in memory when absent.
    pub state: Option<Arc<dyn LocalState>>,
    /// What is published for other servers, or fetched from them.
    pub snapshots: SnapshotMode,
    /// Limits of chats and summaries.
    pub chat: ChatLimits,
    /// The role file that is shown, changed and followed; none where the roles come from elsewhere.
    pub configuration: Option<ConfigPublisher>,
    /// The runs that this process keeps, for `/ws`; none in a search server alone.
    pub runs: Option<RunFeed>,
    /// The server that `/ws` leads to, a `ws` or `wss` address; this one when absent.
    pub ws_upstream: Option<Url>,
    /// Further parts of the platform that have their door here; none in a search server alone.
    pub front: Option<FrontDoor>,
}

/// A search server that is started but does not listen yet.
#[derive(Debug)]
pub struct SearchServer {
    root: Root,
    threads: IndexThreads,
    state: web::Data<SearchState>,
    chat: web::Data<ChatState>,
    config: web::Data<Option<ConfigState>>,
    metrics: Metrics,
    health: HealthChecks,
    options: SearchServerOptions,
    sign_in: Option<SignIn>,
}

impl SearchServer {
    /// The supervisors, and the server once they are started.
    pub fn prepare(
        settings: &SearchSettings,
        options: SearchServerOptions,
    ) -> PreparedServer<impl FnOnce(Root) -> Self + use<>> {
        let tree = SearchTree::with_snapshots(
            settings,
            options.readers.clone(),
            options.snapshots.clone(),
        );
        let sign_in = sign_in(&options);
        let metrics = Metrics::new();
        let search_metrics = SearchMetrics::default();
        search_metrics.register(&metrics, tree.registry.clone());
        let state = web::Data::new(SearchState {
            search: tree.search.clone(),
            registry: tree.registry.clone(),
            runs: options.runs.clone(),
            ws_upstream: options.ws_upstream.clone(),
            cache: AnswerCache::new(options.cache_bytes).counting(search_metrics.cache()),
            metrics: search_metrics,
            started: Instant::now(),
        });
        let (chats, chat) = chats(tree.registry, tree.search.clone(), &options);
        let mut parts = vec![tree.supervisor, chats];
        let config = options.configuration.clone().map(|publisher| {
            let config = publisher.view().clone();
            let manager = config_manager(publisher, tree.roles);
            let reference = manager.reference();
            parts.push(SupervisorSpec::new("settings").child(manager));
            ConfigState {
                config,
                manager: reference,
                writers: writers(&options, sign_in.as_ref()),
            }
        });
        let threads = tree.threads;
        let registry = state.registry.clone();
        let health = HealthChecks::new()
            .check("search service", tree.search.condition())
            .check("source indexers", move || registry.now().check_indexers());
        PreparedServer::new(parts, move |root| Self {
            root,
            threads,
            state,
            chat: web::Data::new(chat),
            config: web::Data::new(config),
            metrics,
            health,
            options,
            sign_in,
        })
    }

    /// What can be searched, and how it is.
    #[must_use]
    pub fn roles(&self) -> Arc<RoleSet> {
        self.state.roles()
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
            threads,
            state,
            chat,
            config,
            metrics,
            health,
            options,
            sign_in,
        } = self;
        let edge = edge_config(&listener, &options, sign_in.clone(), &metrics)?;
        let tree = root.handle().tree().clone();
        let gate = WsGate::default();
        let front = options.front;
        let server = EdgeServer::new(edge, options.serve, (&metrics, health), move |metrics| {
            all_routes(metrics, &tree, front.as_ref(), sign_in.as_ref())
        });
        let search = state.search.clone();
        let served = server
            .data(state)
            .data(chat)
            .data(config)
            .data(web::Data::new(gate.clone()))
            // They would go on for ever, and the end waits for the requests under way.
            .serve_actors(listener, (root, &search), shutdown, move || gate.close())
            .await;
        threads.join_all();
        served
    }
}

fn writers(options: &SearchServerOptions, sign_in: Option<&SignIn>) -> Writers {
    let holders = options
        .configuration_token
        .as_deref()
        .and_then(ApiToken::new);
    match (&options.token, holders) {
        (Some(_), _) => Writers::Authenticated,
        (None, Some(token)) => Writers::Holders(token, sign_in.cloned()),
        (None, None) => Writers::Nobody,
    }
}

/// The chat part of a tree, and what the handlers hold of it.
fn chats(
    registry: RoleRegistry,
    search: ChildRef<SearchService>,
    options: &SearchServerOptions,
) -> (SupervisorSpec, ChatState) {
    let state = options.state.clone();
    let state = state.unwrap_or_else(|| Arc::new(LocalMemory::default()));
    let conversations = Conversations::new(Arc::clone(&state));
    let parts = ChatParts {
        registry,
        search,
        state,
        limits: options.chat.clone(),
    };
    let service = chat_service(parts, conversations.clone());
    let chat = ChatState {
        service: service.reference(),
        conversations,
    };
    (SupervisorSpec::new("chats").child(service), chat)
}

fn edge_config(
    listener: &TcpListener,
    options: &SearchServerOptions,
    sign_in: Option<SignIn>,
    metrics: &Metrics,
) -> io::Result<EdgeConfig> {
    let hosts = HostPolicy::new(
        listener.local_addr()?,
        options.hosts.iter().map(String::as_str),
    );
    Ok(EdgeConfig {
        origins: OriginPolicy::default(),
        token: options.token.as_deref().and_then(ApiToken::new),
        sign_in,
        public: PublicPaths::new(["/", APPLICATION_PATHS]),
        guarded: options
            .front
            .as_ref()
            .map_or_else(Vec::new, |front| front.guarded.clone()),
        ..EdgeConfig::new(hosts, metrics)
    })
}

/// How browsers get a session: by the token of the door, or by that of this server alone.
fn sign_in(options: &SearchServerOptions) -> Option<SignIn> {
    if let Some(front) = &options.front {
        return Some(front.sign_in.clone());
    }
    let token = options.token.as_deref().and_then(ApiToken::new)?;
    Some(SignIn {
        token,
        cookie: "search-session",
        asks_for: "the API token of this search server (<code>SERVICE_API_TOKEN</code>)",
        style: SIGN_IN_STYLE,
        secure: false,
        attempts: SignInAttempts::default(),
        sessions: SignInSessions::default(),
    })
}

/// All routes: this server's own, the way in, and the further parts.
fn all_routes(
    metrics: &Metrics,
    tree: &ActorTree,
    front: Option<&FrontDoor>,
    sign_in: Option<&SignIn>,
) -> Routes {
    let alone = || api::parts().wants_token("search", sign_in.is_some());
    let parts = front.map_or_else(alone, |front| front.parts.clone());
    let routes = api::routes_with(metrics, &parts).session(sign_in);
    let routes = with_actor_tree(routes, tree);
    let routes = match sign_in {
        Some(sign_in) => sign_in.clone().routes(routes),
        None => routes,
    };
    match front {
        Some(front) => (front.routes)(routes),
        None => routes,
    }
}

fn with_actor_tree(routes: Routes, tree: &ActorTree) -> Routes {
    let (tree, followed) = (tree.clone(), tree.clone());
    let routes = routes.get("/admin/actors/events", move || {
        let answer = actor_events(&followed);
        async move { answer }
    });
    routes.get("/admin/actors", move || {
        let tree = tree.clone();
        actor_tree(async move { Ok(tree.snapshot()) })
    })
}
