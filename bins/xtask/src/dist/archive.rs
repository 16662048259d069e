//! Archives whose bytes are their files' alone: order, owners, modes and times are fixed.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::shell;

/// Packs files and folders of `folder` into `archive` (`.tar.gz`).
///
/// # Errors
/// When one is missing, or the archive cannot be written.
pub(super) fn pack(folder: &Path, names: &[&str], archive: &Path, epoch: u64) -> Result<()> {
    let plain = archive.with_extension("");
    let mut tar = shell::command("tar", folder);
    // Without the times of access and change that the pax format would add.
    tar.env("LC_ALL", "C")
        .args(["--format=ustar", "--sort=name"]);
    tar.args(["--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{epoch}"));
    tar.args(["--mode=u=rwX,go=rX", "-cf"])
        .arg(&plain)
        .args(names);
    let packed = shell::quiet(&mut tar)?;
    ensure!(
        packed.status.success(),
        "{}: {}",
        archive.display(),
        packed.err
    );
    let mut gzip = shell::command("gzip", folder);
    let zipped = shell::quiet(gzip.args(["-nf9"]).arg(&plain))?;
    ensure!(
        zipped.status.success(),
        "{}: {}",
        archive.display(),
        zipped.err
    );
    ensure!(
        fs::metadata(archive).is_ok(),
        "gzip made no {}",
        archive.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn tree(umask_like: u32, reverse: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let mut names = vec!["b", "a", "c"];
        if reverse {
            names.reverse();
        }
        for name in names {
            let path = folder.path().join(name);
            fs::write(&path, name).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(umask_like)).expect("set");
        }
        folder
    }

    #[test]
    fn equal_files_give_equal_bytes_whoever_made_them_when() {
        let packed = |mode, reverse| {
            let tree = tree(mode, reverse);
            let out = tempfile::tempdir().expect("a folder");
            let archive = out.path().join("x.tar.gz");
            pack(tree.path(), &["."], &archive, 1_000).expect("packed");
            fs::read(archive).expect("the archive")
        };
        assert_eq!(packed(0o600, false), packed(0o644, true));
        assert_ne!(
            packed(0o600, false),
            packed(0o700, false),
            "a program differs"
        );
    }
}
