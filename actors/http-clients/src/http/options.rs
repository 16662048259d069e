//! How a client behaves, for all its calls.

use std::path::PathBuf;
use std::time::Duration;

use crate::http::{AddressPolicy, Tls};

/// Which redirects are followed. Whatever is chosen, secrets never go to another origin, and each
/// hop passes the address policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// None: a 3xx is an answer like others.
    #[default]
    Never,
    /// Up to so many, within one origin (scheme, host and port); another is
    /// [`HttpError::Redirected`](crate::http::HttpError::Redirected).
    SameOrigin(u8),
    /// Up to so many, to any origin but from `https` to `http`.
    Anywhere(u8),
}

/// Settings of a client; [`HttpOptions::default`] is careful.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Longest time for look-up, connection and TLS handshake.
    pub connect: Duration,
    /// Longest time for a whole call;
    /// [`Request::with_deadline`](crate::http::Request::with_deadline) overrides.
    pub deadline: Duration,
    /// Longest time between two chunks of a stream.
    pub idle: Duration,
    /// Largest body in bytes;
    /// [`Request::with_max_body`](crate::http::Request::with_max_body) overrides.
    pub max_body: usize,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// Which addresses may be connected to.
    pub addresses: AddressPolicy,
    /// All connections go to this Unix socket instead; the address names only host and path.
    pub unix_socket: Option<PathBuf>,
    /// Most connections at once; further calls wait, within their deadline.
    pub connections: usize,
    /// Which certificates are trusted.
    pub tls: Tls,
}

impl Default for HttpOptions {
    /// 5 s to connect, 30 s for a call, 60 s idle, 8 MiB, no redirects, any address, 32
    /// connections.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            deadline: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            max_body: 8 << 20,
            redirects: Redirects::Never,
            addresses: AddressPolicy::Any,
            unix_socket: None,
            connections: 32,
            tls: Tls::System,
        }
    }
}
