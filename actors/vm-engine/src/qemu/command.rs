//! QEMU's command line.

use std::path::PathBuf;
use std::process::Command;

use super::config::{Accelerator, DISK, QemuConfig};
use crate::kernel::MachineKind;

/// Where the guest's memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GuestMemory {
    /// QEMU's own.
    Private,
    /// A file that keeps what the guest writes: a template's.
    Shared(PathBuf),
    /// A file that the guest starts from, and never writes to: a clone's.
    CopyOnWrite(PathBuf),
}

/// What differs from VM to VM.
#[derive(Clone, Debug)]
pub(super) struct MachineShape {
    pub(super) vcpus: u8,
    pub(super) mem_mib: u32,
    pub(super) memory: GuestMemory,
    /// Whether it waits for a saved state instead of booting.
    pub(super) incoming: bool,
}

/// The command; the VM's folder will be its working directory.
pub(super) fn command(config: &QemuConfig, shape: &MachineShape) -> Command {
    let mut command = Command::new(&config.program);
    // One heap for all threads: each further one is memory of every VM.
    command.env_clear().env("MALLOC_ARENA_MAX", "1");
    let mut add = |flag: &str, value: String| {
        command.arg(flag).arg(value);
    };
    let kernel = &config.kernel;
    add("-M", machine(kernel.machine));
    add("-object", memory(shape));
    add(
        "-accel",
        match config.accelerator {
            Accelerator::Kvm => "kvm".to_owned(),
            Accelerator::Tcg => "tcg,tb-size=64".to_owned(),
        },
    );
    add("-cpu", processor(config.accelerator).to_owned());
    add("-m", format!("{}M", shape.mem_mib));
    add("-smp", shape.vcpus.to_string());
    add("-kernel", kernel.vmlinux.display().to_string());
    add("-initrd", kernel.initramfs.display().to_string());
    add("-append", kernel_line(config));
    let bus = match kernel.machine {
        MachineKind::Q35 => "pci",
        MachineKind::Microvm => "device",
    };
    add(
        "-blockdev",
        format!(
            "driver=qcow2,node-name=disk,discard=unmap,file.driver=file,file.filename={DISK},cache.no-flush=on,file.locking=off"
        ),
    );
    add("-device", format!("virtio-blk-{bus},drive=disk"));
    add("-device", format!("virtio-serial-{bus}"));
    add("-chardev", "socket,id=agent,fd=0".to_owned());
    add(
        "-device",
        "virtserialport,chardev=agent,name=agent".to_owned(),
    );
    add("-chardev", "socket,id=monitor,fd=1".to_owned());
    add("-mon", "chardev=monitor,mode=control".to_owned());
    add("-display", "none".to_owned());
    add(
        "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny".to_owned(),
    );
    if config.console {
        add("-chardev", "file,id=console,path=console.log".to_owned());
        add("-serial", "chardev:console".to_owned());
    }
    if shape.incoming {
        add("-incoming", "defer".to_owned());
    }
    command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
    command
}

fn machine(kind: MachineKind) -> String {
    match kind {
        MachineKind::Q35 => "q35,memory-backend=ram,hpet=off,smbus=off,sata=off,vmport=off,graphics=off,usb=off,i8042=off".to_owned(),
        MachineKind::Microvm => "microvm,memory-backend=ram,acpi=off,pit=on,pic=on,rtc=on,isa-serial=on".to_owned(),
    }
}

fn memory(shape: &MachineShape) -> String {
    let size = shape.mem_mib;
    match &shape.memory {
        GuestMemory::Private => format!("memory-backend-ram,id=ram,size={size}M"),
        GuestMemory::Shared(path) => {
            format!(
                "memory-backend-file,id=ram,size={size}M,share=on,mem-path={}",
                comma_safe(path)
            )
        }
        GuestMemory::CopyOnWrite(path) => {
            format!(
                "memory-backend-file,id=ram,size={size}M,share=off,mem-path={}",
                comma_safe(path)
            )
        }
    }
}

