//! `[machines.<label>]`: what jobs of a label run on, checked as far as it can be without the VM manager.

use std::ops::RangeInclusive;

use config_core::{ByteSize, Choices, Fields, Item, ValueError};
use outbound::vmm::NewVm;

use super::ISOLATIONS;

const NETWORKS: &Choices<&str> = &[("none", "none"), ("user", "user")];
/// The least that a guest starts with; a manager's own limits may be narrower.
const MEMORY_MIB: RangeInclusive<u64> = 128..=1 << 20;
const DISK_MIB: RangeInclusive<u64> = 256..=1 << 24;
/// Longest label of a job.
const LONGEST_LABEL: usize = 100;

pub(super) fn machine(label: &str, item: &Item<'_>) -> Option<NewVm> {
    const KEYS: [&str; 7] = [
        "image",
        "vcpus",
        "memory",
        "disk",
        "network",
        "allow",
        "isolation_min",
    ];
    check_label(label, item);
    item.fields("a machine", &KEYS, |fields| {
        Some(NewVm {
            image: fields.optional("image", image),
            vcpus: fields
                .optional("vcpus", |item| item.integer(1..=255))
                .and_then(|number| u32::try_from(number).ok()),
            mem_mib: fields.optional("memory", |item| mib(item, MEMORY_MIB)),
            disk_mib: fields.optional("disk", |item| mib(item, DISK_MIB)),
            isolation_min: fields
                .optional("isolation_min", |item| item.choice("isolation", ISOLATIONS)),
            ..network(fields)
        })
    })
}

/// A label that no `runs-on` can name would never be used.
fn check_label(label: &str, item: &Item<'_>) {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    if label.is_empty() || label.len() > LONGEST_LABEL || label.contains(wrong) {
        let error = ValueError::new(format!("{} is no label", config_core::quoted(label)));
        item.error(error.help(format!(
            "name it as `runs-on` does: 1 to {LONGEST_LABEL} characters without blanks and commas, such as `ubuntu-latest` or `default`"
        )));
    }
}

fn network(fields: &Fields<'_>) -> NewVm {
    let network = fields.optional("network", |item| item.choice("network", NETWORKS));
    let allow = fields.optional("allow", |item| item.list(reachable));
    if allow.is_some() && network != Some("user") {
        let error = "`allow` needs `network = \"user\"`";
        fields.error_at("allow", ValueError::new(error));
    }
    NewVm {
        network: network.map(str::to_owned),
        allow,
        ..NewVm::default()
    }
}

fn image(item: &Item<'_>) -> Option<String> {
    item.parsed(|text| {
        let checked = text.parse::<vm_core::ImageRef>();
        checked.map(|_| text.to_owned()).map_err(|error| {
            ValueError::new(error.to_string())
                .help("`vm-manager image list` shows the images there are")
        })
    })
}

/// What a machine may reach, in the words of the VM manager.
fn reachable(item: &Item<'_>) -> Option<String> {
    item.parsed(|text| {
        text.parse::<vm_core::network::Place>()
            .map(String::from)
            .map_err(|error| ValueError::new(error.to_string()))
    })
}

fn mib(item: &Item<'_>, range: RangeInclusive<u64>) -> Option<u32> {
    let size = item.byte_size()?.bytes() >> 20;
    if !range.contains(&size) {
        let shown = |mib: u64| ByteSize::new(mib << 20);
        let error = ValueError::new(format!("{} is out of bounds", shown(size)));
        item.error(error.help(format!(
            "give {} to {}",
            shown(*range.start()),
            shown(*range.end())
        )));
        return None;
    }
    u32::try_from(size).ok()
}
