//! Why a run in a VM has no end of a process.

use http_clients::vmm::VmmError;
use orchestrator_engine::process::StopCause;

/// Why an agent in a VM did not come to an end of its own.
#[derive(Debug, thiserror::Error)]
pub(in crate::agent_run) enum VmError {
    /// It was stopped before it had begun.
    #[error("it was stopped before it had begun")]
    Stopped(StopCause),
    /// No host gave a VM in time, and none said that it never will.
    #[error("{0}")]
    NoRoom(String),
    /// The VM, its manager or its host went away.
    #[error("{0}")]
    Lost(String),
    /// It cannot be done as it is configured.
    #[error("{0}")]
    Refused(String),
    /// This machine lacked something.
    #[error("{0}")]
    Local(String),
}

impl VmError {
    /// What a call to the VM manager means, beside `what` was to be done.
    pub(super) fn from_call(what: &str) -> impl Fn(VmmError) -> Self + '_ {
        move |error| {
            let text = format!("{what}: {error}");
            match error {
                VmmError::Refused(_) | VmmError::Isolation(_) | VmmError::Unauthorised(_) => {
                    Self::Refused(text)
                }
                VmmError::Upload(_) => Self::Local(text),
                _ => Self::Lost(text),
            }
        }
    }
}
