//! Tars of jobs as files of the host, each with a description beside it: names from workflows never
//! become paths.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::tar_guard::TarGuard;

/// Largest artifact or cache entry in bytes.
pub(crate) const MAX_STORED: u64 = 2 << 30;

/// A name as a file name: no name leads out of its directory, and none is another's.
pub(crate) fn hashed(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

/// The descriptions in a directory, each with its tar.
pub(crate) fn entries<T: DeserializeOwned>(directory: &Path) -> Vec<(T, PathBuf)> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let described = files.filter_map(|file| {
        let path = file.path();
        (path.extension()? == "json").then_some(())?;
        let description = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let tar = path.with_extension("tar");
        tar.is_file().then_some((description, tar))
    });
    described.collect()
}

/// A tar that is being written; it counts only when it is [kept](Self::keep_as).
pub(crate) struct PendingTar {
    name: String,
    file: std::fs::File,
    part: PathBuf,
    directory: PathBuf,
    bytes: u64,
    guard: TarGuard,
}

/// A tar that counts.
pub(crate) struct KeptTar {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl PendingTar {
    pub(crate) fn new(directory: &Path, name: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let part = directory.join(format!("{}.part", uuid::Uuid::new_v4()));
        Ok(Self {
            name: name.to_owned(),
            file: std::fs::File::create_new(&part)?,
            part,
            directory: directory.to_owned(),
            bytes: 0,
            guard: TarGuard::default(),
        })
    }

    /// Adds bytes, up to the limit; the machine made them, so that they are looked at.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_STORED {
            return Err(std::io::Error::other(format!(
                "it is larger than {MAX_STORED} bytes"
            )));
        }
        self.guard.push(bytes).map_err(std::io::Error::other)?;
        self.file.write_all(bytes)
    }

    /// Makes it count with this description, if it has at most so many bytes.
    pub(crate) fn keep_as(
        self,
        most: u64,
        describe: impl FnOnce(&str, u64) -> serde_json::Result<Vec<u8>>,
    ) -> std::io::Result<KeptTar> {
        self.guard.finish().map_err(std::io::Error::other)?;
        if self.bytes > most {
            return Err(std::io::Error::other(format!(
                "it has {} bytes, {most} are allowed",
                self.bytes
            )));
        }
        let base = self.directory.join(hashed(&self.name));
        let described = describe(&self.name, self.bytes)?;
        let path = base.with_extension("tar");
        std::fs::rename(&self.part, &path)?;
        std::fs::write(base.with_extension("json"), described)?;
        Ok(KeptTar {
            path,
            bytes: self.bytes,
        })
    }
}

impl Drop for PendingTar {
    fn drop(&mut self) {
        // Kept ones have another name by now.
        let _ = std::fs::remove_file(&self.part);
    }
}
