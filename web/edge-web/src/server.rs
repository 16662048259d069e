//! A server put together: the edge around the routes, what the handlers share, and the actors
//! behind them.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context};
use actix_web::web::ServiceConfig;
use actix_web::{App, web};
use supervision::{ChildRef, Root};

use crate::edge::{Edge, EdgeConfig};
use crate::health::HealthChecks;
use crate::metrics::Metrics;
use crate::routes::Routes;
use crate::serve::{ServeOptions, serve};

/// How long a server's start waits for the actor that its first requests ask. What is not there by
/// then is reported by `/readyz`.
const START_TIMEOUT: Duration = Duration::from_secs(5);

type Configure = Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>;

/// A server that does not listen yet.
#[derive(Clone)]
pub struct EdgeServer {
    edge: Edge,
    options: ServeOptions,
    routes: Arc<dyn Fn() -> Routes + Send + Sync>,
    shared: Vec<Configure>,
}

impl EdgeServer {
    /// A server of the routes that `routes` makes for each worker. Handlers find `metrics` and
    /// `health` in the application's data.
    pub fn new(
        edge: EdgeConfig,
        options: ServeOptions,
        (metrics, health): (&Metrics, HealthChecks),
        routes: impl Fn(&Metrics) -> Routes + Send + Sync + 'static,
    ) -> Self {
        let own = metrics.clone();
        let server = Self {
            edge: Edge::new(edge),
            options,
            routes: Arc::new(move || routes(&own)),
            shared: Vec::new(),
        };
        server
            .data(web::Data::new(metrics.clone()))
            .data(web::Data::new(health))
    }

    /// Adds what handlers take out of the application's data.
    #[must_use]
    pub fn data<T: Clone + Send + Sync + 'static>(mut self, data: T) -> Self {
        self.shared.push(Arc::new(move |config| {
            config.app_data(data.clone());
        }));
        self
    }

    /// Adds services before the routes.
    #[must_use]
    pub fn services(mut self, add: impl Fn(&mut ServiceConfig) + Send + Sync + 'static) -> Self {
        self.shared.push(Arc::new(add));
        self
    }

    /// Serves on `listener` until `shutdown` resolves and the requests under way are answered.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let Self {
            edge,
            options,
            routes,
            shared,
        } = self;
        let factory = move || {
            App::new().wrap(edge.clone()).configure(|config| {
                shared.iter().for_each(|add| add(config));
                routes().configure(config);
            })
        };
        serve(listener, factory, options, shutdown).await
    }

    /// Serves from the start of the actor `first_asked` until `shutdown` resolves or the root
    /// supervisor gives up. Then `on_shutdown` is called, the requests under way are answered, and
    /// the actors are ended.
    ///
    /// # Errors
    /// When the listener cannot be used, or when the root supervisor gave up.
    pub async fn serve_actors<A: Actor<Context = Context<A>>>(
        self,
        listener: TcpListener,
        (root, first_asked): (Root, &ChildRef<A>),
        shutdown: impl Future<Output = ()> + Send + 'static,
        on_shutdown: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let (actors, ended) = root.watch_until(shutdown);
        let ended = async move {
            ended.await;
            on_shutdown();
        };
        first_asked.ready_within(START_TIMEOUT).await;
        let served = self.serve(listener, ended).await;
        let verdict = actors.shut_down().await;
        served.and(verdict.map_err(io::Error::other))
    }
}

impl fmt::Debug for EdgeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeServer").finish_non_exhaustive()
    }
}
