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

use super::timeouts::PassageTimeouts;

/// Questions in a row that are not answered.
const QUESTIONS: usize = 2;

/// Ends when the process at `address` cannot be reached.
pub(super) async fn out_of_reach(address: SocketAddr, timeouts: PassageTimeouts) {
    loop {
        tokio::time::sleep(timeouts.silence).await;
        let mut unanswered = 0;
        while !is_alive(address, timeouts.alive).await {
            unanswered += 1;
            if unanswered == QUESTIONS {
                return;
            }
        }
    }
}

/// Whether it answers, whatever it says.
async fn is_alive(address: SocketAddr, timeout: Duration) -> bool {
    let options = ForwardOptions {
        head: timeout,
        connections: 1,
        ..ForwardOptions::default()
    };
    let body = ForwardBody::<actix_web::web::Payload>::Empty;
    let (forwarder, none) = (Forwarder::new(address, options), HeaderMap::new());
    let asked = forwarder.send(Method::GET, "/livez", &none, body);
    asked.await.is_ok()
}
