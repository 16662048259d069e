//! Tools the project needs: found, else installed where that can be done without asking, else
//! named with the command that installs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::Project;
use crate::{say, shell};

/// Versions that the project's configuration files are written for.
const CARGO_TOOLS: [(&str, &str); 2] = [("cargo-deny", "0.20.2"), ("cargo-fuzz", "0.13.2")];

/// Makes sure that `cargo SUBCOMMAND` works; `tool` is its crate.
///
/// # Errors
/// When it is missing and cannot be installed.
pub(crate) fn cargo_tool(project: &Project, tool: &str) -> Result<()> {
    if shell::which(tool).is_some() {
        return Ok(());
    }
    let version = CARGO_TOOLS
        .iter()
        .find(|(name, _)| *name == tool)
        .map(|(_, version)| *version);
    let version = version.with_context(|| format!("no version is pinned for {tool}"))?;
    say::line(&format!("{tool} is missing: installing it"));
    let wanted = format!("{tool}@{version}");
    // A debug build: these tools wait for cargo and the disk, so building them fast matters more.
    let mut install = shell::cargo(&project.root, &["install", "--locked", "--debug", &wanted]);
    install.env("CARGO_TARGET_DIR", project.cache.join("tools"));
    let by_hand = format!("{tool} is missing: run `cargo install --locked {wanted}`");
    shell::run(&mut install).context(by_hand)
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
    if shell::which("apt-get").is_none() || !is_root() {
        bail!(
            "{names} is missing: run `sudo apt-get install -y --no-install-recommends {package}`"
        );
    }
    say::line(&format!(
        "{names} is missing: installing Debian's {package}"
    ));
    shell::run(&mut apt(&["update", "--quiet"]))?;
    shell::run(&mut apt(&[
        "install",
        "--yes",
        "--quiet",
        "--no-install-recommends",
        package,
    ]))?;
    let found = programs.iter().find_map(|name| shell::which(name));
    found.with_context(|| format!("{package} was installed, but {names} is still not on PATH"))
}

/// A program at a fixed place, else installs Debian's `package`.
///
/// # Errors
/// When it is not there and this is no Debian, or the user may not install packages.
pub(crate) fn system_program(path: &str, package: &str) -> Result<()> {
    if Path::new(path).is_file() {
        return Ok(());
    }
    if shell::which("apt-get").is_none() || !is_root() {
        bail!("{path} is missing: run `sudo apt-get install -y --no-install-recommends {package}`");
    }
    say::line(&format!("{path} is missing: installing Debian's {package}"));
    shell::run(&mut apt(&["update", "--quiet"]))?;
    let arguments = [
        "install",
        "--yes",
        "--quiet",
        "--no-install-recommends",
        package,
    ];
    shell::run(&mut apt(&arguments))?;
    if Path::new(path).is_file() {
        return Ok(());
    }
    bail!("{package} was installed, but {path} is still missing")
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
pub(crate) fn node_package(project: &Project, name: &str, version: &str) -> Result<PathBuf> {
    let folder = format!("{name}-{version}");
    node_packages(project, &folder, &[&format!("{name}@{version}")])
}

/// The same for several packages, each with its version, in one folder of the cache.
///
/// # Errors
/// As [`node_package`].
pub(crate) fn node_packages(project: &Project, folder: &str, wanted: &[&str]) -> Result<PathBuf> {
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
    fn a_tool_without_a_pinned_version_is_refused() {
        let project = Project::find().expect("tests run inside the checkout");
        let error = cargo_tool(&project, "cargo-no-such-tool").expect_err("it is not pinned");
        assert_eq!(
            error.to_string(),
            "no version is pinned for cargo-no-such-tool"
        );
    }
}
