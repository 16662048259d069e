//! The network of a VM: streams of its agent, led by a proxy to what its configuration allows.
//!
//! ```text
//! GuestStream ─head─▶ request::read ─▶ NetworkPolicy::names ─▶ resolve once ─▶ NetworkPolicy::connects
//!                        │ refused: 4xx, 5xx with the reason                   │ connect to that address
//!                        ▼                                                     ▼
//!                     program ◀──────────────── relay ─────────────────▶ TcpStream
//! ```
//!
//! A VM has no network device, whatever runs it: this is its only way out, and a list of names its
//! only key. Each stream has two threads at most, a window of bytes in each direction, and ends
//! when nothing moves for [`NetworkLimits::idle`].

mod peer;
pub(crate) mod proxy;
mod relay;
mod tls;

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use tls::TrustedAuthorities;
use vm_core::network::{NetworkPolicy, NetworkTarget, REACH_FIELD, REACHED};

/// Bounds of one VM's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkLimits {
    /// Connections at once.
    pub streams: u16,
    /// How long nothing may move on one.
    pub idle: Duration,
    /// How long a connection to each address may take.
    pub connect: Duration,
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self {
            streams: 64,
            idle: Duration::from_secs(120),
            connect: Duration::from_secs(15),
        }
    }
}

/// Looks a name up.
pub type Resolve = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Told of what was refused; called from the stream's thread.
pub type OnRefused = Box<dyn Fn(&str, &ProxyRefusal) + Send + Sync>;

/// The services that a VM's owner gives it.
#[derive(Clone, Debug)]
pub struct OwnerServices {
    /// Where they are.
    pub target: NetworkTarget,
    /// What the manager's configuration lets owners name.
    pub reach: NetworkPolicy,
    /// What is led to them instead of out.
    pub led: Vec<NetworkTarget>,
}

/// The way out of one VM.
pub struct Uplink {
    /// Where requests to the proxy itself are led.
    pub services: Option<OwnerServices>,
    /// What may be reached.
    pub reach: NetworkPolicy,
    /// Its bounds.
    pub limits: NetworkLimits,
    /// Counts; shared by all VMs of a manager.
    pub traffic: Arc<NetworkTraffic>,
    /// How names are looked up: [`by_the_system`], but for tests.
    pub resolve: Resolve,
    /// Whose certificates are taken where the manager opens TLS.
    pub trust: TrustedAuthorities,
    /// Told of what was refused.
    pub on_refused: OnRefused,
}

/// Looks names up as the manager's machine does.
#[must_use]
pub fn by_the_system() -> Resolve {
    Arc::new(|name| {
        let found = (name, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

/// Why a request was not passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyRefusal {
    /// It is no request for a proxy.
    #[error("{0}")]
    BadRequest(vm_core::network::request::RequestError),
    /// No list names it.
    #[error("{0} is not on the allow-list of this VM")]
    NotListed(String),
    /// It leads to this machine or a local network.
    #[error(
        "{0} leads to an address that is not public, and the allow-list does not name that address"
    )]
    Address(String),
    /// Its name is not known.
    #[error("{0} cannot be resolved")]
    Unresolved(String),
    /// It does not take the connection.
    #[error("{0} cannot be connected to")]
    Unreachable(String),
    /// It was given a whole `https` URL, and there is no TLS with that host.
    #[error("{0} cannot be spoken to through TLS: {1}")]
    Tls(String, String),
    /// As many connections of all VMs together as the manager has memory for.
    #[error("the manager has no memory left for another connection of a VM; try again later")]
    NoRoom,
}

impl ProxyRefusal {
    /// As metrics and logs name it.
    #[must_use]
    pub fn label(&self) -> &'static str {
        LABELS[self.index()]
    }

    fn index(&self) -> usize {
        match self {
            Self::BadRequest(_) => 0,
            Self::NotListed(_) => 1,
            Self::Address(_) => 2,
            Self::Unresolved(_) => 3,
            Self::Unreachable(_) => 4,
            Self::NoRoom => 5,
            Self::Tls(..) => 6,
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotListed(_) | Self::Address(_) => 403,
            Self::Unresolved(_) | Self::Unreachable(_) | Self::Tls(..) => 502,
            Self::NoRoom => 503,
        }
    }
}

const LABELS: [&str; 7] = [
    "bad_request",
    "not_listed",
    "address",
    "unresolved",
    "unreachable",
    "no_room",
    "tls",
];

/// What went through, since the start.
#[derive(Debug, Default)]
pub struct NetworkTraffic {
    connections: AtomicU64,
    refused: [AtomicU64; LABELS.len()],
    sent: AtomicU64,
    received: AtomicU64,
}

/// [`NetworkTraffic`] at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficView {
    /// Connections made for VMs.
    pub connections: u64,
    /// Requests not passed on, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Bytes that VMs sent to their peers.
    pub sent: u64,
    /// Bytes that peers sent to them.
    pub received: u64,
}

impl NetworkTraffic {
    /// The numbers now.
    #[must_use]
    pub fn view(&self) -> TrafficView {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let refused = LABELS.into_iter().zip(self.refused.iter().map(read));
        TrafficView {
            connections: read(&self.connections),
            refused: refused.collect(),
            sent: read(&self.sent),
            received: read(&self.received),
        }
    }

    fn add(number: &AtomicU64, count: usize) {
        number.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Uplink {
    /// The services, where this is led to them.
    fn leads(&self, target: &NetworkTarget) -> Option<&OwnerServices> {
        let services = self.services.as_ref();
        services.filter(|services| services.led.contains(target))
    }

    /// What a connection of a place that is led to the services begins with: which place it is, and
    /// whether the VM reaches it by itself, or why not.
    fn opening(&self, target: &NetworkTarget) -> String {
        let reach = match self.addresses(&self.reach, target) {
            Ok(_) => REACHED.to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        format!("CONNECT {target} HTTP/1.1\r\n{REACH_FIELD}: {reach}\r\n\r\n")
    }

    /// The addresses that may be connected to for this, looked up once.
    fn addresses(
        &self,
        reach: &NetworkPolicy,
        target: &NetworkTarget,
    ) -> Result<Vec<IpAddr>, ProxyRefusal> {
        use vm_core::network::TargetHost;
        let shown = || target.to_string();
        if !reach.names(target) {
            return Err(ProxyRefusal::NotListed(shown()));
        }
        let found = match &target.host {
            TargetHost::Address(address) => vec![*address],
            TargetHost::Name(name) => {
                (self.resolve)(name).map_err(|_| ProxyRefusal::Unresolved(shown()))?
            }
        };
        if found.is_empty() {
            return Err(ProxyRefusal::Unresolved(shown()));
        }
        let allowed: Vec<IpAddr> = found
            .into_iter()
            .filter(|address| reach.connects(*address, target.port, is_foreign(*address)))
            .collect();
        if allowed.is_empty() {
            return Err(ProxyRefusal::Address(shown()));
        }
        Ok(allowed)
    }
}

/// Whether an address is of the public internet and not of this machine. What can be bound is the
/// machine's own; where everything can (`ip_nonlocal_bind`), everything counts as its own.
fn is_foreign(address: IpAddr) -> bool {
    config_core::is_public(address) && UdpSocket::bind((address, 0)).is_err()
}

#[cfg(test)]
mod tests;
