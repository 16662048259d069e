//! Blocking VM work without actors: drivers for QEMU, Firecracker and bubblewrap, images,
//! templates and clones.
//!
//! ```text
//! ImageStore::resolve ─▶ Image ─┐
//!                               ├─ Driver::start ─────────────▶ Arc<dyn Machine>   (cold)
//!                               └─ Driver::template ─▶ Template::spawn ─▶ Arc<dyn Machine>   (paused clone)
//! Machine: wake · open_network · exec ─▶ ExecSink · put_tar · get_tar · ping · kill
//! ```
//!
//! Every call blocks, within a deadline that is an argument or written beside it: actors call from
//! threads of their own. What a guest sends is bounded by the protocol's credit, so a flood costs
//! its own job time and nobody memory.

pub mod bubblewrap;
mod driver;
pub mod firecracker;
mod gate;
pub mod image;
mod link;
mod machine;
pub mod network;
mod process;
mod program;
mod qcow2;
pub mod qemu;
mod qmp;

pub use driver::{
    CloneOrder, Driver, DriverError, ExecSink, ExecTicket, Flow, Identity, Machine, MachineError,
    MachineEvent, OnMachineEvent, ProcessRecord, Progress, StartOrder, Template,
};
pub use process::{Leftover, disk_is_full, end_leftovers};
pub use program::installed;
