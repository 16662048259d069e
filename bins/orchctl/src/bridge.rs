//! Talking to the orchestrator: its receiver and its admin bridge.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{Environment, Secret};
use http_clients::http::{
    HttpClient, HttpError, HttpOptions, Method, Request, Response, StreamingResponse,
};
use orchestrator_core::admin::WebhookReply;
use serde::de::DeserializeOwned;
use url::Url;

use crate::arguments::{DEFAULT_ADMIN, OrchestratorTarget};
use crate::failure::CommandFailure;
use crate::ssh::{Address, Tunnel};

/// Longest wait between two pieces of a followed log: the bridge sends a sign of life more often.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// The admin bridge of the package.
const PACKAGED_SOCKET: &str = "/run/orrery-agents/admin.sock";

/// Both addresses of one orchestrator.
pub(crate) struct OrchestratorClient {
    receiver: Endpoint,
    admin: Endpoint,
    token: Option<Secret<String>>,
    /// Where it is, for messages.
    location: String,
    /// Lives as long as the bridge is used.
    _tunnel: Option<Tunnel>,
}

/// One address: what to connect to, and the base of its URLs.
struct Endpoint {
    client: HttpClient,
    base: Url,
}

impl OrchestratorClient {
    /// Reaches the orchestrator of `target`; opens the tunnel where it is on another machine.
    pub(crate) fn open(
        target: &OrchestratorTarget,
        environment: &Environment,
    ) -> Result<Self, CommandFailure> {
        let token = environment.get("ORCH_ADMIN_TOKEN").ok().flatten();
        let token = token
            .filter(|token| !token.is_empty())
            .map(|token| Secret::new(token.to_owned()));
        let (tunnel, receiver, admin) = match &target.ssh {
            Some(host) => {
                let (tunnel, sockets) =
                    Tunnel::open(target, host, &[&target.receiver, &target.admin])?;
                let [receiver, admin] = &sockets[..] else {
                    return Err(CommandFailure::Refused(
                        "two addresses make two sockets".to_owned(),
                    ));
                };
                (
                    Some(tunnel),
                    Endpoint::socket(receiver.clone())?,
                    Endpoint::socket(admin.clone())?,
                )
            }
            None => (
                None,
                Endpoint::parse(&target.receiver)?,
                Endpoint::parse(local_admin(&target.admin, Path::new(PACKAGED_SOCKET)))?,
            ),
        };
        let location = target
            .ssh
            .clone()
            .unwrap_or_else(|| "this machine".to_owned());
        Ok(Self {
            receiver,
            admin,
            token,
            location,
            _tunnel: tunnel,
        })
    }

    /// `POST /webhook`, signed.
    pub(crate) async fn send(
        &self,
        body: Vec<u8>,
        secret: &Secret<String>,
    ) -> Result<WebhookReply, CommandFailure> {
        let signature = forge_core::sign(secret.expose(), &body);
        let signature = signature.map_err(|error| CommandFailure::NotAllowed(error.to_string()))?;
        let request = Request::post(self.receiver.url("webhook")?)
            .header("Content-Type", "application/json")
            .header("X-Hub-Signature-256", signature.hub())
            .body(body);
        let answer = self
            .receiver
            .client
            .call(request)
            .await
            .map_err(|error| self.unreachable(error, "receiver"))?;
        self.read(&answer)
    }

