//! Asking a server.

use std::time::Duration;

use awc::error::{ConnectError, SendRequestError};
use awc::http::StatusCode;
use awc::{Client, ClientRequest, ClientResponse};
use config_core::Secret;
use search_core::answer::{RoleList, SearchAnswer};
use search_core::query::Operator;
use search_engine::answering::SearchOrder;
use serde::de::DeserializeOwned;
use url::Url;

use crate::failure::Failure;

/// An answer is read only so far, in bytes.
const MAX_ANSWER: usize = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server to ask.
pub(crate) struct Remote {
    url: Url,
    token: Option<Secret<String>>,
    client: Client,
}

impl Remote {
    pub(crate) fn new(url: Url, token: Option<Secret<String>>) -> Self {
        let client = Client::builder()
            .timeout(TIMEOUT)
            .disable_redirects()
            .finish();
        Self { url, token, client }
    }

    /// `POST /api/documents/search`.
    pub(crate) async fn search(&self, order: &SearchOrder) -> Result<SearchAnswer, Failure> {
        let mut body = serde_json::json!({"search_term": order.request.text, "limit": order.limit});
        if let Some(role) = &order.role {
            body["role"] = role.as_str().into();
        }
        if !order.request.terms.is_empty() {
            body["terms"] = order.request.terms.clone().into();
        }
        if let Some(operator) = order.request.operator {
            body["operator"] = if operator == Operator::And {
                "and"
            } else {
                "or"
            }
            .into();
        }
        let request = self.request(self.client.post(self.address("api/documents/search")));
        self.read(request.send_json(&body).await).await
    }

    /// `GET /api/roles`.
    pub(crate) async fn roles(&self) -> Result<RoleList, Failure> {
        let request = self.request(self.client.get(self.address("api/roles")));
        self.read(request.send().await).await
    }

    /// Whether anything listens there.
    pub(crate) async fn is_up(&self) -> bool {
        let request = self
            .client
            .get(self.address("livez"))
            .timeout(Duration::from_secs(2));
        request
            .send()
            .await
            .is_ok_and(|response| response.status() == StatusCode::OK)
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.url.as_str().trim_end_matches('/'))
    }

    fn request(&self, request: ClientRequest) -> ClientRequest {
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    async fn read<T: DeserializeOwned, S>(
        &self,
        sent: Result<ClientResponse<S>, SendRequestError>,
    ) -> Result<T, Failure>
    where
        S: futures_util::Stream<Item = Result<bytes::Bytes, awc::error::PayloadError>> + Unpin,
    {
        let mut response = sent.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let body = response.body().limit(MAX_ANSWER).await;
        let body = body.map_err(|error| Failure::Other(format!("{}: {error}", self.url)))?;
        if status.is_success() {
            let answer = serde_json::from_slice(&body);
            return answer.map_err(|error| {
                Failure::Other(format!(
                    "{} did not answer as a search server does: {error}",
                    self.url
                ))
            });
        }
        Err(refusal(status, &body))
    }

    fn unreachable(&self, error: &SendRequestError) -> Failure {
        let url = self.url.to_string();
        match error {
            SendRequestError::Timeout | SendRequestError::Connect(ConnectError::Timeout) => {
                Failure::TimedOut { url }
            }
            error => Failure::Unreachable {
                url,
                reason: error.to_string(),
            },
        }
    }
}

/// What a problem (RFC 9457) says.
fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = problem["detail"]
        .as_str()
        .map_or_else(|| format!("the server answered {status}"), str::to_owned);
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::NotAllowed(detail),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Failure::Refused(detail),
        StatusCode::GATEWAY_TIMEOUT => Failure::Other(format!("the search timed out: {detail}")),
        _ => Failure::Other(detail),
    }
}
