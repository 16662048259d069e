//! The VM manager's actors: the desk that admits orders, one actor for each VM, the warm pool.
//!
//! ```text
//! edge ─CreateVm─▶ Desk ─starts─▶ Vm ─threads─▶ vm_engine::Machine
//!   │                 │             └─publishes─▶ VmSlot on the Board ◀─reads─ edge
//!   │                 └─takes from─ Shelves ◀─fills─ Pool ─threads─▶ vm_engine::Template
//!   └─StartExec, PutFiles, …─▶ Vm
//! ```
//!
//! What blocks runs on threads apart from the actors'. What must outlive the process is written down
//! before it is answered: which orders came is in the store, which processes there are in the folders
//! of the VMs, by the driver.

pub mod board;
mod clock;
mod desk;
mod ids;
pub mod images;
pub mod keys;
pub mod log;
pub mod messages;
pub mod network;
mod pool;
pub mod preparing;
mod relay;
mod service;
mod settings;
mod shelves;
mod slot;
mod vm;

pub use board::Board;
pub use clock::{Clock, wall};
pub use desk::Desk;
pub use pool::Pool;
pub use service::VmService;
pub use settings::{Shared, VmSettings};
pub use slot::{ExecRecord, VmSlot};
pub use vm::{PROMPT, Vm};
