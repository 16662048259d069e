//! The actor tree, live.

use std::future::Future;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::http::header;
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Serialize;
use supervision::{ActorNode, ActorTree};

use crate::limit::{ConcurrencyLimit, Permit};
use crate::problem::Problem;

/// Between two looks at the tree, for those who follow it. A restart that is over by the next look
/// is seen by its incarnation.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// A follower that gets nothing else gets a keep-alive so often.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Followers at once, of all servers of this process together.
static FOLLOWERS: LazyLock<ConcurrencyLimit> = LazyLock::new(|| ConcurrencyLimit::new(64, 5));

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

/// The answer of `GET /admin/actors/events`: Server-Sent Events, `tree` with the whole tree as
/// JSON, at once and after each change of it.
///
/// # Errors
/// 503 when as many follow it as may.
pub fn actor_events(tree: &ActorTree) -> Result<HttpResponse, Problem> {
    let follower = TreeFollower {
        tree: tree.clone(),
        shown: None,
        _permit: FOLLOWERS.try_acquire()?,
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(unfold(follower, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok::<_, actix_web::Error>(event), follower))
        })))
}

struct TreeFollower {
    tree: ActorTree,
    shown: Option<ActorNode>,
    _permit: Permit,
}

impl TreeFollower {
    /// The next event; `None` when the tree cannot be shown.
    async fn next(&mut self) -> Option<Bytes> {
        let began = Instant::now();
        loop {
            let now = self.tree.snapshot();
            if self.shown.as_ref() != Some(&now) {
                let data = serde_json::to_string(&now).ok()?;
                self.shown = Some(now);
                return Some(Bytes::from(format!("event: tree\ndata: {data}\n\n")));
            }
            if began.elapsed() >= KEEPALIVE_INTERVAL {
                return Some(Bytes::from_static(b": alive\n\n"));
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
