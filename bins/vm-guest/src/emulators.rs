//! Programs of other processors: the kernel is told of the emulators that the image has.
//!
//! Only before anything else runs: whoever could do it later could have the kernel run a program of
//! theirs in place of the agent's. So nothing is written any more before the first command, and
//! commands do not see the place, which their own `/proc` covers. It stays mounted: what an older
//! kernel was told goes with the mount.
//!
//! <https://docs.kernel.org/admin-guide/binfmt-misc.html>

use std::fs;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

const PLACE: &str = "/proc/sys/fs/binfmt_misc";

/// A processor as QEMU calls it, and what the header of its programs has.
struct Processor {
    name: &'static str,
    /// `EI_CLASS`: 1 for 32 bits, 2 for 64.
    class: u8,
    /// `EI_DATA`: 1 for the low byte first, 2 for the high one.
    order: u8,
    /// `e_machine`.
    machine: u8,
}

const PROCESSORS: [Processor; 5] = [
    processor("aarch64", 2, 1, 0xb7),
    processor("arm", 1, 1, 0x28),
    processor("ppc64le", 2, 1, 0x15),
    processor("riscv64", 2, 1, 0xf3),
    processor("s390x", 2, 2, 0x16),
];

const fn processor(name: &'static str, class: u8, order: u8, machine: u8) -> Processor {
    Processor {
        name,
        class,
        order,
        machine,
    }
}

impl Processor {
    fn emulator(&self) -> String {
        format!("/usr/bin/qemu-{}-static", self.name)
    }

    /// What the kernel is told: `F`, the emulator is opened now, so no container needs to have it;
    /// `O`, it gets the program opened; `C`, with the rights of the program.
    fn line(&self) -> String {
        // A program, or one that can lie anywhere (ET_EXEC, ET_DYN).
        let (kind, any_kind) = match self.order {
            1 => ([2, 0, self.machine, 0], [0xfe, 0xff, 0xff, 0xff]),
            _ => ([0, 2, 0, self.machine], [0xff, 0xfe, 0xff, 0xff]),
        };
        let head = [0x7f, b'E', b'L', b'F', self.class, self.order, 1, 0];
        // Whose system it is for does not matter.
        let mask = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
        let magic = [&head[..], &[0; 8], &kind].concat();
        let mask = [&mask[..], &[0xff; 8], &any_kind].concat();
        let (name, magic, mask) = (self.name, escaped(&magic), escaped(&mask));
        format!(":qemu-{name}:M:0:{magic}:{mask}:{}:OCF", self.emulator())
    }
}

fn escaped(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| format!("\\x{byte:02x}"));
    escaped.collect()
}

/// Tells the kernel of each emulator of the image. A kernel that takes none leaves programs of
/// other processors to fail by themselves.
pub(crate) fn register() {
    let there = |processor: &&Processor| Path::new(&processor.emulator()).exists();
    let there: Vec<&Processor> = PROCESSORS.iter().filter(there).collect();
    if there.is_empty() {
        return;
    }
    let kind = Some("binfmt_misc");
    if mount(kind, PLACE, kind, MsFlags::empty(), None::<&str>).is_err() {
        return;
    }
    for processor in there {
        let _ = fs::write(format!("{PLACE}/register"), processor.line());
    }
    let closed = MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    if mount(None::<&str>, PLACE, None::<&str>, closed, None::<&str>).is_err() {
        let _ = umount2(PLACE, MntFlags::MNT_DETACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_kernel_is_told_what_programs_of_a_processor_begin_with() {
        let lines: Vec<String> = PROCESSORS.iter().map(Processor::line).collect();
        assert_eq!(
            lines[0],
            r":qemu-aarch64:M:0:\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:OCF"
        );
        assert!(
            lines[4].contains(r"\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16:")
        );
        // The kernel takes 1,920 bytes at most.
        assert!(lines.iter().all(|line| line.len() < 1920));
    }
}
