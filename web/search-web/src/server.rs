//! One search server: the actors, the edge around the routes, and both brought to an end together.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use actix_web::{App, web};
use edge_web::guard::{ApiToken, HostPolicy, OriginPolicy, PublicPaths};
use edge_web::{Edge, EdgeConfig, Health, Metrics, Routes, ServeOptions, actor_tree, serve};
use search_actors::{
    Board, Boards, Configuration, ReaderProgram, SearchDesk, SearchService, SearchSettings,
    configuration_desk,
};
use search_chat_actors::{ChatLimits, ChatParts, Conversations, chat_desk};
use store::LocalState;
use store::local::Memory;
use supervision::{ActorTree, ChildRef, Root, RootHandle, StartChildError, SupervisorSpec};
use url::Url;

use crate::api;
use crate::cache::AnswerCache;
use crate::chat::ChatState;
use crate::config::{ConfigState, Writers};
use crate::metrics::SearchMetrics;
use crate::runs::RunFeed;
use crate::state::SearchState;
use crate::ws::WsGate;

/// How a search server faces its callers.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The token callers have to send; none on loopback.
    pub token: Option<String>,
    /// The token that changes of the configuration need where `token` is absent; without either nobody may change it.
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
    /// Limits of chats and summaries.
    pub chat: ChatLimits,
    /// The role file that is shown, changed and followed; none where the roles come from elsewhere.
    pub configuration: Option<Configuration>,
    /// The runs that this process keeps, for `/ws`; none in a search server alone.
    pub runs: Option<RunFeed>,
    /// The server that `/ws` leads to, a `ws` or `wss` address; this one when absent.
    pub ws_upstream: Option<Url>,
}

/// A search server that is started but does not listen yet.
#[derive(Debug)]
pub struct SearchServer {
    root: Root,
    state: web::Data<SearchState>,
    chat: web::Data<ChatState>,
    config: web::Data<Option<ConfigState>>,
    metrics: Metrics,
    health: Health,
    options: ServerOptions,
}

impl SearchServer {
    /// Starts the actors below a root supervisor of their own. Needs a running actix system.
    #[must_use]
    pub fn start(settings: &SearchSettings, options: ServerOptions) -> Self {
        let (parts, server) = Self::parts(settings, options);
        server(Root::own("orrery", parts))
    }

    /// Starts the actors below a tree that others have as well; this server's end stops its own only.
    ///
    /// # Errors
    /// When the tree takes no more, or has ended.
    pub async fn start_below(
        tree: &RootHandle,
        settings: &SearchSettings,
        options: ServerOptions,
    ) -> Result<Self, StartChildError> {
        let (parts, server) = Self::parts(settings, options);
        Ok(server(Root::below(tree, parts).await?))
    }

    /// The supervisors, and the server once they are started.
    fn parts(
        settings: &SearchSettings,
        options: ServerOptions,
    ) -> (Vec<SupervisorSpec>, impl FnOnce(Root) -> Self) {
        let service = SearchService::with_readers(settings, options.readers.clone());
        let metrics = Metrics::new();
        let search_metrics = SearchMetrics::default();
        search_metrics.register(&metrics, service.boards.clone());
        let state = web::Data::new(SearchState {
            desk: service.desk.clone(),
            boards: service.boards.clone(),
            runs: options.runs.clone(),
            ws_upstream: options.ws_upstream.clone(),
            cache: AnswerCache::new(options.cache_bytes).counting(search_metrics.cache()),
            metrics: search_metrics,
            started: Instant::now(),
        });
        let (chats, chat) = chats(service.boards, service.desk.clone(), &options);
        let mut parts = vec![service.supervisor, chats];
        let config = options.configuration.clone().map(|configuration| {
            let desk = configuration_desk(configuration.clone(), service.roles);
            let reference = desk.reference();
            parts.push(SupervisorSpec::new("settings").child(desk));
            ConfigState {
                configuration,
                desk: reference,
                writers: writers(&options),
            }
        });
        let boards = state.boards.clone();
        let health = Health::new()
            .check("search desk", service.desk.condition())
            .check("index keepers", move || boards.now().keepers_work());
        let server = move |root| Self {
            root,
            state,
            chat: web::Data::new(chat),
            config: web::Data::new(config),
            metrics,
            health,
            options,
        };
        (parts, server)
    }

    /// What can be searched, and how it is.
    #[must_use]
    pub fn board(&self) -> Arc<Board> {
        self.state.board()
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
            chat,
            config,
            metrics,
            health,
            options,
        } = self;
        let edge = Edge::new(edge_config(&listener, &options, &metrics)?);
        let boards = state.boards.clone();
        let tree = root.handle().tree().clone();
        let health = web::Data::new(health);
        let gate = WsGate::default();
        let sockets = web::Data::new(gate.clone());
        let ready = state.desk.clone();
        let factory = move || {
            let routes = with_actor_tree(api::routes(&metrics), &tree);
            App::new()
                .wrap(edge.clone())
                .app_data(state.clone())
                .app_data(chat.clone())
                .app_data(config.clone())
                .app_data(sockets.clone())
                .app_data(health.clone())
                .app_data(web::Data::new(metrics.clone()))
                .configure(|config| routes.configure(config))
        };
        let (actors, ended) = root.until(shutdown);
        let ended = async move {
            ended.await;
            // They would go on for ever, and the end waits for the requests under way.
            gate.close();
        };
        // What is not there by then is the business of `/readyz`.
        ready.ready_within(edge_web::START_PATIENCE).await;
        serve(listener, factory, options.serve, ended).await?;
        let verdict = actors.end().await;
        boards.wait_for_threads();
        verdict.map_err(io::Error::other)
    }
}

fn writers(options: &ServerOptions) -> Writers {
    let holders = options
        .configuration_token
        .as_deref()
        .and_then(ApiToken::new);
    match (&options.token, holders) {
        (Some(_), _) => Writers::Authenticated,
        (None, Some(token)) => Writers::Holders(token),
        (None, None) => Writers::Nobody,
    }
}

/// The chat part of a tree, and what the handlers hold of it.
fn chats(
    boards: Boards,
    search: ChildRef<SearchDesk>,
    options: &ServerOptions,
) -> (SupervisorSpec, ChatState) {
    let state = options.state.clone();
    let state = state.unwrap_or_else(|| Arc::new(Memory::default()));
    let conversations = Conversations::new(Arc::clone(&state));
    let parts = ChatParts {
        boards,
        search,
        state,
        limits: options.chat.clone(),
    };
    let desk = chat_desk(parts, conversations.clone());
    let chat = ChatState {
        desk: desk.reference(),
        conversations,
    };
    (SupervisorSpec::new("chats").child(desk), chat)
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
