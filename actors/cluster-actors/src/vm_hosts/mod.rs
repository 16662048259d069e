//! The hosts of VMs, for those who run something in VMs: which there are, how they are, which one
//! is asked for a VM, and a VM while it is held.
//!
//! ```text
//! VmHostWatcher ──GET /health, /images──▶ VM managers
//!       └─ what they say ─▶ VmHosts ◀─ place, take ── VmRequest ──POST /vms──▶ the host that was chosen
//!                             ▲ └─ cordons ─▶ store          └─▶ HeldVm: its lease is extended
//! people ── cordon, drain ────┘
//! ```
//! The list is renewed while all this goes on ([`VmHosts::renew`]): whatever is done for each host
//! follows it ([`VmHosts::run_for_each`]).
//!
//! Which host is the best is decided by [`vmm_api_core::placement`]. What a host is said to have
//! free is what it last said, without what we have asked for since.

mod cordon;
mod held_vm;
mod host_list;
mod host_tasks;
mod known_host;
mod registry;
mod request;
mod slot;
pub mod tarball;
mod view;
mod waiting_line;
mod watcher;

pub use cordon::CordonTable;
pub use held_vm::{HeldVm, LEASE};
pub use registry::VmHosts;
pub use request::{NoVm, VmRequest};
pub use vmm_api_core::{
    Cordon, DEFAULT_HOST, HostChanges, MachineType, VmHostFacts, VmHostSettings, VmHostView,
};
pub use waiting_line::{PlaceInLine, WaitingLine};
pub use watcher::VmHostWatcher;
