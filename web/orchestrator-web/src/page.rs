//! A plain operations page: queue, runs, statuses, actors.

use actix_web::{HttpRequest, web};
use edge_web::{Asset, Routes};

/// The page; it loads nothing from elsewhere, and its script stands beside it.
const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// Adds the page to the routes.
pub(crate) fn add(mut routes: Routes) -> Routes {
    for (path, bytes, kind) in [
        ("/", PAGE, "text/html; charset=utf-8"),
        ("/operations.js", SCRIPT, "text/javascript; charset=utf-8"),
        ("/operations.css", STYLE, "text/css; charset=utf-8"),
    ] {
        let asset = web::Data::new(Asset::new(bytes.as_bytes(), kind));
        routes = routes.get(path, move |request: HttpRequest| {
            let asset = asset.clone();
            async move { asset.respond(&request) }
        });
    }
    routes
}
