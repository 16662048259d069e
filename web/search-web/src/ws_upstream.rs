//! `/ws` when it leads to another server.

use edge_web::Problem;
use http_clients::http::HttpError;
use http_clients::ws::{self, WsOptions, WsReceiver, WsSender};
use url::Url;

use crate::ws_limits::MESSAGE_BYTES;

/// Connects to the other server.
pub(crate) async fn connect(url: &Url) -> Result<(WsSender, WsReceiver), Problem> {
    let options = WsOptions {
        max_frame: MESSAGE_BYTES,
        ..WsOptions::default()
    };
    ws::connect(url, &options).await.map_err(|error| {
        tracing::warn!(event = "ws.upstream_failed", %error, "the server behind /ws is not there");
        match error {
            HttpError::TimedOut { .. } => {
                Problem::gateway_timeout("the server behind /ws does not answer")
            }
            _ => Problem::bad_gateway("the server behind /ws cannot be reached"),
        }
    })
}
