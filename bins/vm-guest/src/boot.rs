//! From the kernel's hand-over to a usable root file system.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::unistd::{chdir, chroot};

use crate::error::{AgentError, ErrorContext as _};
use crate::{cgroup, emulators, handover, kernel_settings, system};

/// Kernel modules in the initramfs, named so that their order by name is the order to load them in.
const MODULES: &str = "/modules";
/// Where the disk is mounted before it becomes the root.
const NEW_ROOT: &str = "/new-root";
/// The disk.
const DISK: &str = "/dev/vda";

/// Mounts, modules, root disk; afterwards `/` is the disk's file system.
pub(crate) fn prepare() -> Result<(), AgentError> {
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount_new("devtmpfs", "/dev", MsFlags::MS_NOSUID, "mode=0755")?;
    mount_new("proc", "/proc", quiet | MsFlags::MS_NODEV, "")?;
    mount_new("sysfs", "/sys", quiet | MsFlags::MS_NODEV, "")?;
    load_modules(Path::new(MODULES))?;
    system::wait_for(Path::new(DISK)).ok_or(AgentError::Missing(DISK))?;
    fs::create_dir_all(NEW_ROOT).context("making the place for the root disk")?;
    // The disk is thrown away with the machine: nobody asks when a file was read, and tables of
    // inodes that nobody uses need no zeros, which would be written in the background of every
    // clone.
    mount(
        Some(DISK),
        NEW_ROOT,
        Some("ext4"),
        MsFlags::MS_NOATIME,
        Some("noinit_itable"),
    )
    .context("mounting the root disk")?;
    // A disk larger than the image's file system is meant to be used.
    system::grow_ext4(Path::new(NEW_ROOT), Path::new(DISK));
    for place in ["dev", "proc", "sys"] {
        let target = Path::new(NEW_ROOT).join(place);
        fs::create_dir_all(&target).context(format!("making /{place}"))?;
        let source = Path::new("/").join(place);
        mount(
            Some(&source),
            &target,
            None::<&str>,
            MsFlags::MS_MOVE,
            None::<&str>,
        )
        .context(format!("moving /{place}"))?;
    }
    switch_root()?;
    furnish()
}

/// The port that the kernel's command line names with `orrery.vsock=`.
pub(crate) fn vsock_port() -> Option<u32> {
    let line = fs::read_to_string("/proc/cmdline").ok()?;
    line.split_whitespace()
        .find_map(|word| word.strip_prefix("orrery.vsock="))?
        .parse()
        .ok()
}

fn mount_new(kind: &str, place: &str, flags: MsFlags, options: &str) -> Result<(), AgentError> {
    fs::create_dir_all(place).context(format!("making {place}"))?;
    mount(Some(kind), place, Some(kind), flags, Some(options)).context(format!("mounting {place}"))
}

fn load_modules(folder: &Path) -> Result<(), AgentError> {
    // A kernel with everything built in has no such folder.
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.sort();
    for path in files {
        let file = fs::File::open(&path).context(format!("opening {}", path.display()))?;
        match finit_module(file.as_fd(), c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(nix::Error::EEXIST) => {}
            Err(error) => return Err(error).context(format!("loading {}", path.display())),
        }
        // It is in the kernel now; the copy in the initramfs is memory of every clone.
        let _ = fs::remove_file(&path);
    }
    Ok(())
}

fn switch_root() -> Result<(), AgentError> {
    chdir(NEW_ROOT).context("entering the root disk")?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>)
        .context("moving the root")?;
    chroot(".").context("changing the root")?;
    chdir("/").context("entering the new root")
}

/// What programs expect beside the disk's files.
fn furnish() -> Result<(), AgentError> {
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    // What commands leave there is little; a service manager keeps its own state there and the log.
    let room = if handover::is_wanted() { "20%" } else { "16m" };
    mount_new("tmpfs", "/run", quiet, &format!("mode=0755,size={room}"))?;
    mount_new("tmpfs", "/dev/shm", quiet, "mode=1777")?;
    mount_new(
        "devpts",
        "/dev/pts",
        MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
        "ptmxmode=0666,mode=0620",
    )?;
    for (link, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        let _ = std::os::unix::fs::symlink(target, link);
    }
    fs::create_dir_all(vm_core::ExecSpec::WORKSPACE).context("making the workspace")?;
    system::loopback_up();
    cgroup::prepare_as_first_process();
    emulators::register();
    kernel_settings::raise_limits();
    Ok(())
}
