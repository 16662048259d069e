//! How QEMU is run.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;

/// The disk's file in a VM's directory.
pub(super) const DISK: &str = "disk.qcow2";
pub(super) const HINT: &str =
    "install Debian's qemu-system-x86, or set the path of qemu-system-x86_64";

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// QEMU's translator: works everywhere, several times slower.
    Tcg,
}

/// How QEMU is run.
#[derive(Clone, Debug)]
pub struct QemuConfig {
    /// The program, usually `qemu-system-x86_64`; see [`find`](super::find).
    pub program: PathBuf,
    /// Kernel and initramfs; see [`crate::image::kernel`].
    pub kernel: Kernel,
    /// KVM or emulation; see [`Canary`](super::Canary).
    pub accelerator: Accelerator,
    /// Where each VM and template gets its folder. An absolute path of a folder that exists; on a
    /// disk, as templates keep their memory there.
    pub runtime: PathBuf,
    /// How long a template's boot may take.
    pub boot_deadline: Duration,
    /// Writes the guest's console to `console.log` in the VM's folder; slows the boot down.
    pub console: bool,
    /// Further words for the kernel.
    pub kernel_words: Vec<String>,
}
