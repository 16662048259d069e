//! Names for new VMs.

use uuid::Uuid;
use vm_core::VmId;

/// An id that no VM had: 64 random bits. Short, since it is a part of socket paths.
#[must_use]
pub(crate) fn fresh_vm_id() -> VmId {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    format!("vm-{high:016x}")
        .parse()
        .expect("hexadecimal digits make a valid id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        assert_ne!(fresh_vm_id(), fresh_vm_id());
        assert_eq!(fresh_vm_id().as_str().len(), 19);
    }
}
