//! The web application: its types, its unit tests, and whether the built pages that are committed
//! are what their sources give.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::project::ProjectCheckout;
use crate::{install, shell};

/// The committed folder that `npm run build` writes.
const BUILT: &str = "web/ui/dist";

fn folder(project: &ProjectCheckout) -> PathBuf {
    project.root.join("web/ui")
}

fn npm(project: &ProjectCheckout, arguments: &[&str]) -> Result<()> {
    let npm = install::program(&["npm"], "npm")?;
    let mut command = shell::command(&npm.to_string_lossy(), &folder(project));
    shell::run(command.args(arguments))
}

/// Installs what the lock file names, unless it is there.
pub(super) fn install_packages(project: &ProjectCheckout) -> Result<()> {
    let lock = fs::metadata(folder(project).join("package-lock.json"))?;
    let installed = fs::metadata(folder(project).join("node_modules/.package-lock.json"));
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
pub(super) fn check(project: &ProjectCheckout) -> Result<()> {
    install_packages(project)?;
    let built = project.root.join(BUILT);
    let before = BuiltFiles::read(&built)?;
    npm(project, &["run", "build"])?;
    before.restore_times(&built)?;
    for script in ["check", "test"] {
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

/// The files of a folder and the folders below it: when each was written, and what is in it.
#[derive(Debug)]
struct BuiltFiles(BTreeMap<PathBuf, (SystemTime, Vec<u8>)>);

impl BuiltFiles {
    /// Reads them; none where there is no such folder.
    fn read(folder: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        if folder.is_dir() {
            read_below(folder, &mut files)
                .with_context(|| format!("{} cannot be read", folder.display()))?;
        }
        Ok(Self(files))
    }

    /// Gives files that were written anew their times back, where all are as they were: cargo goes
    /// by the times, and would build the edge that embeds them, and all that stands on it, again.
    fn restore_times(self, folder: &Path) -> Result<()> {
        let now = Self::read(folder)?;
        let contents = |files: &Self| -> Vec<(PathBuf, Vec<u8>)> {
            let files = files.0.iter();
            files
                .map(|(path, (_, bytes))| (path.clone(), bytes.clone()))
                .collect()
        };
        if contents(&now) != contents(&self) {
            return Ok(());
        }
        for (path, (at, _)) in self.0 {
            File::open(&path)
                .and_then(|file| file.set_modified(at))
                .with_context(|| format!("the time of {} cannot be set", path.display()))?;
        }
        Ok(())
    }
}

fn read_below(
    folder: &Path,
    files: &mut BTreeMap<PathBuf, (SystemTime, Vec<u8>)>,
) -> std::io::Result<()> {
    files.insert(
        folder.to_owned(),
        (fs::metadata(folder)?.modified()?, Vec::new()),
    );
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_below(&path, files)?;
        } else {
            let at = fs::metadata(&path)?.modified()?;
            files.insert(path.clone(), (at, fs::read(&path)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    #[test]
    fn i14_files_that_are_built_as_they_were_look_as_old_as_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let built = folder.path().join("dist");
        write(&built, "index.html", "page");
        write(&built, "assets/a.js", "script");
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let names = ["index.html", "assets/a.js", "assets", ""];
        for name in names {
            let file = File::open(built.join(name)).expect("it is there");
            file.set_modified(old).expect("it is ours");
        }
        let times =
            || names.map(|name| fs::metadata(built.join(name)).unwrap().modified().unwrap());

        let before = BuiltFiles::read(&built).expect("readable");
        fs::remove_dir_all(&built).expect("writable");
        write(&built, "index.html", "page");
        write(&built, "assets/a.js", "script");
        assert!(times().iter().all(|at| *at != old));
        before.restore_times(&built).expect("it is ours");
        assert_eq!(times(), [old; 4]);

        for (name, text) in [("index.html", "another"), ("assets/b.js", "more")] {
            let before = BuiltFiles::read(&built).expect("readable");
            write(&built, name, text);
            let now = times();
            before.restore_times(&built).expect("it is ours");
            assert_eq!(times(), now, "{name}");
        }
        assert!(BuiltFiles::read(&folder.path().join("none")).is_ok());
    }
}
