//! What makes one clone differ from another.

/// What makes one clone differ from another. Set before the first command of a VM, as is the clock:
/// to the host's time of that moment.
#[derive(Clone)]
pub struct Identity {
    /// Fresh randomness of the host.
    pub seed: [u8; 64],
    /// The guest's host name; usually the VM's id.
    pub hostname: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Who knows the seed can predict the guest's keys.
        f.debug_struct("Identity")
            .field("hostname", &self.hostname)
            .finish_non_exhaustive()
    }
}
