//! The routes of a server, as data: each with its method, so that 405 can name the others, `HEAD`
//! follows `GET`, durations have a label, and the API document can be checked against them.

use actix_web::dev::Handler;
use actix_web::http::Method;
use actix_web::{FromRequest, HttpRequest, Resource, Responder, Route, guard, web};

use crate::assets::Asset;
use crate::metrics::{Metrics, RouteMetrics};
use crate::problem::Problem;

/// Routes in the making; one value per worker, ended by [`Routes::configure`].
pub struct Routes {
    metrics: Metrics,
    resources: Vec<Entry>,
}

struct Entry {
    path: String,
    routes: Vec<Route>,
    methods: Vec<Method>,
    /// It speaks WebSocket: what is no upgrade is told so.
    upgrades: bool,
}

impl Routes {
    /// No routes yet; their durations go to `metrics`.
    pub fn new(metrics: &Metrics) -> Self {
        Self {
            metrics: metrics.clone(),
            resources: Vec::new(),
        }
    }

    /// Answers `GET` (and `HEAD`) at `path`, an actix pattern such as `/api/documents/{id}`.
    #[must_use]
    pub fn get<F, Args>(self, path: &str, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.route(Method::GET, path, web::route().to(handler))
    }

    /// Answers upgrades to a WebSocket at `path`; all other methods are told to upgrade.
    #[must_use]
    pub fn websocket<F, Args>(self, path: &str, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let mut routes = self.get(path, handler);
        let entry = routes.resources.iter_mut().find(|one| one.path == path);
        if let Some(entry) = entry {
            entry.upgrades = true;
        }
        routes
    }

    /// Answers `POST` at `path`.
    #[must_use]
    pub fn post<F, Args>(self, path: &str, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.route(Method::POST, path, web::route().to(handler))
    }

    /// Answers `PUT` at `path`.
    #[must_use]
    pub fn put<F, Args>(self, path: &str, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.route(Method::PUT, path, web::route().to(handler))
    }

    /// Answers `DELETE` at `path`.
    #[must_use]
    pub fn delete<F, Args>(self, path: &str, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.route(Method::DELETE, path, web::route().to(handler))
    }

    /// Answers `GET /api/openapi.json` with `document`, which is serialised once, with an ETag.
    ///
    /// # Panics
    /// When an example or extension in the document cannot be serialised: a mistake in the program.
    #[must_use]
    pub fn openapi(self, document: &utoipa::openapi::OpenApi) -> Self {
        let text = serde_json::to_vec(document).expect("a document made from types serialises");
        self.asset("/api/openapi.json", Asset::new(text, "application/json"))
    }

    /// Answers `GET` at `path` with a file that is held in memory.
    #[must_use]
    pub fn asset(self, path: &str, asset: Asset) -> Self {
        let asset = web::Data::new(asset);
        self.get(path, move |request: HttpRequest| {
            let asset = asset.clone();
            async move { asset.respond(&request) }
        })
    }

    /// Answers every usual method at `path`, each by a route that `make` gives.
    #[must_use]
    pub fn every_method(self, path: &str, make: impl Fn() -> Route) -> Self {
        let methods = [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ];
        methods
            .into_iter()
            .fold(self, |routes, method| routes.route(method, path, make()))
    }

    /// Answers `method` at `path` by a route without a method guard of its own.
    #[must_use]
    pub fn route(mut self, method: Method, path: &str, route: Route) -> Self {
        let index = self.resources.iter().position(|entry| entry.path == path);
        let index = index.unwrap_or_else(|| {
            self.resources.push(Entry {
                path: path.to_owned(),
                routes: Vec::new(),
                methods: Vec::new(),
                upgrades: false,
            });
            self.resources.len() - 1
        });
        let entry = &mut self.resources[index];
        if method == Method::GET {
            entry
                .routes
                .push(route.guard(guard::Any(guard::Get()).or(guard::Head())));
            entry.methods.extend([Method::GET, Method::HEAD]);
        } else {
            entry.routes.push(route.method(method.clone()));
            entry.methods.push(method);
        }
        self
    }

    /// Every route as method and pattern, in the order of registration (`HEAD` is implied by
    /// `GET`).
    pub fn table(&self) -> Vec<(Method, String)> {
        let row = |entry: &Entry| {
            let methods = entry
                .methods
                .iter()
                .filter(|method| **method != Method::HEAD);
            methods
                .map(|method| (method.clone(), entry.path.clone()))
                .collect::<Vec<_>>()
        };
        self.resources.iter().flat_map(row).collect()
    }

    /// Puts the routes into an application, and 404 everywhere else.
    pub fn configure(self, config: &mut web::ServiceConfig) {
        // Those that take whatever is below them leave what has a route of its own.
        let is_wide = |entry: &Entry| entry.path.ends_with(":.*}");
        let (wide, exact): (Vec<_>, Vec<_>) = self.resources.into_iter().partition(is_wide);
        for entry in exact.into_iter().chain(wide) {
            let metrics = self.metrics.route(&entry.path);
            config.service(entry.resource(metrics));
        }
        config.default_service(web::to(not_found));
    }
}

impl Entry {
    fn resource(self, metrics: RouteMetrics) -> Resource {
        let (methods, upgrades) = (self.methods, self.upgrades);
        let resource = web::resource(self.path).app_data(metrics);
        let resource = self.routes.into_iter().fold(resource, Resource::route);
        resource.default_service(web::to(move || {
            let problem = match upgrades {
                true => Problem::upgrade_required(),
                false => Problem::method_not_allowed(&methods),
            };
            async move { Err::<&'static str, Problem>(problem) }
        }))
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.table()).finish()
    }
}

async fn not_found() -> Result<&'static str, Problem> {
    Err(Problem::not_found("nothing is served at this path"))
}
