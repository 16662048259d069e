//! Where another file system begins below a folder.
//!
//! An unmounted file system leaves an empty folder behind: nothing in it says that its files still
//! exist elsewhere. So whoever compares a folder with an index has to know which folders were
//! mounts.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

/// Whether a file system is mounted at the folder, and the device that its files lie on; `None`
/// where it is not there.
pub(super) fn find_mount(folder: &Path) -> Option<MountPoint> {
    let data = statx(
        CWD,
        folder,
        AtFlags::SYMLINK_NOFOLLOW,
        StatxFlags::BASIC_STATS,
    )
    .ok()?;
    let device = rustix::fs::makedev(data.stx_dev_major, data.stx_dev_minor);
    let is_known = data
        .stx_attributes_mask
        .contains(StatxAttributes::MOUNT_ROOT);
    let is_mount = match is_known {
        true => data.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        // Kernels before 5.8: a mount of the same device is not noticed there.
        false => device_of(folder.parent()?).is_some_and(|above| above != device),
    };
    Some(MountPoint { is_mount, device })
}

/// What is at a folder.
pub(super) struct MountPoint {
    pub(super) is_mount: bool,
    pub(super) device: u64,
}

fn device_of(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    folder.symlink_metadata().ok().map(|data| data.dev())
}
