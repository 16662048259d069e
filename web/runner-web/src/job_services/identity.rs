//! Identity tokens: asked for by jobs, verified by whom they are shown to.

use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL};
use actix_web::{HttpRequest, HttpResponse, web};
use runner_actors::JobServices;
use serde::Deserialize;
use serde_json::{Value, json};

use super::twirp::TwirpError;

/// Whom a token is for.
#[derive(Debug, Deserialize)]
pub(super) struct AudienceQuery {
    audience: Option<String>,
}

/// `GET /id-token?audience=…` with the token of `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
pub(super) async fn token(
    request: HttpRequest,
    services: web::Data<JobServices>,
    wanted: web::Query<AudienceQuery>,
) -> Result<HttpResponse, TwirpError> {
    let header = request.headers().get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    // GitHub's own clients write either.
    let token = header.and_then(|value| value.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = token.map_or("", |(_, token)| token.trim());
    let signed = services.id_token(token, wanted.audience.as_deref())?;
    Ok(HttpResponse::Ok().json(json!({"value": signed})))
}

/// `/.well-known/openid-configuration`, of the runner's own address.
pub(crate) async fn configuration(services: web::Data<JobServices>) -> HttpResponse {
    published(services.openid_configuration())
}

/// `/.well-known/jwks`.
pub(crate) async fn keys(services: web::Data<JobServices>) -> HttpResponse {
    published(services.key_set())
}

fn published(document: Option<Value>) -> HttpResponse {
    match document {
        Some(document) => HttpResponse::Ok()
            .insert_header((CACHE_CONTROL, "public, max-age=300"))
            .json(document),
        None => HttpResponse::NotFound().finish(),
    }
}
