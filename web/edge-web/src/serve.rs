//! Serving: the listener, the application and the shutdown are arguments; nothing binds an address
//! or traps a signal inside.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive, Request, Response};
use actix_service::{
    IntoServiceFactory, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{AppConfig, Server, ServerHandle, Service};
use actix_web::rt::net::TcpStream;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use crate::connections::{ConnectionLimits, Connections};
use crate::strict::{EdgeStream, StrictStream, StrictTimeouts};

/// The listen backlog: connections that the system keeps until they are accepted.
const LISTEN_BACKLOG: i32 = 4096;

/// What the accepting thread and the workers have to hand over the connections that are there.
const HAND_OVER_TIME: Duration = Duration::from_millis(100);

/// How long a connection may take to become what is served: a client that is emulated takes seconds
/// for a handshake.
const OPENING_TIME: Duration = Duration::from_secs(30);

/// How long who has just come may take to ask before a server that ends closes the connection.
const FIRST_REQUEST_TIME: Duration = Duration::from_secs(1);
const FIRST_REQUEST_POLL: Duration = Duration::from_millis(10);

/// How a server treats its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// Worker threads; each has its own copy of the application.
    pub workers: usize,
    /// The time a client has for the head of a request.
    pub client_request_timeout: Duration,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// How long a client may take to close a connection that the server is done with, and how long
    /// the rest of a refused body is read away.
    pub client_disconnect_timeout: Duration,
    /// How long a client may take nothing of an answer that waits for it.
    pub client_stall_timeout: Duration,
    /// How long requests may still run after the shutdown was asked for; whole seconds.
    pub shutdown_timeout: Duration,
    /// The most connections at the same time. Where another one comes, the one that is missed least
    /// is closed: one that has sent no whole request, then one that waits for its next. Where all
    /// are being answered, the new one gets 503, unless it asks for health.
    pub max_connections: usize,
    /// The most of one address, of one /64 network with IPv6; not of this machine's own, which may
    /// be a proxy's. `None`: a quarter of all.
    pub max_connections_per_address: Option<usize>,
}

/// How many files this process may have open.
#[must_use]
pub fn open_files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = limit.current.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Connections for so many open files: an eighth, for a program may have five addresses, and has
/// files, indexes and children besides.
fn connections_for(open_files: usize) -> usize {
    (open_files / 8).clamp(16, 10_000)
}

impl ServeOptions {
    fn connection_limits(&self) -> ConnectionLimits {
        let of_address = self.max_connections_per_address;
        ConnectionLimits {
            all: self.max_connections,
            of_address: of_address.unwrap_or(self.max_connections / 4),
        }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            client_request_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(75),
            client_disconnect_timeout: Duration::from_secs(1),
            client_stall_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(10),
            max_connections: connections_for(open_files()),
            max_connections_per_address: None,
        }
    }
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else listens there.
    #[error("address {address} is already in use; choose another one with {variable}")]
    InUse {
        /// The address.
        address: SocketAddr,
        /// The variable or setting it came from.
        variable: &'static str,
    },
    /// Anything else.
    #[error("cannot listen on {address} (set by {variable}): {source}")]
    Other {
        /// The address.
        address: SocketAddr,
        /// The variable or setting it came from.
        variable: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Listens on `address`, which came from `variable` (named in the error). The listen backlog is
/// 4,096, or what the system allows (`net.core.somaxconn`).
///
/// # Errors
/// See [`BindError`].
pub fn bind(address: SocketAddr, variable: &'static str) -> Result<TcpListener, BindError> {
    listen(address).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => BindError::InUse { address, variable },
        _ => BindError::Other {
            address,
            variable,
            source,
        },
    })
}

/// Raises the listen backlog, which the standard library sets to 128: with a full one the system
/// drops the first packet of a connection, and the client tries again after a second or more.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    #[cfg(unix)]
    rustix::net::listen(&listener, LISTEN_BACKLOG)?;
    Ok(listener)
}

/// Serves the application that `factory` makes for each worker, until `shutdown` resolves and the
/// requests under way are answered or the shutdown timeout is over.
///
/// # Errors
/// When the listener cannot be used or a worker cannot be started.
pub async fn serve<F, A, S, B>(
    listener: TcpListener,
    factory: F,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    F: Fn() -> A + Send + Clone + 'static,
    A: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: std::fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let opener = |stream: TcpStream| std::future::ready(Ok(stream));
    serve_opened(listener, opener, factory, options, shutdown).await
}

