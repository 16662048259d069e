//! What jobs run on, and the hosts of VMs, one row each.

use config_core::{SECRET, Secret, TextKind, ValueError, choice, list, opt, quoted, table, whole};
use http_clients::vmm::Network;
use runner_actors::{DEFAULT_HOST, MachineType, VmHostSettings};
use url::Url;
use vmm_api_core::machine_keys::{ALLOWED, DISK, IMAGE, ISOLATIONS, MEMORY, NETWORKS};

/// Longest label of a job.
const LONGEST_LABEL: usize = 100;

/// A label of a VM host.
const LABEL: TextKind<String> = TextKind::new(
    "label",
    |text| label(text).map(|()| text.to_owned()),
    String::clone,
);
/// A group of machines.
const GROUP: TextKind<String> = TextKind::new("text", group, String::clone);
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

    /// What jobs of a label run on, checked as far as it can be without the VM manager.
    pub(super) static MACHINE: MachineType = "a machine" {
        /// the image
        "image" = opt(IMAGE) => vm.image;
        /// processors
        "vcpus" = opt(whole(1..=255)) => vm.vcpus;
        /// memory, 128 MiB at least, within the limits of the VM manager
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
        /// groups that it is in, for `runs-on: {group: …}`; a group without machines counts as not
        /// named
        "groups" = list(GROUP) => groups;
    } then |fields, machine| {
        let vm = &machine.vm;
        if vm.allow.is_some() && vm.network != Some(Network::User) {
            fields.error_at("allow", "`allow` needs `network = \"user\"`");
        }
    };
}

pub(super) fn label(label: &str) -> Result<(), ValueError> {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    if label.is_empty() || label.len() > LONGEST_LABEL || label.contains(wrong) {
        let error = ValueError::new(format!("{} is no label", quoted(label)));
        return Err(error.help(format!(
            "name it as `runs-on` does: 1 to {LONGEST_LABEL} characters without blanks and commas, such as `ubuntu-latest` or `default`"
        )));
    }
    Ok(())
}

/// The name of a group of machines.
fn group(name: &str) -> Result<String, ValueError> {
    if name.len() > LONGEST_LABEL {
        let error = ValueError::new(format!("{} is no group of machines", quoted(name)));
        return Err(error.help(format!(
            "name it as `runs-on` does behind `group:`, in at most {LONGEST_LABEL} bytes"
        )));
    }
    Ok(name.to_owned())
}

pub(super) fn host_name(name: &str) -> Result<(), ValueError> {
    if name == DEFAULT_HOST {
        let error = ValueError::new(format!("{} is taken", quoted(name)));
        return Err(error.help("it is the host of `VMM_API_URL`; give this one another name"));
    }
    label(name)
}
