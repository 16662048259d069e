//! What jobs run on, one row each.

use config_core::{TextKind, ValueError, choice, integer, list, opt, quoted, table};
use http_clients::vmm::Network;
use runner_actors::{DEFAULT_HOST, MachineType};
use runner_core::container::ImageReference;
use vmm_api_core::host_keys::{LABEL, is_label};
use vmm_api_core::machine_keys::{ALLOWED, DISK, IMAGE, ISOLATIONS, MEMORY, NETWORKS};

/// Longest label of a job.
const LONGEST_LABEL: usize = 100;

/// A group of machines.
const GROUP: TextKind<String> = TextKind::new("text", group, String::clone);

/// An image of a container.
const CONTAINER: TextKind<String> = TextKind::new("image", container, String::clone);

/// A user of an image.
const USER: TextKind<String> = TextKind::new("user", user, String::clone);

table! {
    /// What jobs of a label run on, checked as far as it can be without the VM manager.
    pub(super) static MACHINE: MachineType = "a machine" {
        /// the image
        "image" = opt(IMAGE) => vm.image;
        /// processors
        "vcpus" = opt(integer(1..=255)) => vm.vcpus;
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
        /// who the steps of jobs are there, a user of the image; root without it
        "user" = opt(USER) => user;
        /// the image of the container that steps run in where a job names none, as
        /// `docker:docker://IMAGE` of a runner of Forgejo: from the store of images or a registry
        /// of `image_registries`
        "container" = opt(CONTAINER) => container;
    } then |fields, machine| {
        let vm = &machine.vm;
        if vm.allow.is_some() && vm.network != Some(Network::User) {
            fields.error_at("allow", "`allow` needs `network = \"user\"`");
        }
    };
}

pub(super) fn label(label: &str) -> Result<(), ValueError> {
    if !is_label(label) {
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

/// The name of an image of a container.
fn container(name: &str) -> Result<String, ValueError> {
    let found = name.parse::<ImageReference>();
    found.map(|_| name.to_owned()).map_err(|error| {
        ValueError::new(error.to_string())
            .help("write it as `container` of a job: node:22-bookworm")
    })
}

/// The name of a user.
fn user(name: &str) -> Result<String, ValueError> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let starts_well = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let first = name.as_bytes().first();
    if name.len() > 32 || !name.bytes().all(is_good) || !first.is_some_and(starts_well) {
        let error = ValueError::new(format!("{} is no name of a user", quoted(name)));
        return Err(error.help("the image `full` has `runner`; `root` is who steps are without it"));
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
