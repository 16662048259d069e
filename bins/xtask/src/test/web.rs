//! The web application: its types, its unit tests, and whether the built pages that are committed
//! are what their sources give.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::{install, shell};

/// The committed folder that `npm run build` writes.
const BUILT: &str = "web/ui/dist";

fn folder(project: &Project) -> PathBuf {
    project.root.join("web/ui")
}

fn npm(project: &Project, arguments: &[&str]) -> Result<()> {
    let npm = install::program(&["npm"], "npm")?;
    let mut command = shell::command(&npm.to_string_lossy(), &folder(project));
    shell::run(command.args(arguments))
}

/// Installs what the lock file names, unless it is there.
pub(super) fn install_packages(project: &Project) -> Result<()> {
    let lock = std::fs::metadata(folder(project).join("package-lock.json"))?;
    let installed = std::fs::metadata(folder(project).join("node_modules/.package-lock.json"));
    let is_current = installed
        .and_then(|installed| Ok(installed.modified()? >= lock.modified()?))
        .unwrap_or(false);
    if is_current {
        return Ok(());
    }
    npm(project, &["ci", "--no-audit", "--no-fund"])
}

/// Builds and checks it.
///
/// # Errors
/// What failed, or that the committed files are others.
pub(super) fn check(project: &Project) -> Result<()> {
    install_packages(project)?;
    for script in ["build", "check", "test"] {
        npm(project, &["run", script])?;
    }
    let mut git = shell::command("git", &project.root);
    let status = shell::quiet(git.args(["status", "--porcelain", "--", BUILT]))?;
    if !status.out.trim().is_empty() {
        bail!(
            "{BUILT} is not what its sources give: commit what `npm run build` has written\n{}",
            status.out
        );
    }
    Ok(())
}
