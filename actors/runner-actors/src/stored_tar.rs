//! Tars of jobs on their way into a [`TarStore`](crate::tar_store::TarStore): names from workflows
//! never become paths.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::tar_guard::TarGuard;

/// A name as a file name: no name leads out of its directory, and none is another's.
pub(crate) fn hashed(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

/// A tar that is being written; it counts only when it is [kept](Self::keep_as).
pub(crate) struct PendingTar {
    name: String,
    file: std::fs::File,
    part: PathBuf,
    bytes: u64,
    most: u64,
    guard: TarGuard,
}

/// A tar that is whole.
pub(crate) struct WholeTar {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Where it is until it is kept.
    pub(crate) part: PathBuf,
}

impl PendingTar {
    /// Of at most so many bytes.
    pub(crate) fn new(directory: &Path, name: &str, most: u64) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let part = directory.join(format!("{}.part", uuid::Uuid::new_v4()));
        Ok(Self {
            name: name.to_owned(),
            file: std::fs::File::create_new(&part)?,
            part,
            bytes: 0,
            most,
            guard: TarGuard::default(),
        })
    }

    /// Adds bytes, up to the limit; the machine made them, so that they are looked at.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        self.bytes += bytes.len() as u64;
        if self.bytes > self.most {
            return Err(std::io::Error::other(format!(
                "it is larger than {} bytes, which the operator can change (`artifact_max`, `cache_max`)",
                self.most
            )));
        }
        self.guard.push(bytes).map_err(std::io::Error::other)?;
        self.file.write_all(bytes)
    }

    /// The SHA-256 of what was written so far, in hexadecimal digits.
    pub(crate) fn sha256(&self) -> std::io::Result<String> {
        sha256(&self.part)
    }

    /// It is whole, if it has at most so many bytes.
    pub(crate) fn finish(mut self, most: u64) -> std::io::Result<WholeTar> {
        std::mem::take(&mut self.guard)
            .finish()
            .map_err(std::io::Error::other)?;
        if self.bytes > most {
            return Err(std::io::Error::other(format!(
                "it has {} bytes, {most} are allowed",
                self.bytes
            )));
        }
        Ok(WholeTar {
            name: std::mem::take(&mut self.name),
            bytes: self.bytes,
            part: std::mem::take(&mut self.part),
        })
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}

impl Drop for WholeTar {
    fn drop(&mut self) {
        // Kept ones have another name by now.
        let _ = std::fs::remove_file(&self.part);
    }
}

impl Drop for PendingTar {
    fn drop(&mut self) {
        // Kept ones have another name by now.
        let _ = std::fs::remove_file(&self.part);
    }
}