/// QEMU reads a doubled comma as a comma.
fn comma_safe(path: &std::path::Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// What the guest takes its processor for. The translator carries out `rep movsb` byte by byte: a
/// guest that is told that this is the fast way to copy ("erms", "fsrm") copies at a third to a
/// half of the speed.
fn processor(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "host",
        Accelerator::Tcg => "max,la57=off,erms=off,fsrm=off",
    }
}

fn kernel_line(config: &QemuConfig) -> String {
    let mut line = "reboot=t panic=-1 random.trust_cpu=on".to_owned();
    if config.kernel.machine == MachineKind::Q35 {
        line += " tsc=reliable no_timer_check cryptomgr.notests noreplace-smp";
    }
    if config.accelerator == Accelerator::Tcg {
        line += LESS_TO_TRANSLATE;
    }
    if config.console {
        line += " console=ttyS0 loglevel=7";
    } else {
        line += " quiet loglevel=3 8250.nr_uarts=1";
    }
    for word in &config.kernel_words {
        line += " ";
        line += word;
    }
    line
}

/// What a guest kernel need not do where every instruction is translated: it guards itself against
/// the processor's speculation, which a translated guest does not have, and against its own
/// processes, which nobody has to be kept from here, for what isolates is the VM. Landlock stays:
/// programs use it.
const LESS_TO_TRANSLATE: &str = " mitigations=off init_on_alloc=0 audit=0 lsm=landlock,capability";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    fn config(machine: MachineKind) -> QemuConfig {
        QemuConfig {
            program: "qemu-system-x86_64".into(),
            kernel: Kernel {
                vmlinux: "/k".into(),
                initramfs: "/i".into(),
                machine,
                release: "6".to_owned(),
            },
            accelerator: Accelerator::Tcg,
            runtime: "/run".into(),
            boot_deadline: std::time::Duration::from_secs(1),
            console: false,
            kernel_words: Vec::new(),
        }
    }

    fn line(machine: MachineKind, memory: GuestMemory, incoming: bool) -> String {
        let shape = MachineShape {
            vcpus: 2,
            mem_mib: 300,
            memory,
            incoming,
        };
        let command = command(&config(machine), &shape);
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        words.join(" ")
    }

    #[test]
    fn a_vm_has_no_network_no_display_and_a_sandbox() {
        for machine in [MachineKind::Q35, MachineKind::Microvm] {
            let line = line(machine, GuestMemory::Private, false);
            for part in [
                "-nodefaults",
                "-no-user-config",
                "-display none",
                "spawn=deny",
                "-smp 2",
                "-m 300M",
            ] {
                assert!(line.contains(part), "{part} in {line}");
            }
            assert!(
                !line.contains("netdev") && !line.contains("virtio-net") && !line.contains("-nic"),
                "{line}"
            );
        }
    }

    #[test]
    fn what_only_the_translator_needs_is_kept_from_real_processors() {
        let mut config = config(MachineKind::Q35);
        assert!(kernel_line(&config).contains(LESS_TO_TRANSLATE));
        assert!(processor(config.accelerator).contains("erms=off"));
        config.accelerator = Accelerator::Kvm;
        assert!(!kernel_line(&config).contains("mitigations"));
        assert_eq!(processor(config.accelerator), "host");
    }

    #[test]
    fn a_clone_never_writes_to_its_templates_memory() {
        let clone = line(
            MachineKind::Q35,
            GuestMemory::CopyOnWrite("/a,b".into()),
            true,
        );
        assert!(clone.contains("share=off,mem-path=/a,,b"), "{clone}");
        assert!(clone.contains("-incoming defer"));
        let template = line(MachineKind::Q35, GuestMemory::Shared("/a".into()), false);
        assert!(template.contains("share=on") && !template.contains("-incoming"));
    }
}
