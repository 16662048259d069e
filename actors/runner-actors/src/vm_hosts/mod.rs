//! The hosts of VMs: which there are, how they are, and which one a job's VM is asked of.
//!
//! ```text
//! VmHostWatcher ──GET /health, /images──▶ VM managers
//!       └─ what they say ─▶ VmHosts ◀─ place, take ── jobs ──POST /vms──▶ the host that was chosen
//!                             ▲ └─ cordons ─▶ store
//! people ── cordon, drain ────┘
//! ```
//! Which host is the best is decided by [`runner_core::placement`]. What a host is said to have
//! free is what it last said, without what our jobs have asked for since.

mod cordon;
mod known_host;
mod registry;
mod settings;
mod slot;
mod view;
mod watcher;

pub use cordon::Cordon;
pub use registry::VmHosts;
pub use settings::{DEFAULT_HOST, MachineType, VmHostSettings};
pub(crate) use slot::HostSlot;
pub use view::{VmHostFacts, VmHostView};
pub(crate) use watcher::VmHostWatcher;
