//! Folders of data that others can read: tightened at the start, and said.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// What group and others may do.
const OTHERS: u32 = 0o077;

/// Takes from everybody else what they may do with a data folder, and with what stands directly in
/// it: nobody comes deeper than that. A folder that is missing is made later, for its owner alone
/// (see [`process::secure`](crate::process::secure)). What was changed is logged, and so is a
/// folder that has to stay as it is.
pub fn tighten(folder: &Path) {
    match closed(folder) {
        Ok(0) => {}
        Ok(entries) => tracing::warn!(
            event = "data.tightened",
            folder = %folder.display(),
            entries,
            "other users could look into the data folder; now its owner alone can"
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(
            event = "data.open_to_others",
            folder = %folder.display(),
            reason = %error,
            "other users can look into the data folder"
        ),
    }
}

/// How many permissions were changed.
fn closed(folder: &Path) -> io::Result<usize> {
    let data = fs::metadata(folder)?;
    if data.mode() & OTHERS == 0 {
        return Ok(0);
    }
    let shared = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if data.uid() != rustix::process::geteuid().as_raw() {
        return shared("it belongs to another user: give it to the program's (chown)");
    }
    // `/tmp` and its like, and the root: closing them would break what has nothing to do with this
    // program.
    if data.mode() & 0o1000 != 0 || folder.canonicalize()?.parent().is_none() {
        return shared("it is everybody's: name a folder that is the program's own");
    }
    let mut changed = close(folder, data.mode())?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let data = match fs::symlink_metadata(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let own = data.uid() == rustix::process::geteuid().as_raw();
        if own && (data.is_file() || data.is_dir()) && data.mode() & OTHERS != 0 {
            changed += close(&path, data.mode())?;
        }
    }
    Ok(changed)
}

fn close(path: &Path, mode: u32) -> io::Result<usize> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7700))?;
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    #[test]
    fn t10_a_folder_that_others_can_read_is_closed_once_and_links_lead_nowhere() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("data");
        let elsewhere = place.path().join("elsewhere");
        fs::write(&elsewhere, "x").expect("a file");
        fs::create_dir_all(folder.join("deep/er")).expect("folders");
        fs::write(folder.join("store.redb"), "x").expect("a file");
        fs::write(folder.join("program"), "x").expect("a file");
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).expect("a link");
        for (path, mode) in [
            (elsewhere.clone(), 0o644),
            (folder.join("store.redb"), 0o664),
            (folder.join("program"), 0o755),
            (folder.join("deep/er"), 0o755),
            (folder.join("deep"), 0o775),
            (folder.clone(), 0o755),
        ] {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("own");
        }
        assert_eq!(closed(&folder).expect("closed"), 4);
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("store.redb")), 0o600);
        assert_eq!(mode(&folder.join("program")), 0o700);
        assert_eq!(mode(&folder.join("deep")), 0o700);
        assert_eq!(mode(&folder.join("deep/er")), 0o755, "nobody comes here");
        assert_eq!(mode(&elsewhere), 0o644, "a link is not followed");
        assert_eq!(closed(&folder).expect("closed"), 0, "once is enough");
    }

    #[test]
    fn t10_a_folder_of_everybody_is_left_as_it_is() {
        let place = tempfile::tempdir().expect("a folder");
        let shared = place.path().join("shared");
        fs::create_dir(&shared).expect("a folder");
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("own");
        let refused = closed(&shared).expect_err("it is like /tmp");
        assert!(refused.to_string().contains("everybody's"), "{refused}");
        assert_eq!(mode(&shared), 0o1777);
        assert!(closed(Path::new("/")).is_err());
        let missing = closed(&place.path().join("missing")).expect_err("nothing");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
