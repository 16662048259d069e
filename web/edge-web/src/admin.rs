//! The actor tree, live.

use std::future::Future;

use actix_web::HttpResponse;
use actix_web::http::header;
use serde::Serialize;

use crate::problem::Problem;

/// The answer of `GET /admin/actors`: whatever `describe` says about the actor tree, as JSON.
///
/// # Errors
/// The problem of `describe`, or 500 when its tree cannot be serialised.
pub async fn actor_tree<T, F>(describe: F) -> Result<HttpResponse, Problem>
where
    T: Serialize,
    F: Future<Output = Result<T, Problem>>,
{
    let tree = describe.await?;
    let body = serde_json::to_vec(&tree).map_err(|error| {
        tracing::error!(event = "admin.actors.failed", %error, "the actor tree cannot be serialised");
        Problem::internal()
    })?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body))
}
