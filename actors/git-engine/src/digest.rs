//! What a folder of laid-out files holds, as one SHA-256: modes, paths, bytes and link targets.
//!
//! Not git's own hash of a tree: it is made of the bytes that lie there, so an object or a file
//! that somebody has changed underneath git is found.

use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::GitError;

/// `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDigest(String);

impl TreeDigest {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TreeDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One file or link.
struct TreeFile {
    /// From the top, with `/` between its parts.
    name: Vec<u8>,
    path: PathBuf,
    mode: &'static str,
    bytes: u64,
}

/// The digest of all files and links below a folder, sorted by their paths; empty folders do not
/// count.
///
/// # Errors
/// When something cannot be read, is neither a file, a link nor a folder, or changes meanwhile.
pub fn tree_digest(folder: &Path) -> Result<TreeDigest, GitError> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_owned(), Vec::new())];
    while let Some((inner, name)) = open.pop() {
        let wrong = |error| GitError::io(&inner, error);
        for entry in std::fs::read_dir(&inner).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let mut name: Vec<u8> = name.clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend(entry.file_name().as_bytes());
            let path = entry.path();
            let metadata = std::fs::symlink_metadata(&path).map_err(wrong)?;
            if metadata.is_dir() {
                open.push((path, name));
                continue;
            }
            let is_program = metadata.permissions().mode() & 0o100 != 0;
            let mode = match (metadata.is_symlink(), metadata.is_file(), is_program) {
                (true, ..) => "120000",
                (_, true, true) => "100755",
                (_, true, false) => "100644",
                _ => {
                    let error = std::io::Error::other("neither a file nor a link");
                    return Err(GitError::io(&path, error));
                }
            };
            let bytes = metadata.len();
            files.push(TreeFile {
                name,
                path,
                mode,
                bytes,
            });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut sum = Sha256::new();
    for file in &files {
        add(&mut sum, file).map_err(|error| GitError::io(&file.path, error))?;
    }
    let hex: String = sum
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(TreeDigest(format!("sha256:{hex}")))
}

/// Mode, length, path, and as many bytes as the length says: no two trees make the same stream.
fn add(sum: &mut Sha256, file: &TreeFile) -> std::io::Result<()> {
    let target;
    let (length, mut content): (u64, Box<dyn Read>) = if file.mode == "120000" {
        target = std::fs::read_link(&file.path)?;
        let target = target.as_os_str().as_bytes();
        (target.len() as u64, Box::new(target))
    } else {
        let opened = std::fs::File::open(&file.path)?;
        (file.bytes, Box::new(opened.take(file.bytes + 1)))
    };
    sum.update(format!("{} {length} ", file.mode));
    sum.update(&file.name);
    sum.update(b"\0");
    let mut buffer = vec![0; 64 << 10];
    let mut read = 0;
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        read += count as u64;
        sum.update(&buffer[..count]);
    }
    if read == length {
        Ok(())
    } else {
        Err(std::io::Error::other("it changes while it is read"))
    }
}
