//! What a run may use.

use std::path::Path;
use std::time::Duration;

/// The bounds of one run. `None`: no bound of that kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Longest duration (`max_cpu_seconds`, which is wall-clock time by the contract).
    pub wall: Duration,
    /// Longest time without a byte of output.
    pub stall: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Most processes at one time.
    pub processes: Option<u64>,
    /// Most resident memory of all processes together, in bytes.
    pub memory: Option<u64>,
    /// Largest file that a process may write, in bytes.
    pub file_size: Option<u64>,
    /// Most bytes in the run's folder.
    pub folder_bytes: Option<u64>,
    /// Most files and folders in the run's folder.
    pub folder_files: Option<u64>,
}

impl Default for ProcessLimits {
    /// One hour, 5 s of grace, 512 processes, 4 GiB of memory, 16 GiB and a million files on disk.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(3600),
            stall: None,
            grace: Duration::from_secs(5),
            processes: Some(512),
            memory: Some(4 << 30),
            file_size: Some(8 << 30),
            folder_bytes: Some(16 << 30),
            folder_files: Some(1_000_000),
        }
    }
}

/// Something of which a run used more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Processes.
    Processes,
    /// Memory.
    Memory,
    /// Bytes in the folder.
    FolderBytes,
    /// Files in the folder.
    FolderFiles,
}

impl Resource {
    /// Its name in records and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Memory => "memory",
            Self::FolderBytes => "folder_bytes",
            Self::FolderFiles => "folder_files",
        }
    }
}

impl ProcessLimits {
    /// Which bound of processes or memory is passed, if any.
    pub(super) fn passed_by(&self, processes: u64, memory: u64) -> Option<Resource> {
        let over = |used: u64, limit: Option<u64>| limit.is_some_and(|limit| used > limit);
        if over(processes, self.processes) {
            return Some(Resource::Processes);
        }
        over(memory, self.memory).then_some(Resource::Memory)
    }

    /// Which bound of the folder is passed, if any. Looks only as far as the bound; links are not
    /// followed.
    pub(super) fn passed_in(&self, folder: &Path) -> Option<Resource> {
        let (most_bytes, most_files) = (self.folder_bytes?, self.folder_files?);
        let (mut bytes, mut files) = (0, 0);
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            // What vanishes while it is counted does not count.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                files += 1;
                match entry.metadata() {
                    Ok(data) if data.is_dir() => open.push(entry.path()),
                    Ok(data) => bytes += std::os::unix::fs::MetadataExt::blocks(&data) * 512,
                    Err(_) => {}
                }
                if files > most_files {
                    return Some(Resource::FolderFiles);
                }
                if bytes > most_bytes {
                    return Some(Resource::FolderBytes);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_found() {
        let limits = ProcessLimits {
            processes: Some(3),
            memory: Some(100),
            ..ProcessLimits::default()
        };
        assert_eq!(limits.passed_by(3, 100), None);
        assert_eq!(limits.passed_by(4, 0), Some(Resource::Processes));
        assert_eq!(limits.passed_by(1, 101), Some(Resource::Memory));
    }

    #[test]
    fn o14_a_folder_is_counted_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let limits = ProcessLimits {
            folder_bytes: Some(100_000),
            folder_files: Some(5),
            ..ProcessLimits::default()
        };
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("sub/root")).unwrap();
        assert_eq!(limits.passed_in(folder.path()), None);
        std::fs::write(folder.path().join("sub/big"), vec![b'x'; 200_000]).unwrap();
        assert_eq!(limits.passed_in(folder.path()), Some(Resource::FolderBytes));
        std::fs::remove_file(folder.path().join("sub/big")).unwrap();
        for number in 0..5 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(limits.passed_in(folder.path()), Some(Resource::FolderFiles));
    }
}
