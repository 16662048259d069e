//! The VM manager's actors: the scheduler that admits requests, one actor for each VM, the warm
//! pool.
//!
//! ```text
//! edge ─CreateVm─▶ VmScheduler ─starts─▶ Vm ─threads─▶ vm_engine::Machine
//!   │                 │                   └─publishes─▶ VmEntry in the VmRegistry ◀─reads─ edge
//!   │                 └─takes from─ WarmPool ◀─fills─ PoolManager ─threads─▶ vm_engine::Template
//!   └─StartExec, PutFiles, …─▶ Vm
//! ```
//!
//! What blocks runs on threads apart from the actors'. What must outlive the process is recorded
//! before it is answered: which requests came is in the store, which processes there are in the
//! directories of the VMs, by the driver.

mod clock;
mod counters;
mod entry;
pub mod host_preparation;
mod ids;
pub mod image_fetcher;
mod image_room;
pub mod image_storage;
pub mod images;
pub mod keys;
pub mod log;
pub mod messages;
pub mod network;
mod pool_manager;
mod provisioning;
mod refused_requests;
mod registry;
mod relay;
mod request_queue;
mod scheduler;
mod service;
mod settings;
mod view;
mod vm;
mod warm_pool;

pub use clock::{Clock, wall};
pub use counters::CountersView;
pub use entry::{ExecRecord, VmEntry};
pub use pool_manager::PoolManager;
pub use registry::RegisteredVm;
pub use scheduler::VmScheduler;
pub use service::VmService;
pub use settings::VmSettings;
pub use view::VmManagerView;
pub use vm::{PROMPT_TIMEOUT, SNAPSHOT_TIMEOUT, Vm};