/// The same over what `opener` makes of each connection that was accepted: TLS that ends here, for
/// instance.
///
/// # Errors
/// When the listener cannot be used or a worker cannot be started.
pub async fn serve_opened<O, P, T, F, A, S, B>(
    listener: TcpListener,
    opener: O,
    factory: F,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    O: Fn(TcpStream) -> P + Send + Clone + 'static,
    P: Future<Output = io::Result<T>> + 'static,
    T: EdgeStream,
    F: Fn() -> A + Send + Clone + 'static,
    A: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: std::fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let connections = Arc::new(Connections::new(options.connection_limits()));
    let admitted = Arc::clone(&connections);
    let mut builder = Server::build()
        .workers(options.workers.max(1))
        // They are counted below. What waits in the listener's queue could not be told why.
        .max_concurrent_connections(connections.most().saturating_mul(2))
        .shutdown_timeout(options.shutdown_timeout.as_secs())
        .disable_signals();
    let draining = builder.graceful_shutdown_signal();
    let address = listener.local_addr()?;
    builder = builder.listen("edge", listener, move || {
        let draining = draining.clone();
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let draining = draining.clone();
                async move { draining.notified().await }
            })
            .keep_alive(KeepAlive::Timeout(options.keep_alive))
            .client_request_timeout(options.client_request_timeout)
            .client_disconnect_timeout(options.client_disconnect_timeout)
            // Whoever closes a connection has left: what is done for it ends. A client that closes
            // only its sending half before it has the answer gets none.
            .h1_allow_half_closed(false)
            .local_addr(address)
            .on_connect_ext(|stream: &StrictStream<T>, data| {
                data.insert(stream.connection());
                stream.inner().describe(data);
            });
        let application = factory().into_factory().map_err(into_response);
        let timeouts = StrictTimeouts {
            head: options.client_request_timeout,
            end: options.client_disconnect_timeout,
            stall: options.client_stall_timeout,
        };
        let connections = Arc::clone(&connections);
        let opener = opener.clone();
        fn_service(move |stream: TcpStream| {
            let peer = stream.peer_addr().ok();
            let seat = connections.admit(peer.map(|peer| peer.ip()));
            let opener = opener.clone();
            async move {
                let Some(seat) = seat else {
                    refuse(&stream);
                    return Err(DispatchError::Io(ErrorKind::ConnectionRefused.into()));
                };
                let stream = open(stream, opener).await.map_err(DispatchError::Io)?;
                Ok((StrictStream::new(stream, timeouts, seat), peer))
            }
        })
        .and_then(http.h1(map_config(application, |()| AppConfig::default())))
    })?;
    run_until(builder.run(), shutdown, &admitted).await
}

/// What `opener` makes of a connection, within a bounded time.
async fn open<T, P: Future<Output = io::Result<T>>>(
    stream: TcpStream,
    opener: impl FnOnce(TcpStream) -> P,
) -> io::Result<T> {
    // Answers are written whole; waiting for more would only delay them.
    stream.set_nodelay(true).ok();
    let opened = tokio::time::timeout(OPENING_TIME, opener(stream)).await;
    opened.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

/// Serves until `shutdown` resolves, and then until who was let in has an answer.
async fn run_until(
    server: Server,
    shutdown: impl Future<Output = ()>,
    admitted: &Connections,
) -> io::Result<()> {
    let handle = server.handle();
    let mut server = pin!(server);
    tokio::select! {
        ended = &mut server => return ended,
        () = shutdown => {}
    }
    // Not the builder's own shutdown signal: that one stops the whole actix system as well, and
    // with it every actor that runs on an arbiter of its own, before its supervisor has ended it.
    let stopped = async {
        stop_accepting(&handle).await;
        let until = Instant::now() + FIRST_REQUEST_TIME;
        while admitted.is_a_first_request_due(FIRST_REQUEST_TIME) && Instant::now() < until {
            tokio::time::sleep(FIRST_REQUEST_POLL).await;
        }
        handle.stop(true).await;
    };
    let ((), ended) = tokio::join!(stopped, server);
    ended
}

/// Lets nobody else in, and waits until who was let in has a worker: a server that is told to stop
/// drops what still waits for one, and closes what has not asked yet, both without an answer.
/// Connections that come now wait with the system for whoever accepts next.
pub async fn stop_accepting(handle: &ServerHandle) {
    handle.pause().await;
    // The thread that accepts takes note of it by itself, and nobody is told when it has.
    tokio::time::sleep(HAND_OVER_TIME).await;
}

/// One too many of those that are one too many: told to come again at once, without waiting for
/// what it wants.
fn refuse(stream: &TcpStream) {
    const FULL: &str = concat!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: application/problem+json\r\n",
        "content-length: 124\r\n\r\n",
        "{\"type\":\"about:blank\",\"title\":\"Service unavailable\",\"status\":503,\"detail\":\"this server has as many connections as it takes\"}",
    );
    // Whatever fails here, the connection is closed next.
    let _ = rustix::net::send(stream, FULL.as_bytes(), SendFlags::DONTWAIT);
    let _ = rustix::net::shutdown(stream, Shutdown::Write);
    // Closed with something unread, it would be reset, and the answer with it.
    let mut bytes = [0; 8 * 1024];
    for _ in 0..8 {
        if !rustix::net::recv(stream, &mut bytes, RecvFlags::DONTWAIT)
            .is_ok_and(|(count, _)| count > 0)
        {
            break;
        }
    }
}

fn into_response(error: impl Into<actix_web::Error>) -> Response<BoxBody> {
    error.into().error_response().into()
}

/// Resolves at the first SIGINT or SIGTERM. For programs; libraries and tests pass their own
/// future.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn shutdown_signal() -> io::Result<impl Future<Output = &'static str> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_connections_leave_room_for_files_whatever_the_limit_is() {
        for (open_files, expected) in [(1_024, 128), (20_000, 2_500), (524_288, 10_000), (64, 16)] {
            assert_eq!(connections_for(open_files), expected);
        }
        let options = ServeOptions {
            max_connections: 128,
            ..ServeOptions::default()
        };
        assert_eq!(options.connection_limits().of_address, 32);
    }
}
