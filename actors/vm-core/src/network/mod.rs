//! What a VM with `network = "user"` may reach: a list of hosts, and requests to the proxy that
//! stands before it.
//!
//! ```text
//! program in the VM ─▶ 127.0.0.1:PROXY_PORT (agent) ─stream─▶ manager
//!                                request::read ─▶ NetworkTarget ─NetworkPolicy::names─▶ addresses
//!                                                           NetworkPolicy::connects─▶ peer
//! ```
//!
//! What asks the proxy itself for a path (`GET /x` to `127.0.0.1:PROXY_PORT`) gets the services
//! that the VM's owner named when it was ordered, where the manager's configuration names them too.
//!
//! What it named beside them (`services_for`) is led there too, instead of out; such a connection
//! begins with [`REACH_FIELD`] in a head of its own.
//!
//! A VM has no network device. What asks for a host is checked by the name it asks for; then the
//! name is looked up once, and each address is checked before exactly that one is connected to, so
//! a name cannot lead elsewhere in between.

mod reach;
pub mod request;

pub use reach::NetworkPolicy;
pub use vmm_api_core::network::{
    AllowList, HostPattern, HostPatternError, NetworkTarget, PROXY_PORT, PROXY_SOCKET, REACH_FIELD,
    REACHED, TargetError, TargetHost,
};

#[cfg(test)]
mod tests;
