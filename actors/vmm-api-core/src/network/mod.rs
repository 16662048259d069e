//! What a VM with `network = "user"` may reach, as a request names it.

mod host_pattern;
mod name;
mod target;

use serde::{Deserialize, Serialize};

pub use host_pattern::{HostPattern, HostPatternError};
pub use target::{NetworkTarget, TargetError, TargetHost};

/// Where a VM's programs find the proxy, and the services of the VM's owner, on its own loopback
/// interface.
pub const PROXY_PORT: u16 = 3128;
/// Where programs that speak HTTP over a file find both.
pub const PROXY_SOCKET: &str = "/run/orrery/proxy.sock";

/// What a connection that is led to the services of a VM's owner begins with says of the VM's own
/// network: [`REACHED`], or why it does not reach what was asked for.
pub const REACH_FIELD: &str = "Vm-Reach";
/// It does.
pub const REACHED: &str = "yes";

/// Hosts that may be reached; nothing but them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowList(pub Vec<HostPattern>);

impl AllowList {
    /// Whether what is asked for is on it.
    #[must_use]
    pub fn names(&self, target: &NetworkTarget) -> bool {
        self.0.iter().any(|pattern| pattern.names(target))
    }

    /// The first pattern of `asked` that goes beyond this list.
    #[must_use]
    pub fn first_uncovered<'a>(&self, asked: &'a Self) -> Option<&'a HostPattern> {
        let covered = |pattern: &&HostPattern| !self.0.iter().any(|own| own.covers(pattern));
        asked.0.iter().find(covered)
    }

    /// Whether nothing may be reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
