//! Whether a leader that was asked and says nothing can still be reached from here.
//!
//! It may work on an answer, or be cut off from this process alone: packets vanish, and the
//! connection looks alive for a quarter of an hour. The database does not know; asked over another
//! connection whether it lives, a leader that can be reached answers at once.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use http_clients::forward::{ForwardBody, ForwardOptions, Forwarder};

/// How long a leader may say nothing before it is asked whether it lives, each time.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long it may take to say so.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Questions in a row that are not answered.
const QUESTIONS: usize = 2;

/// Ends when the process at `address` cannot be reached.
pub(super) async fn out_of_reach(address: SocketAddr) {
    loop {
        tokio::time::sleep(SILENCE_TIMEOUT).await;
        let mut unanswered = 0;
        while !is_alive(address).await {
            unanswered += 1;
            if unanswered == QUESTIONS {
                return;
            }
        }
    }
}

/// Whether it answers, whatever it says.
async fn is_alive(address: SocketAddr) -> bool {
    let options = ForwardOptions {
        head: ALIVE_TIMEOUT,
        connections: 1,
        ..ForwardOptions::default()
    };
    let body = ForwardBody::<actix_web::web::Payload>::Empty;
    let (forwarder, none) = (Forwarder::new(address, options), HeaderMap::new());
    let asked = forwarder.send(Method::GET, "/livez", &none, body);
    asked.await.is_ok()
}
