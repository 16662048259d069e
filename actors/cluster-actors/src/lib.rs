//! What runner and orchestrator need as soon as they are more than one process on one machine.
//!
//! - [`replica`]: processes that share a store: one leads, the others stand by.
//! - [`vm_hosts`]: the hosts of VMs: how they are, and which one is asked.

pub mod replica;
pub mod vm_hosts;
