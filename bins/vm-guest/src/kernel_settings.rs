//! Limits of the kernel that are raised as GitHub's machines have them.

use std::fs;
use std::path::Path;

/// Databases and search servers map many files, tools that wait for changes watch whole trees.
const SETTINGS: [(&str, u64); 3] = [
    ("vm/max_map_count", 262_144),
    ("fs/inotify/max_user_watches", 655_360),
    ("fs/inotify/max_user_instances", 1280),
];

/// Raises them where they are lower. A kernel without one of them is as good as before.
pub(crate) fn raise_limits() {
    raise_limits_in(Path::new("/proc/sys"));
}

fn raise_limits_in(folder: &Path) {
    for (name, value) in SETTINGS {
        let path = folder.join(name);
        let known = fs::read_to_string(&path).ok();
        let known = known.and_then(|text| text.trim().parse::<u64>().ok());
        if known.is_some_and(|known| known < value) {
            let _ = fs::write(&path, value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_limits_are_raised_and_never_lowered() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("vm")).unwrap();
        fs::create_dir_all(folder.path().join("fs/inotify")).unwrap();
        let map = folder.path().join("vm/max_map_count");
        let watches = folder.path().join("fs/inotify/max_user_watches");
        fs::write(&map, "65530\n").unwrap();
        fs::write(&watches, "9999999\n").unwrap();
        raise_limits_in(folder.path());
        assert_eq!(fs::read_to_string(map).unwrap(), "262144");
        assert_eq!(fs::read_to_string(watches).unwrap(), "9999999\n");
        let absent = folder.path().join("fs/inotify/max_user_instances");
        assert!(!absent.exists());
    }
}
