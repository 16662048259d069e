//! A product behind the front door.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use config_core::Secret;

/// Where a product stands, and with what it is asked.
#[derive(Debug, Clone)]
pub(crate) struct ProductRoute {
    /// Its name in logs and messages.
    pub(crate) product: &'static str,
    /// Its name in the web application.
    pub(crate) part: &'static str,
    /// What stands before its paths here.
    pub(crate) prefix: &'static str,
    /// Its own listener.
    pub(crate) address: SocketAddr,
    /// What it wants of whoever asks; never told to anybody outside.
    pub(crate) token: Option<Secret<String>>,
}

/// How a listener of this machine is reached from itself.
pub(crate) fn reached(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}
