//! What the handlers of one server share.

use std::sync::Arc;

use edge_web::Problem;
use supervision::ChildRef;
use vm_actors::{Desk, Shared, Vm, VmSlot};
use vm_core::VmId;
use vm_core::token::TokenKey;

use crate::auth::Caller;

/// What the handlers share.
pub(crate) struct VmState {
    pub(crate) desk: ChildRef<Desk>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: TokenKey,
}

impl VmState {
    /// The VM of this id, when there is one and the caller sees it. An id that is none is answered
    /// as one that is unknown.
    pub(crate) fn slot(&self, id: &str, caller: &Caller) -> Result<Arc<VmSlot>, Problem> {
        let slot = id
            .parse::<VmId>()
            .ok()
            .and_then(|id| self.shared.board.get(&id));
        slot.filter(|slot| caller.sees(&slot.subject))
            .ok_or_else(|| Problem::not_found("there is no VM with this id"))
    }

    /// Its actor as well.
    pub(crate) fn vm(&self, id: &str, caller: &Caller) -> Result<ChildRef<Vm>, Problem> {
        let slot = self.slot(id, caller)?;
        let actor = slot.actor().cloned();
        actor.ok_or_else(|| Problem::unavailable("the VM is being started", 1))
    }
}
