//! Making a connection: look up the name, hold each address against the policy, connect to exactly
//! that address, and shake hands for TLS. All within one deadline.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use actix_service::Service;
use actix_tls::connect::{ConnectError, ConnectInfo, Connection};
use awc::Client;
use awc::http::Uri;
use futures_util::future::LocalBoxFuture;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::io::Io;
use crate::http::{AddressPolicy, Tls};

/// Most addresses of a name that are tried.
const ADDRESSES: usize = 8;

/// How connections of one client are made.
#[derive(Debug)]
pub(crate) struct ConnectOptions {
    pub(crate) within: Duration,
    pub(crate) addresses: AddressPolicy,
    pub(crate) unix_socket: Option<PathBuf>,
    /// `None`: plain HTTP.
    pub(crate) tls: Option<Tls>,
}

/// Idle connections are kept for less than the usual 5 s of servers, so that a request seldom meets
/// one that is just being closed.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(4);

impl ConnectOptions {
    /// A client of these connections that adds nothing of its own, no header, deadline or redirect;
    /// at most `connections` at once.
    pub(crate) fn client(self, connections: usize) -> Client {
        // Ours is the deadline; this one must not come before it.
        let within = self.within * 2;
        let connector = awc::Connector::new()
            .connector(HttpConnector(Rc::new(self)))
            .timeout(within)
            .conn_keep_alive(KEEP_ALIVE_TIMEOUT)
            .limit(connections.max(1));
        Client::builder()
            .connector(connector)
            .no_default_headers()
            .disable_timeout()
            .disable_redirects()
            .finish()
    }
}

/// Why there is no connection. Nothing of the request was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectFailure {
    #[error("the address {0} is not allowed")]
    Refused(IpAddr),
    #[error("{0}")]
    Failed(String),
    #[error("connecting took longer than {0:?}")]
    TimedOut(Duration),
}

/// The service awc asks for connections.
#[derive(Debug, Clone)]
pub(crate) struct HttpConnector(pub(crate) Rc<ConnectOptions>);

impl Service<ConnectInfo<Uri>> for HttpConnector {
    type Response = Connection<Uri, Io>;
    type Error = ConnectError;
    type Future = LocalBoxFuture<'static, Result<Self::Response, ConnectError>>;

    actix_service::always_ready!();

    fn call(&self, info: ConnectInfo<Uri>) -> Self::Future {
        let setup = self.0.clone();
        let uri = info.request().clone();
        Box::pin(async move {
            let within = setup.within;
            let connected = timeout(within, setup.connect(&uri)).await;
            let connected = connected.unwrap_or(Err(ConnectFailure::TimedOut(within)));
            // The one variant that carries an error of ours.
            let io = connected.map_err(|failure| ConnectError::Resolver(Box::new(failure)))?;
            Ok(Connection::new(uri, io))
        })
    }
}

impl ConnectOptions {
    async fn connect(&self, uri: &Uri) -> Result<Io, ConnectFailure> {
        if let Some(path) = &self.unix_socket {
            let connected = UnixStream::connect(path).await;
            return connected
                .map(Io::Unix)
                .map_err(|error| ConnectFailure::Failed(format!("{}: {error}", path.display())));
        }
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let standard = if self.tls.is_some() { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(standard);
        let tcp = self.connect_tcp(host, port).await?;
        match &self.tls {
            None => Ok(Io::Tcp(tcp)),
            Some(tls) => tls_handshake(tls, host, tcp).await,
        }
    }

    async fn connect_tcp(&self, host: &str, port: u16) -> Result<TcpStream, ConnectFailure> {
        let found = resolve_host(host, port).await?;
        let allowed = |address: &SocketAddr| self.addresses.allows(host, address.ip(), port);
        let addresses: Vec<SocketAddr> = found
            .iter()
            .copied()
            .filter(allowed)
            .take(ADDRESSES)
            .collect();
        if addresses.is_empty() {
            return Err(match found.first() {
                Some(address) => ConnectFailure::Refused(address.ip()),
                None => ConnectFailure::Failed("the name has no address".to_owned()),
            });
        }
        let end = Instant::now() + self.within;
        let mut reasons = Vec::new();
        for (tried, address) in addresses.iter().enumerate() {
            // What is left of the time is shared among the addresses that are left.
            let left = end.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(1);
            let connected = timeout_at(Instant::now() + share, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(tcp) => {
                    // Requests are small and wait for an answer; a failure costs delay only.
                    let _ = tcp.set_nodelay(true);
                    return Ok(tcp);
                }
                Err(error) => reasons.push(format!("{address}: {error}")),
            }
        }
        Err(ConnectFailure::Failed(reasons.join("; ")))
    }
}

async fn resolve_host(host: &str, port: u16) -> Result<Vec<SocketAddr>, ConnectFailure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| ConnectFailure::Failed(error.to_string()))?;
    Ok(found.collect())
}

async fn tls_handshake(tls: &Tls, host: &str, tcp: TcpStream) -> Result<Io, ConnectFailure> {
    let failed = |error: &dyn std::fmt::Display| ConnectFailure::Failed(format!("TLS: {error}"));
    let config = tls.config().map_err(|error| failed(&error))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(&error))?;
    let stream = TlsConnector::from(config).connect(name, tcp).await;
    let stream = stream.map_err(|error| failed(&error))?;
    Ok(Io::Tls(Box::new(stream)))
}
