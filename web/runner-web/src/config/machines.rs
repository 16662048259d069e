//! What jobs run on, and the hosts of VMs, one row each.

use config_core::{
    ByteSize, Choices, Plain, SECRET, Secret, Shaped as _, TextKind, ValueError, ValueKind as _,
    choice, from_str, list, no_text, opt, quoted, table, whole,
};
use http_clients::vmm::{AllowList, ImageRef, Isolation, Network};
use runner_actors::{DEFAULT_HOST, MachineType, VmHostSettings};
use url::Url;
use vm_core::network::HostPattern;

use super::kinds::shown;

const ISOLATIONS: &Choices<Isolation> = &[
    ("namespace-sandbox", Isolation::NamespaceSandbox),
    ("emulated-vm", Isolation::EmulatedVm),
    ("hardware-vm", Isolation::HardwareVm),
];
const NETWORKS: &Choices<Network> = &[("none", Network::None), ("user", Network::User)];
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
/// The least that a guest starts with; a manager's own limits may be narrower.
const MEMORY: TextKind<u32> = TextKind::new("size", mib::<128, { 1 << 20 }>, shown_mib);
const DISK: TextKind<u32> = TextKind::new("size", mib::<256, { 1 << 24 }>, shown_mib);
const IMAGE: TextKind<ImageRef> = TextKind::new("image", image, ImageRef::to_string);
/// What a machine may reach, in the words of the VM manager.
const REACHABLE: TextKind<HostPattern> =
    TextKind::new("address", from_str, |pattern| String::from(pattern.clone()));

/// The hosts that a machine may reach.
const ALLOWED: Plain<AllowList> = Plain {
    shape: || list(REACHABLE).shape(),
    read: |item| list(REACHABLE).read(item).map(AllowList),
    parse: no_text,
    write: |allowed| list(REACHABLE).write(&allowed.0),
};

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

fn image(text: &str) -> Result<ImageRef, ValueError> {
    let checked = from_str::<ImageRef>(text);
    checked.map_err(|error| error.help("`vm-manager image list` shows the images there are"))
}

pub(super) fn mib<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u32, ValueError> {
    let size = ByteSize::parse(text)?.bytes() >> 20;
    let in_bounds = (LEAST..=MOST)
        .contains(&size)
        .then(|| u32::try_from(size).ok());
    in_bounds.flatten().ok_or_else(|| {
        let shown = |mib: u64| ByteSize::new(mib << 20);
        let error = ValueError::new(format!("{} is out of bounds", shown(size)));
        error.help(format!("give {} to {}", shown(LEAST), shown(MOST)))
    })
}

pub(super) fn shown_mib(mib: &u32) -> String {
    shown(&(u64::from(*mib) << 20))
}
