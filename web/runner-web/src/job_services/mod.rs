//! The services of jobs over HTTP: what `@actions/artifact` and `@actions/cache` speak.
//!
//! ```text
//! POST /twirp/github.actions.results.api.v1.ArtifactService/… ─┐ token of the job
//! POST /twirp/github.actions.results.api.v1.CacheService/…    ─┤
//! GET, POST, PATCH /_apis/artifactcache/…  (the first version) ─┘
//! GET /id-token?audience=…                  token for identity tokens
//! /api/v3/…, /api/v1/…                     the forge's API: placeholder of the job's token
//! /owner/name/info/refs, git-upload-pack, …  git's smart protocol: the same placeholder
//! PUT, GET /blobs/job/{id}?sig=…            signed address: blocks, block lists, ranges
//! ```
//! It has a listener of its own: nothing else of the runner is reached from a machine. Only the VM
//! manager connects to it, for programs of the job's VM.

mod artifacts;
mod blobs;
mod caches;
mod forge;
mod git;
pub(crate) mod identity;
mod twirp;

use std::future::Future;
use std::net::TcpListener;

use actix_web::{App, HttpResponse, web};
use edge_web::ServeOptions;
use http_clients::http::{HttpClient, HttpOptions};
use runner_actors::JobServices;

/// Serves on `listener` until `shutdown` resolves.
///
/// # Errors
/// When the listener cannot be used.
pub async fn serve(
    services: JobServices,
    listener: TcpListener,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let services = web::Data::new(services);
    let factory = move || {
        App::new()
            .app_data(services.clone())
            // One for each worker.
            .app_data(web::Data::new(HttpClient::new(HttpOptions::default())))
            .app_data(web::PayloadConfig::new(twirp::MAX_BODY))
            .configure(routes)
    };
    edge_web::serve(listener, factory, options, shutdown).await
}

fn routes(config: &mut web::ServiceConfig) {
    const ARTIFACTS: &str = "/twirp/github.actions.results.api.v1.ArtifactService/{method}";
    const CACHES: &str = "/twirp/github.actions.results.api.v1.CacheService/{method}";
    config
        .route(ARTIFACTS, web::post().to(artifacts::call))
        .route(CACHES, web::post().to(caches::call))
        .route("/_apis/artifactcache/cache", web::get().to(caches::find))
        .route(
            "/_apis/artifactcache/caches",
            web::post().to(caches::reserve),
        )
        .service(
            web::resource("/_apis/artifactcache/caches/{number}")
                .route(web::patch().to(caches::piece))
                .route(web::post().to(caches::commit)),
        )
        .route("/id-token", web::get().to(identity::token))
        .route("/api/graphql", web::to(forge::call))
        .route("/api/v3/{tail:.*}", web::to(forge::call))
        .route("/api/v1/{tail:.*}", web::to(forge::call))
        // As programs write them that mean api.github.com and reach this.
        .route("/graphql", web::to(forge::call))
        .route("/rate_limit", web::to(forge::call))
        .route("/repos/{tail:.*}", web::to(forge::call))
        .route("/{owner}/{name}/info/{tail:.*}", web::to(git::call))
        .route("/{owner}/{name}/{service:git-.*}", web::to(git::call))
        .service(
            web::resource("/blobs/job/{id}")
                .route(web::put().to(blobs::put))
                .route(web::get().to(blobs::get))
                .route(web::head().to(blobs::get)),
        )
        .default_service(web::to(|| async { HttpResponse::NotFound().finish() }));
}
