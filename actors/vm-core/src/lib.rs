//! The VM manager's model, without I/O: limits, lifecycle, decisions, tokens, and the protocol
//! spoken with the agent inside a VM.
//!
//! ```text
//! POST /vms ────NewVm────▶ VmSpec (checked) ─admission::decide─▶ Admit | Wait | Refuse
//!                                                   │
//!                          pool::decide ◀───────────┘        VmState × VmEvent ─▶ VmState
//! DELETE /vms/stuck ─▶ stuck::verdict(facts, now) ─▶ keep | release with a reason
//! vm_engine ◀──guest::Frame (length-prefixed, bounded, versioned)──▶ vm-guest
//! ```
//!
//! Nothing here reads a clock, a file or the environment: the time is an argument ([`UnixMs`]),
//! and no input panics.

pub mod admission;
pub mod clock;
mod exec;
pub mod guest;
pub mod image_index;
pub mod image_manifest;
pub mod image_room;
mod lease;
pub mod network;
pub mod pool;
mod spec;
mod state;
mod stored_name;
pub mod stuck;
pub mod token;

pub use exec::{ExecEnd, ExecError, ExecProgram, ExecSpec};
pub use lease::{Lease, LeaseError, LeaseLimits};
pub use spec::{SpecError, TemplateKey, VmLimits, VmSpec};
pub use state::{IllegalTransition, VmEvent};
pub use stored_name::{StoredName, StoredNameError};
pub use vmm_api_core::{
    DriverName, ExecId, ExecReport, ExecState, FailureReason, ImageRef, Isolation, IsolationUnmet,
    MAX_SNAPSHOTS, Network, OutputStream, Owner, SnapshotName, TerminalSize, USUAL_PATH, UnixMs,
    VmId, VmSource, VmState, VmmIdError,
};
