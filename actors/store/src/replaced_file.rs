//! Files beside a store that are replaced in one step.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Replaces a file: it is written beside its place, made durable and renamed. A reader, or a crash,
/// sees the former one or the new one. `mode` says who may read it; whoever may read new files
/// without it.
///
/// # Errors
/// Those of `write` and of the file system; the former file is as it was.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    mode: Option<u32>,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    // What an earlier crash has left there.
    let _ = fs::remove_file(&beside);
    let written = written(&beside, mode, write);
    let placed = written.and_then(|()| Ok(fs::rename(&beside, path)?));
    if placed.is_err() {
        let _ = fs::remove_file(&beside);
        return placed;
    }
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => Ok(File::open(folder)?.sync_all()?),
        None => Ok(()),
    }
}

fn written<E: From<io::Error>>(
    path: &Path,
    mode: Option<u32>,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options.mode(mode.unwrap_or(0o666));
    let file = options.open(path)?;
    if let Some(mode) = mode {
        // Whatever the mask of this process takes away.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    let mut output = BufWriter::new(file);
    write(&mut output)?;
    let file = output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    Ok(file.sync_all()?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_cannot_be_written_leaves_the_former_file_and_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        replace_file(&path, Some(0o640), |file| file.write_all(b"old")).expect("written");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let failed = replace_file(&path, None, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.expect_err("it failed").to_string(), "no more");
        assert_eq!(fs::read(&path).expect("there"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        assert!(replace_file(&path.join("no"), None, |_| Ok::<_, io::Error>(())).is_err());
    }
}
