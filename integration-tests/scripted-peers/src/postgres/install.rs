//! Where PostgreSQL's programs are, and whom root runs them as.

use std::path::{Path, PathBuf};

/// What to do where there is no server.
pub(super) const INSTALL: &str = "PostgreSQL 15 or newer is needed and was not found: install its server, with Debian or Ubuntu \
     `apt-get install postgresql`, with Fedora `dnf install postgresql-server`";
/// Debian's folder of versions.
pub(super) const VERSIONS: &str = "/usr/lib/postgresql";
/// The oldest major version that the store takes.
const OLDEST: u32 = 15;

/// The folder of the newest server's programs: of a folder of versions, else of `PATH`.
pub(super) fn programs(versions: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let newest = numbers.filter(|version| *version >= OLDEST).max();
    let debian = newest.map(|version| versions.join(format!("{version}/bin")));
    let debian = debian.filter(|folder| folder.join("initdb").is_file());
    debian.or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").is_file())
    })
}

/// User and group of an account.
pub(super) fn account(name: &str) -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_the_newest_server_is_taken_and_an_old_one_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for version in ["14", "15", "9.6", "16"] {
            let bin = folder.path().join(version).join("bin");
            std::fs::create_dir_all(&bin).expect("it is new");
            std::fs::write(bin.join("initdb"), "").expect("it is new");
        }
        let newest = programs(folder.path()).expect("16");
        assert_eq!(newest, folder.path().join("16/bin"));
        for version in ["15", "16"] {
            std::fs::remove_dir_all(folder.path().join(version)).expect("it is ours");
        }
        let other = programs(folder.path());
        assert!(other.is_none_or(|found| !found.starts_with(folder.path())));
        assert!(INSTALL.contains("apt-get install postgresql"));
        assert_eq!(account("root"), Some((0, 0)));
    }
}
