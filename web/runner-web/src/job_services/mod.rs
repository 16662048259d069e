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
//! What the VM manager leads here of the forge's own address is told by its connection (`front`)
//! and answered in `own_address`.
//!
//! It has a listener of its own: nothing else of the runner is reached from a machine. Only the VM
//! manager connects to it, for programs of the job's VM.

mod artifacts;
mod blobs;
mod bodies;
mod caches;
mod forge;
mod front;
mod git;
pub(crate) mod identity;
mod large_files;
mod own_address;
mod passage;
mod twirp;

use std::future::Future;
use std::net::TcpListener;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, FromRequest as _, HttpResponse, web};
use edge_web::ServeOptions;
use http_clients::http::{HttpClient, HttpOptions};
use runner_actors::JobServices;

use artifacts::ArtifactRequest;
use caches::CacheRequest;
use front::{ConnectionAcceptor, ForgeConnection};
use passage::ForgeWays;

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
    let front = ConnectionAcceptor::new(services.clone());
    let services = web::Data::new(services);
    let factory = move || {
        App::new()
            .app_data(services.clone())
            // One for each worker.
            .app_data(web::Data::new(HttpClient::new(HttpOptions::default())))
            .app_data(web::Data::new(ForgeWays::default()))
            .app_data(web::PayloadConfig::new(twirp::MAX_BODY))
            .wrap(from_fn(forward_own_address))
            .configure(routes)
    };
    let opener = move |stream| front.clone().open(stream);
    edge_web::serve_opened(listener, opener, factory, options, shutdown).await
}

/// What was asked of the forge's own address is answered apart from the services.
async fn forward_own_address(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(led) = request.conn_data::<ForgeConnection>().cloned() else {
        let answered = next.call(request).await;
        return answered.map(ServiceResponse::map_into_boxed_body);
    };
    let (request, mut payload) = request.into_parts();
    let payload = web::Payload::from_request(&request, &mut payload).await?;
    let data = (
        request.app_data::<web::Data<JobServices>>(),
        request.app_data::<web::Data<HttpClient>>(),
        request.app_data::<web::Data<ForgeWays>>(),
    );
    let response = match data {
        (Some(services), Some(http), Some(ways)) => {
            own_address::answer(&request, payload, &led, (services, http, ways)).await
        }
        _ => HttpResponse::InternalServerError().finish(),
    };
    Ok(ServiceResponse::new(request, response))
}

fn routes(config: &mut web::ServiceConfig) {
    const ARTIFACTS: &str = "/twirp/github.actions.results.api.v1.ArtifactService/{method}";
    const CACHES: &str = "/twirp/github.actions.results.api.v1.CacheService/{method}";
    config
        .route(ARTIFACTS, web::post().to(twirp::call::<ArtifactRequest>))
        .route(CACHES, web::post().to(twirp::call::<CacheRequest>))
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
