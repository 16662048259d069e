//! The VMs that agents run in (`isolation = "vm"`): hosts, and what is asked of them.

use config_core::{ValueError, choice, integer, list, opt, quoted, table};
use vmm_api_core::host_keys::{LABEL, is_label};
use vmm_api_core::machine_keys::{ALLOWED, DISK, IMAGE, ISOLATIONS, MEMORY, NETWORKS};
use vmm_api_core::{MachineType, Network};

table! {
    /// What a VM of an agent is made by, checked as far as it can be without the VM manager.
    pub(super) static MACHINE: MachineType = "a machine" {
        /// the image; programs of agents are looked for in it
        "image" = opt(IMAGE) => vm.image;
        /// processors
        "vcpus" = opt(integer(1..=255)) => vm.vcpus;
        /// memory, 128 MiB at least, within the limits of the VM manager; an agent's
        /// `max_memory_bytes` wins over it
        "memory" = opt(MEMORY) => vm.mem_mib;
        /// disk, 256 MiB at least, within the limits of the VM manager
        "disk" = opt(DISK) => vm.disk_mib;
        /// `none` or `user`
        "network" = opt(choice("network", NETWORKS)) => vm.network;
        /// what of the manager's network it may reach
        "allow" = opt(ALLOWED) => vm.allow;
        /// the least isolation that will do
        "isolation_min" = opt(choice("isolation", ISOLATIONS)) => vm.isolation_min;
        /// labels that its VM host must have
        "host_labels" = list(LABEL) => host_labels;
    } then |fields, machine| {
        if machine.vm.allow.is_some() && machine.vm.network != Some(Network::User) {
            fields.error_at("allow", "`allow` needs `network = \"user\"`");
        }
    };
}

/// The name of a host or machine.
pub(super) fn name(name: &str) -> Result<(), ValueError> {
    if !is_label(name) {
        let error = ValueError::new(format!("{} cannot be a name here", quoted(name)));
        return Err(error.help("use 1 to 100 characters without blanks and commas"));
    }
    Ok(())
}
