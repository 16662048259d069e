//! The front door: the address of the search server shows the whole platform. The other products
//! stand below `/runner`, `/orchestrator` and `/vm-manager`, passed on to their own listeners, and
//! who has signed in here has signed in everywhere.
//!
//! ```text
//! browser ──cookie──▶ [search]'s address ─┬─ search's own routes
//!                                         ├─ /runner/…       ──the runner's token──▶ [runner]
//!                                         ├─ /orchestrator/… ──a token made at the start──▶ its operations
//!                                         └─ /vm-manager/…   ──a token made at the start──▶ [vm_manager]
//! ```
//! - A product that wants a token is opened by a session of the door, or by the platform's token as
//!   `Authorization: Bearer`; its own token never leaves this process.
//! - A product that wants none stays open, as long as the door itself is open to this machine only.
//! - Host and origin are judged by the door's edge as for every path; webhooks are not mounted.

mod headers;
mod mount;
mod proxy;
mod target;
mod token;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use actix_web::{HttpRequest, web};
use edge_web::guard::ApiToken;
use edge_web::{
    ApplicationParts, ConcurrencyLimit, GuardedPath, Routes, SIGN_IN_STYLE, SignIn, SignInAttempts,
    SignInSessions,
};
use search_web::FrontDoor;

pub(crate) use mount::{ProductRoute, reached};
use proxy::ProductProxy;
pub(crate) use token::platform_token;

/// Requests and connections that are passed on at once, of all products together.
const PASSAGES: usize = 512;

/// The door of these products. `is_open`: everybody who reaches it may use the search server, so
/// that a product without a token stays as open as it is.
pub(crate) fn door(mounts: Vec<ProductRoute>, token: ApiToken, is_open: bool) -> FrontDoor {
    let parts = ApplicationParts::new("platform").part("search", "");
    let is_guarded = |mount: &ProductRoute| mount.token.is_some() || !is_open;
    let parts = parts.wants_token("search", !is_open);
    let parts = mounts.iter().fold(parts, |parts, mount| {
        let parts = parts.part(mount.part, mount.prefix);
        parts.wants_token(mount.part, is_guarded(mount))
    });
    let guarded = mounts
        .iter()
        .filter(|mount| is_guarded(mount))
        .map(|mount| GuardedPath {
            prefix: format!("{}/", mount.prefix),
            token: token.clone(),
        });
    let limit = ConcurrencyLimit::new(PASSAGES, 1);
    FrontDoor {
        parts,
        guarded: guarded.collect(),
        sign_in: SignIn {
            token,
            cookie: "platform-session",
            asks_for: "the platform's token (<code>PLATFORM_TOKEN</code>, or the file \
                <code>platform-token</code> in the data folder)",
            style: SIGN_IN_STYLE,
            secure: false,
            attempts: SignInAttempts::default(),
            sessions: SignInSessions::default(),
        },
        routes: Arc::new(move |routes| {
            mounts.iter().fold(routes, |routes, mount| {
                add(
                    routes,
                    &ProductProxy::new(mount.clone(), limit.clone()),
                    mount,
                )
            })
        }),
    }
}

fn add(routes: Routes, passage: &ProductProxy, mount: &ProductRoute) -> Routes {
    let path = format!("{}/{{rest:.*}}", mount.prefix);
    routes.every_method(&path, || {
        let passage = passage.clone();
        web::route()
            .to(move |request: HttpRequest, body: web::Payload| passage.clone().pass(request, body))
    })
}
