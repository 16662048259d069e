//! Serving: the listener, the application and the shutdown are arguments; nothing binds an address or
//! traps a signal inside.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Request, Response};
use actix_service::{
    IntoServiceFactory, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{AppConfig, Server, Service};
use actix_web::rt::net::TcpStream;

use crate::strict::{StrictStream, StrictTimeouts};

/// How long a server's start waits for the actors that its first requests will ask.
pub const START_PATIENCE: Duration = Duration::from_secs(5);

/// Connections that may wait to be taken.
const QUEUE: i32 = 4096;

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
    /// The most connections of one worker; the others wait in the listener's queue.
    pub max_connections: usize,
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
            max_connections: 10_000,
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

/// Listens on `address`, which came from `variable` (named in the error). Connections that come faster than they are taken
/// wait in a queue of 4,096, or of what the system allows (`net.core.somaxconn`).
///
/// # Errors
/// See [`BindError`].
pub fn bind(address: SocketAddr, variable: &'static str) -> Result<TcpListener, BindError> {
    listen(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { address, variable },
        _ => BindError::Other {
            address,
            variable,
            source,
        },
    })
}

/// The standard library's queue has 128 places. One client more at once waits a second or more: the system drops its first
/// packet, and the client tries again.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    #[cfg(unix)]
    rustix::net::listen(&listener, QUEUE)?;
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
    let mut builder = Server::build()
        .workers(options.workers.max(1))
        .max_concurrent_connections(options.max_connections.max(1))
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
            // Whoever closes a connection has left: what is done for it ends. A client that closes only its sending half
            // before it has the answer gets none.
            .h1_allow_half_closed(false)
            .local_addr(address)
            .on_connect_ext(|stream: &StrictStream<TcpStream>, data| {
                data.insert(stream.connection());
            });
        let application = factory().into_factory().map_err(into_response);
        let timeouts = StrictTimeouts {
            head: options.client_request_timeout,
            end: options.client_disconnect_timeout,
            stall: options.client_stall_timeout,
        };
        fn_service(move |stream: TcpStream| async move {
            let peer = stream.peer_addr().ok();
            // Answers are written whole; waiting for more would only delay them.
            stream.set_nodelay(true).ok();
            Ok((StrictStream::new(stream, timeouts), peer))
        })
        .and_then(http.h1(map_config(application, |()| AppConfig::default())))
    })?;
    let server = builder.run();
    let handle = server.handle();
    let mut server = pin!(server);
    tokio::select! {
        ended = &mut server => return ended,
        () = shutdown => {}
    }
    // Not the builder's own shutdown signal: that one stops the whole actix system as well, and
    // with it every actor that runs on an arbiter of its own, before its supervisor has ended it.
    let ((), ended) = tokio::join!(handle.stop(true), server);
    ended
}

fn into_response(error: impl Into<actix_web::Error>) -> Response<BoxBody> {
    error.into().error_response().into()
}

/// Resolves at the first SIGINT or SIGTERM. For programs; libraries and tests pass their own future.
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
