//! The VM manager's model, without I/O: ids, limits, states, decisions, JSON shapes, tokens, and
//! the protocol spoken with the agent inside a VM.
//!
//! ```text
//! POST /vms ─wire::CreateVm─▶ VmSpec (checked) ─admission::decide─▶ Admit | Wait | Refuse
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
mod id;
mod isolation;
mod lease;
pub mod network;
pub mod pool;
mod spec;
mod state;
pub mod stuck;
mod time;
pub mod token;
pub mod wire;

pub use exec::{ExecEnd, ExecError, ExecSpec, ExecState, Program, Stream};
pub use id::{ExecId, IdError, ImageRef, Owner, VmId};
pub use isolation::{DriverName, Isolation, IsolationUnmet};
pub use lease::{Lease, LeaseError, LeaseLimits};
pub use spec::{Limits, Network, SpecError, TemplateKey, VmSpec};
pub use state::{FailureReason, IllegalTransition, Source, VmEvent, VmState};
pub use time::UnixMs;
