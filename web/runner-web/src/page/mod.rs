//! Pages for people: the list of runs, and one run with its log. Everything shown is escaped;
//! nothing is loaded from elsewhere, and nothing but a run that goes on needs a script.

mod ansi;
mod frame;
mod job;
mod list;
mod log;
mod markdown;
mod run;
mod summaries;
mod tests;
mod text;

use actix_web::HttpResponse;
use edge_web::STRICT_CSP;

pub(crate) use list::list;
pub(crate) use log::RunLogLines;
pub(crate) use run::{RunPage, run};
pub(crate) use summaries::summaries;

const STYLE: &str = include_str!("../../assets/style.css");
const LIST_SCRIPT: &str = include_str!("../../assets/times.js");
const RUN_SCRIPT: &str = include_str!("../../assets/run.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// A page's answer, with a policy that lets nothing in.
pub(crate) fn html(body: String) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header(("content-security-policy", STRICT_CSP))
        .insert_header(("cache-control", "no-store"))
        // With `no-referrer` a browser would send the page's forms with the origin `null`.
        .insert_header(("referrer-policy", "same-origin"))
        .body(body)
}

/// One of the page's own files.
pub(crate) fn asset(name: &str) -> Option<HttpResponse> {
    let (kind, text) = match name {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "times.js" => ("text/javascript; charset=utf-8", LIST_SCRIPT),
        "run.js" => ("text/javascript; charset=utf-8", RUN_SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return None,
    };
    Some(HttpResponse::Ok().content_type(kind).body(text))
}
