//! What keeps a hostile worktree harmless: no way out of its root.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::WorktreeError;

/// Refuses a folder that is a link, or is not below `root`.
pub(super) fn real_folder_below(root: &Path, folder: &Path) -> Result<(), WorktreeError> {
    let outside = || WorktreeError::Outside {
        path: folder.to_owned(),
        root: root.to_owned(),
    };
    let real = folder
        .canonicalize()
        .map_err(WorktreeError::at_path(folder))?;
    // Canonical, it would be another path if any part of it were a link.
    (real == folder && real.starts_with(root))
        .then_some(())
        .ok_or_else(outside)
}

/// Removes a folder and everything in it; links are removed and never followed. Nothing there is
/// fine.
pub(super) fn remove_tree(path: &Path) -> Result<(), WorktreeError> {
    let first = remove(path);
    let Err(error) = first else { return Ok(()) };
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Err(WorktreeError::at_path(path)(error));
    }
    // Its owner may have taken away the right to write to folders.
    open_up(path);
    remove(path).map_err(WorktreeError::at_path(path))
}

fn remove(path: &Path) -> io::Result<()> {
    let data = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        data => data?,
    };
    if data.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Gives the owner all rights on every folder of the tree.
fn open_up(path: &Path) {
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        if !folder.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            continue;
        }
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}
