//! The VMs that agents run in (`isolation = "vm"`): hosts, and what is asked of them.

use config_core::{SECRET, Secret, TextKind, ValueError, choice, list, opt, quoted, table, whole};
use url::Url;
use vmm_api_core::machine_keys::{ALLOWED, DISK, IMAGE, ISOLATIONS, MEMORY, NETWORKS};
use vmm_api_core::{MachineType, Network, VmHostSettings};

/// Longest name of a host or machine, or label, in bytes.
const LONGEST_NAME: usize = 100;

/// A label of a VM host.
const LABEL: TextKind<String> = TextKind::new(
    "label",
    |text| name(text).map(|()| text.to_owned()),
    String::clone,
);

/// What a file says of a host of VMs.
#[derive(Debug, Clone, Default)]
pub(super) struct VmHostTable {
    url: Option<Url>,
    token: Option<Secret<String>>,
    labels: Vec<String>,
}

impl VmHostTable {
    /// With its name; none without an address, which is a mistake of its own.
    pub(super) fn named(self, name: String) -> Option<VmHostSettings> {
        Some(VmHostSettings {
            name,
            url: self.url?,
            token: self.token,
            labels: self.labels,
        })
    }
}

table! {
    /// A host whose VM manager gives VMs.
    pub(super) static VM_HOST: VmHostTable = "a VM host" {
        /// the address of its VM manager
        "url" (required) = opt(TextKind::HTTP_URL) => url;
        /// a token of its VM manager
        "token" = opt(SECRET) => token;
        /// what machines can ask for by `host_labels`
        "labels" = list(LABEL) => labels;
    }

    /// What a VM of an agent is made by, checked as far as it can be without the VM manager.
    pub(super) static MACHINE: MachineType = "a machine" {
        /// the image; programs of agents are looked for in it
        "image" = opt(IMAGE) => vm.image;
        /// processors
        "vcpus" = opt(whole(1..=255)) => vm.vcpus;
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
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(wrong) {
        let error = ValueError::new(format!("{} cannot be a name here", quoted(name)));
        return Err(error.help(format!(
            "use 1 to {LONGEST_NAME} characters without blanks and commas"
        )));
    }
    Ok(())
}
