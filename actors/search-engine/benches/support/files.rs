//! The files below folders.

use std::fs;
use std::path::{Path, PathBuf};

/// All files below `folders`, in the order of a walk by name.
pub(crate) fn files_below(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in folders {
        walk(folder, &mut files);
    }
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
