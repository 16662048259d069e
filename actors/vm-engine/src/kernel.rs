//! A kernel for VMs, and the board that it is made for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The board that a kernel is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineKind {
    /// A PC with PCI: any distribution's kernel boots on it.
    Q35,
    /// The smallest board, with virtio-mmio devices named on the kernel's command line: needs a
    /// kernel built for it.
    Microvm,
}

/// A kernel and the initramfs that goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The uncompressed ELF image.
    pub vmlinux: PathBuf,
    /// Agent and modules.
    pub initramfs: PathBuf,
    /// The board.
    pub machine: MachineKind,
    /// The kernel's release.
    pub release: String,
}
