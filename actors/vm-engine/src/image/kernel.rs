//! Kernels: fetched from Debian or built, each in a folder of its own with its initramfs.
//!
//! ```text
//! <folder>/debian-<release>/vmlinux, modules/NN-name.ko     Debian's, unpacked, never installed
//! <folder>/own-<release>/vmlinux                            built from Debian's source, everything in it
//! <folder>/<either>/initramfs-<digest of the agent>
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cpio::Cpio;
use super::tool::{self, ToolError};
use super::{modules, vmlinux};
use crate::event::OnProgress;
use crate::kernel::{Kernel, MachineKind};

/// The package that always depends on Debian's newest kernel for clouds.
const META_PACKAGE: &str = "linux-image-cloud-amd64";
/// What the first of a kernel's file names says.
const DEBIAN: &str = "debian-";
/// What the name of a Debian kernel ends with that has all modules that are wanted today: one that
/// was unpacked by an older program lacks some, and is unpacked anew beside it.
const MODULES: &str = "+emulators";

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A program that is needed is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Files cannot be read or written.
    #[error("{what} {}: {source}", .path.display())]
    Files {
        /// What was tried.
        what: &'static str,
        /// On which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent is not a static program.
    #[error("{} is not a static program: build it with `-C target-feature=+crt-static`", .0.display())]
    Agent(PathBuf),
    /// Debian's packages name no kernel.
    #[error("the package {META_PACKAGE} depends on no kernel: run `apt-get update`")]
    NoPackage,
}

/// The kernels in a folder.
#[derive(Clone, Debug)]
pub struct KernelStore {
    folder: PathBuf,
}

impl KernelStore {
    /// The store in this folder, made when needed.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The best kernel there is: a built one before Debian's. `None` when there is none yet.
    ///
    /// # Errors
    /// [`KernelError`].
    pub fn best(&self, agent: &Path) -> Result<Option<Kernel>, KernelError> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Ok(None);
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.retain(|name| self.folder.join(name).join("vmlinux").is_file());
        names.retain(|name| !name.starts_with(DEBIAN) || name.ends_with(MODULES));
        // "own-" sorts behind "debian-", newer behind older.
        names.sort();
        names.pop().map(|name| self.named(&name, agent)).transpose()
    }

    /// Debian's newest kernel, fetched when it is not there yet. Nothing is installed.
    ///
    /// # Errors
    /// [`KernelError`].
    pub fn debian(&self, agent: &Path, progress: OnProgress<'_>) -> Result<Kernel, KernelError> {
        let existing = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = existing
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.retain(|name| {
            let there = self.folder.join(name).join("vmlinux").is_file();
            there && name.starts_with(DEBIAN) && name.ends_with(MODULES)
        });
        names.sort();
        if let Some(name) = names.pop() {
            return self.named(&name, agent);
        }
        let name = self.fetch(progress)?;
        self.named(&name, agent)
    }

    fn fetch(&self, progress: OnProgress<'_>) -> Result<String, KernelError> {
        fs::create_dir_all(&self.folder).map_err(files("making", &self.folder))?;
        let work = KernelScratch::new(&self.folder)?;
        progress("looking for Debian's newest kernel for virtual machines");
        let package = debian_package()?;
        progress(&format!("downloading {package}"));
        tool::run(
            Command::new("apt-get")
                .args(["download", "--quiet", &package])
                .current_dir(&work.0),
        )?;
        let deb = first(&work.0, ".deb")?;
        progress("unpacking the kernel");
        let tree = work.0.join("tree");
        tool::run(
            Command::new("dpkg-deb")
                .arg("--extract")
                .arg(&deb)
                .arg(&tree),
        )?;
        let image = first(&tree.join("boot"), "vmlinuz-")?;
        let release = release_of(&image);
        let made = work.0.join("made");
        fs::create_dir(&made).map_err(files("making", &made))?;
        let elf =
            vmlinux::extract_file(&image).map_err(files("extracting the kernel of", &image))?;
        fs::write(made.join("vmlinux"), elf).map_err(files("writing", &made))?;
        let module_root = tree.join("lib/modules").join(&release);
        let needed =
            modules::needed(&module_root).map_err(files("looking for modules in", &module_root))?;
        let target = made.join("modules");
        fs::create_dir(&target).map_err(files("making", &target))?;
        for (number, module) in needed.iter().enumerate() {
            let name = module.file_name().unwrap_or_default().to_string_lossy();
            // As they are: without their signatures the kernel would not take them.
            fs::copy(module, target.join(format!("{number:02}-{name}")))
                .map_err(files("copying", module))?;
        }
        self.adopt(&made, &format!("{DEBIAN}{release}{MODULES}"))
    }

    /// Takes over a folder that was made complete elsewhere: no half kernel is ever seen.
    pub(super) fn adopt(&self, made: &Path, name: &str) -> Result<String, KernelError> {
        let place = self.folder.join(name);
        match fs::rename(made, &place) {
            Ok(()) => Ok(name.to_owned()),
            // Somebody else was faster: theirs is as good.
            Err(_) if place.join("vmlinux").is_file() => Ok(name.to_owned()),
            Err(source) => Err(KernelError::Files {
                what: "making",
                path: place,
                source,
            }),
        }
    }

    pub(super) fn named(&self, name: &str, agent: &Path) -> Result<Kernel, KernelError> {
        let folder = self.folder.join(name);
        let initramfs = initramfs(&folder, agent)?;
        let machine = if name.starts_with(DEBIAN) {
            MachineKind::Q35
        } else {
            MachineKind::Microvm
        };
        Ok(Kernel {
            vmlinux: folder.join("vmlinux"),
            initramfs,
            machine,
            release: name.to_owned(),
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The initramfs of a kernel with this agent, made when it is not there yet.
fn initramfs(folder: &Path, agent: &Path) -> Result<PathBuf, KernelError> {
    let program = fs::read(agent).map_err(files("reading the agent", agent))?;
    if !is_static(&program) {
        return Err(KernelError::Agent(agent.to_path_buf()));
    }
    let path = folder.join(format!(
        "initramfs-{}",
        &blake3::hash(&program).to_hex()[..16]
    ));
    if path.is_file() {
        return Ok(path);
    }
    let mut cpio = Cpio::default();
    for name in ["dev", "proc", "sys", "modules", "new-root"] {
        cpio.folder(name);
    }
    // The standard library wants three open files, and opens this one for those that are missing.
    cpio.device("dev/null", 1, 3);
    cpio.device("dev/console", 5, 1);
    cpio.file("init", 0o755, &program);
    let modules = folder.join("modules");
    let entries = fs::read_dir(&modules).into_iter().flatten().flatten();
    let mut files_in: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files_in.sort();
    for file in files_in {
        let name = format!(
            "modules/{}",
            file.file_name().unwrap_or_default().to_string_lossy()
        );
        cpio.file(
            &name,
            0o644,
            &fs::read(&file).map_err(files("reading", &file))?,
        );
    }
    write_whole(&path, &cpio.finish())?;
    Ok(path)
}

/// Whether an ELF program needs no loader: it has no program header of type `PT_INTERP`.
pub(super) fn is_static(program: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at + length)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0_usize, |value, byte| (value << 8) | usize::from(*byte)),
        )
    };
    let headers = || {
        let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count)
            .map(|index| number(start.checked_add(index * size)?, 4))
            .collect::<Option<Vec<_>>>()
    };
    const INTERPRETER: usize = 3;
    program.starts_with(b"\x7fELF") && headers().is_some_and(|kinds| !kinds.contains(&INTERPRETER))
}

