//! A call of the forge's API as a job makes it, and its answer.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use http_clients::http::{HttpClient, Request, Response};

use super::forge::{GatewayRefusal, refusal};

/// What a call is sent with.
pub enum GatewayBody {
    /// All of it; empty: none.
    Whole(Bytes),
    /// A file of a release, which is passed on as it comes.
    File {
        /// How many bytes come.
        bytes: u64,
        /// The bytes.
        chunks: Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>>>>,
    },
}

/// A call as a job makes it.
pub struct GatewayRequest {
    /// What it shows as its token.
    pub token: String,
    /// The method's word.
    pub method: String,
    /// The path below the API, as it stands in the request line.
    pub path: String,
    /// The query, as it stands there.
    pub query: Option<String>,
    /// Headers that are passed on.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: GatewayBody,
    /// GitHub's own program asks: it reaches nothing but the gateway.
    pub is_gh: bool,
}

/// The forge's answer, or the gateway's own.
#[derive(Debug, Clone)]
pub struct GatewayAnswer {
    /// The status code.
    pub status: u16,
    /// Headers that a job sees.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

/// Asks the forge.
///
/// # Errors
/// It gives no answer.
pub(super) async fn send(http: &HttpClient, request: Request) -> Result<Response, GatewayRefusal> {
    http.call(request).await.map_err(|error| {
        tracing::debug!(event = "run.forge_unreached", %error, "a job's call of the forge has no answer");
        refusal(502, "the forge gives no answer that could be passed on")
    })
}
