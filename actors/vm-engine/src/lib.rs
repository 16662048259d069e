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
mod error;
mod event;
mod exec;
pub mod firecracker;
mod gate;
mod identity;
pub mod image;
mod kernel;
mod link;
mod machine;
pub mod network;
mod process;
mod program;
mod qcow2;
pub mod qemu;
mod qmp;

pub use driver::{CloneRequest, Driver, Machine, StartRequest, Template};
pub use error::{DriverError, MachineError};
pub use event::{MachineEvent, OnMachineEvent, OnProgress};
pub use exec::{ExecSink, ExecTicket, OutputFlow};
pub use identity::Identity;
pub use link::bound_buffers;
pub use process::{OrphanProcess, ProcessRecord, disk_is_full, end_orphans};
pub use program::installed;
