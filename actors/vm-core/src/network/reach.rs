//! Whether something may be reached.

use std::net::IpAddr;

use super::{AllowList, NetworkTarget};

/// What one VM may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// What the manager's configuration allows to any VM.
    pub manager: AllowList,
    /// What the request asked for; without it, all that the manager allows.
    pub requested: Option<AllowList>,
}

impl NetworkPolicy {
    /// Whether a host may be asked for: the manager's list names it, and the request's.
    #[must_use]
    pub fn names(&self, target: &NetworkTarget) -> bool {
        let requested = self
            .requested
            .as_ref()
            .is_none_or(|list| list.names(target));
        requested && self.manager.names(target)
    }

    /// Whether exactly this address may be connected to, for a host that may be asked for. One that
    /// is not `public` (of this machine, of a local network, set aside) only when the manager's
    /// list names it as an address.
    #[must_use]
    pub fn connects(&self, address: IpAddr, port: u16, public: bool) -> bool {
        public
            || self
                .manager
                .0
                .iter()
                .any(|pattern| pattern.matches(address, port))
    }
}
