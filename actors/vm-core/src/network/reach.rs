//! Whether something may be reached.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Place, Target};

/// Places that may be reached; nothing but them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowList(pub Vec<Place>);

impl AllowList {
    /// Whether what is asked for is on it.
    #[must_use]
    pub fn names(&self, target: &Target) -> bool {
        self.0.iter().any(|place| place.names(target))
    }

    /// The first place of `asked` that goes beyond this list.
    #[must_use]
    pub fn beyond<'a>(&self, asked: &'a Self) -> Option<&'a Place> {
        let covered = |place: &&Place| !self.0.iter().any(|own| own.covers(place));
        asked.0.iter().find(covered)
    }

    /// Whether nothing may be reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What one VM may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// What the manager's configuration allows to any VM.
    pub manager: AllowList,
    /// What the order asked for; without it, all that the manager allows.
    pub order: Option<AllowList>,
}

impl Reach {
    /// Whether a host may be asked for: the manager's list names it, and the order's.
    #[must_use]
    pub fn names(&self, target: &Target) -> bool {
        let ordered = self.order.as_ref().is_none_or(|list| list.names(target));
        ordered && self.manager.names(target)
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
                .any(|place| place.holds(address, port))
    }
}
