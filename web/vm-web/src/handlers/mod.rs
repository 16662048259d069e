//! The routes' handlers: from a request to a message, from the reply to JSON. They decide nothing.

pub(crate) mod execs;
pub(crate) mod files;
pub(crate) mod operation;
pub(crate) mod snapshots;
pub(crate) mod stock;
pub(crate) mod terminal;
pub(crate) mod vms;

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use serde::Serialize;

/// JSON that is never kept.
fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(body)
}