fn debian_package() -> Result<String, KernelError> {
    let text = tool::output(Command::new("apt-cache").args(["depends", META_PACKAGE]))?;
    let mut names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .find(|name| name.starts_with("linux-image-"))
        .map(str::to_owned)
        .ok_or(KernelError::NoPackage)
}

/// `vmlinuz-6.1.0-1-cloud-amd64` → `6.1.0-1-cloud-amd64`.
pub(super) fn release_of(image: &Path) -> String {
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("vmlinuz-").unwrap_or(&name).to_owned()
}

/// The first file in a folder whose name contains `part`.
pub(super) fn first(folder: &Path, part: &str) -> Result<PathBuf, KernelError> {
    let entries = fs::read_dir(folder).map_err(files("reading", folder))?;
    let mut found = entries.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().contains(part))
    };
    found.find(named).ok_or_else(|| KernelError::Files {
        what: "looking for a file in",
        path: folder.to_path_buf(),
        source: io::Error::new(io::ErrorKind::NotFound, format!("none is named {part}")),
    })
}

/// Writes a file that is either whole or absent.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), KernelError> {
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&temporary, bytes).map_err(files("writing", &temporary))?;
    fs::rename(&temporary, path).map_err(files("writing", path))
}

pub(super) fn files(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KernelError {
    let path = path.to_path_buf();
    move |source| KernelError::Files { what, path, source }
}

/// What the names of folders for work begin with; the process follows.
const WORK: &str = ".work-";

/// A folder for work, removed at the end of it.
pub(super) struct KernelScratch(pub(super) PathBuf);

impl KernelScratch {
    pub(super) fn new(beside: &Path) -> Result<Self, KernelError> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        sweep(beside);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = beside.join(format!("{WORK}{}-{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(files("making", &path))?;
        Ok(Self(path))
    }
}

/// Removes what programs left that were ended at work: the number in a name is that of a process
/// which is no more.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(WORK));
        let process = process.and_then(|rest| rest.split_once('-'));
        let is_left = process.is_some_and(|(pid, _)| {
            pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
        });
        if is_left {
            // Another one may be at the same.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for KernelScratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        // This test itself is linked dynamically.
        let own = std::env::current_exe().unwrap();
        assert!(!is_static(&fs::read(&own).unwrap()));
        assert!(!is_static(b"#!/bin/sh"));
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            initramfs(folder.path(), &own),
            Err(KernelError::Agent(_))
        ));
    }

    #[test]
    fn what_a_former_process_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("{WORK}{}-7", std::process::id());
        let names = [".work-4194305-0", &own, ".work-x-1", "blobs"];
        for name in names {
            fs::create_dir_all(folder.path().join(name).join("inner")).unwrap();
        }
        let scratch = KernelScratch::new(folder.path()).unwrap();
        assert!(scratch.0.is_dir());
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
    }

    #[test]
    fn a_built_kernel_goes_before_debians_and_newer_before_older() {
        let folder = tempfile::tempdir().unwrap();
        let store = KernelStore::new(folder.path().join("kernels"));
        let agent = folder.path().join("agent");
        // The smallest ELF header without any program headers.
        fs::write(&agent, [b"\x7fELF".as_slice(), &[0; 60]].concat()).unwrap();
        assert!(store.best(&agent).unwrap().is_none());
        for (name, machine) in [
            ("debian-6.1+emulators", MachineKind::Q35),
            ("debian-6.2+emulators", MachineKind::Q35),
            ("own-6.1", MachineKind::Microvm),
        ] {
            fs::create_dir_all(store.folder().join(name)).unwrap();
            fs::write(store.folder().join(name).join("vmlinux"), "").unwrap();
            let best = store.best(&agent).unwrap().unwrap();
            assert_eq!((best.release.as_str(), best.machine), (name, machine));
            assert!(best.initramfs.is_file());
        }
    }
}