    /// `GET` of the admin bridge.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandFailure> {
        self.ask(Method::Get, path).await
    }

    /// `POST` to the admin bridge.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandFailure> {
        self.ask(Method::Post, path).await
    }

    /// `POST` whose answer may be what is wrong (422), in the same shape.
    pub(crate) async fn post_checked<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, CommandFailure> {
        let answer = self.answer(Method::Post, path).await?;
        if answer.status == 422
            && let Ok(view) = answer.json()
        {
            return Ok(view);
        }
        self.read(&answer)
    }

    /// Any request to the admin bridge.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
    ) -> Result<T, CommandFailure> {
        let answer = self.answer(method, path).await?;
        self.read(&answer)
    }

    async fn answer(&self, method: Method, path: &str) -> Result<Response, CommandFailure> {
        let request = self.request(method, path)?;
        let called = self.admin.client.call(request).await;
        called.map_err(|error| self.unreachable(error, "admin bridge"))
    }

    /// A body that is read as it comes.
    pub(crate) async fn follow(&self, path: &str) -> Result<StreamingResponse, CommandFailure> {
        let request = self.request(Method::Get, path)?;
        let opened = self.admin.client.open_or_read(request).await;
        let opened = opened.map_err(|error| self.unreachable(error, "admin bridge"))?;
        let stream = opened.map_err(|answer| refusal(answer.status, &answer.text()))?;
        Ok(stream.idle(IDLE_TIMEOUT))
    }

    fn request(&self, method: Method, path: &str) -> Result<Request, CommandFailure> {
        let request = Request::new(method, self.admin.url(path)?);
        Ok(match &self.token {
            Some(token) => request.authorization("Bearer", token),
            None => request,
        })
    }

    fn read<T: DeserializeOwned>(&self, answer: &Response) -> Result<T, CommandFailure> {
        if !answer.is_success() {
            return Err(refusal(answer.status, &answer.text()));
        }
        answer.json().map_err(|error| {
            CommandFailure::Refused(format!(
                "{} does not answer as an orchestrator: {error}",
                self.location
            ))
        })
    }

    fn unreachable(&self, error: HttpError, what: &str) -> CommandFailure {
        match CommandFailure::from(error) {
            CommandFailure::Unreachable(reason) => CommandFailure::Unreachable(format!(
                "the orchestrator's {what} on {} cannot be reached: {reason}; does it run, and are --receiver and --admin right?",
                self.location
            )),
            other => other,
        }
    }
}

/// The address that was said; unless one was, the package's socket where nobody else listens.
fn local_admin<'a>(said: &'a str, socket: &'a Path) -> &'a str {
    let packaged = socket.to_str().filter(|_| said == DEFAULT_ADMIN);
    let packaged = packaged.filter(|_| socket.exists() && TcpStream::connect(said).is_err());
    packaged.unwrap_or(said)
}

impl Endpoint {
    fn parse(address: &str) -> Result<Self, CommandFailure> {
        if let Address::Socket(path) = Address::parse(address)? {
            return Self::socket(path.into());
        }
        let base = Url::parse(&format!("http://{address}/"));
        let base = base.map_err(|error| CommandFailure::Usage(format!("{address:?}: {error}")))?;
        Ok(Self {
            client: HttpClient::new(HttpOptions::default()),
            base,
        })
    }

    fn socket(path: PathBuf) -> Result<Self, CommandFailure> {
        let options = HttpOptions {
            unix_socket: Some(path),
            ..HttpOptions::default()
        };
        // The name only fills the Host header, which the bridge checks.
        let base = Url::parse("http://localhost/")
            .map_err(|error| CommandFailure::Usage(error.to_string()))?;
        Ok(Self {
            client: HttpClient::new(options),
            base,
        })
    }

    fn url(&self, path: &str) -> Result<Url, CommandFailure> {
        self.base
            .join(path)
            .map_err(|error| CommandFailure::Usage(format!("{path}: {error}")))
    }
}

/// What an answer that is no success says (RFC 9457).
fn refusal(status: u16, body: &str) -> CommandFailure {
    let problem: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let detail = problem["detail"]
        .as_str()
        .or_else(|| problem["title"].as_str());
    let detail = detail.map_or_else(
        || format!("the orchestrator answered {status}"),
        |text| forge_core::text::one_line(text, 500),
    );
    match status {
        401 => CommandFailure::NotAllowed(format!("{detail}; set ORCH_ADMIN_TOKEN")),
        403 => CommandFailure::NotAllowed(format!(
            "{detail}; is it the orchestrator's webhook secret?"
        )),
        404 => CommandFailure::NotFound(detail),
        503 => CommandFailure::Unreachable(format!("{detail}; try again")),
        504 => CommandFailure::TimedOut(detail),
        _ => CommandFailure::Refused(detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_the_package_s_socket_is_asked_where_no_bridge_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("admin.sock");
        assert_eq!(local_admin(DEFAULT_ADMIN, &socket), DEFAULT_ADMIN);
        std::fs::write(&socket, "").expect("a file");
        assert_eq!(local_admin("127.0.0.1:9", &socket), "127.0.0.1:9");
        // Somebody else may listen at the usual address of this machine while it is tested.
        if TcpStream::connect(DEFAULT_ADMIN).is_err() {
            assert_eq!(
                local_admin(DEFAULT_ADMIN, &socket),
                socket.to_str().unwrap()
            );
        }
    }
}
