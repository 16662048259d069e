//! The values of a machine in configuration files, for all who ask for VMs: the same key takes the
//! same text in each of them.

use config_core::{
    ByteSize, Choices, DescribeShape as _, PlainKind, TextKind, ValueError, ValueKind as _,
    format_size, from_str, list, no_text,
};

use crate::network::{AllowList, HostPattern};
use crate::{ImageRef, Isolation, Network};

/// The words of `isolation_min`.
pub const ISOLATIONS: &Choices<Isolation> = &[
    ("namespace-sandbox", Isolation::NamespaceSandbox),
    ("emulated-vm", Isolation::EmulatedVm),
    ("hardware-vm", Isolation::HardwareVm),
];
/// The words of `network`.
pub const NETWORKS: &Choices<Network> = &[("none", Network::None), ("user", Network::User)];

/// Memory in MiB: the least that a guest starts with; a manager's own limits may be narrower.
pub const MEMORY: TextKind<u32> = TextKind::new("size", mib::<128, { 1 << 20 }>, format_mib);
/// Disk in MiB.
pub const DISK: TextKind<u32> = TextKind::new("size", mib::<256, { 1 << 24 }>, format_mib);
/// The name or digest of an image.
pub const IMAGE: TextKind<ImageRef> = TextKind::new("image", image, ImageRef::to_string);
/// What a machine may reach, in the words of the VM manager.
const REACHABLE: TextKind<HostPattern> =
    TextKind::new("address", from_str, |pattern| String::from(pattern.clone()));

/// The hosts that a machine may reach.
pub const ALLOWED: PlainKind<AllowList> = PlainKind {
    shape: || list(REACHABLE).shape(),
    read: |item| list(REACHABLE).read(item).map(AllowList),
    parse: no_text,
    write: |allowed| list(REACHABLE).write(&allowed.0),
};

fn image(text: &str) -> Result<ImageRef, ValueError> {
    let checked = from_str::<ImageRef>(text);
    checked.map_err(|error| error.help("`vm-manager image list` shows the images there are"))
}

/// A size as whole MiB, within bounds in MiB.
///
/// # Errors
/// For what is no size, or is out of bounds.
pub fn mib<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u32, ValueError> {
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

/// MiB as a file would say it.
#[must_use]
pub fn format_mib(mib: &u32) -> String {
    format_size(&(u64::from(*mib) << 20))
}
