//! Tars of jobs, each with a description: files of the host, or files that every process can read.
//!
//! On one machine an entry is `<kind>/<owner>/<name>.tar` below the data with its description
//! beside it. With object storage it is a [`SharedFiles`] of the same kind, owner and name; entries
//! that were stored before are read where they are until they are moved.

use std::fs::{File, Metadata};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster_actors::replica::{FileKey, FirstFault, SharedFile, SharedFiles};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::stored_tar::{PendingTar, WholeTar, hashed};

/// Where tars are kept; clones share it. Methods block.
#[derive(Debug, Clone)]
pub(crate) struct TarStore {
    data: PathBuf,
    shared: Option<SharedFiles>,
    /// Held while a tar and its description come to their places.
    placing: Arc<Mutex<()>>,
}

/// Whose tars.
#[derive(Debug, Clone)]
pub(crate) struct TarOwner {
    /// What they are: a path below the data.
    pub(crate) kind: String,
    pub(crate) owner: String,
}

/// A tar that counts, and what is said of it.
#[derive(Debug)]
pub(crate) struct TarEntry<T> {
    pub(crate) about: T,
    held: TarLocation,
}

#[derive(Debug)]
enum TarLocation {
    /// The file.
    Local(PathBuf),
    Shared(FileKey, SharedFile),
}

impl TarStore {
    pub(crate) fn new(data: &Path, shared: Option<&SharedFiles>) -> Self {
        Self {
            data: data.to_owned(),
            shared: shared.cloned(),
            placing: Arc::default(),
        }
    }

    fn directory(&self, of: &TarOwner) -> PathBuf {
        self.data.join(&of.kind).join(&of.owner)
    }

    /// A file to write a new tar to, of at most so many bytes.
    pub(crate) fn create(
        &self,
        of: &TarOwner,
        name: &str,
        most: u64,
    ) -> std::io::Result<PendingTar> {
        PendingTar::new(&self.directory(of), name, most)
    }

    /// Makes a tar count, in place of what had its name.
    pub(crate) fn keep<T: Serialize>(
        &self,
        of: &TarOwner,
        tar: &WholeTar,
        about: &T,
    ) -> std::io::Result<()> {
        self.keep_file(of, &tar.name, &tar.part, about)
    }

    /// The same of any file below the data; it is gone afterwards.
    pub(crate) fn keep_file<T: Serialize>(
        &self,
        of: &TarOwner,
        name: &str,
        file: &Path,
        about: &T,
    ) -> std::io::Result<()> {
        let about = serde_json::to_string(about)?;
        let base = self.directory(of).join(hashed(name));
        if let Some(shared) = &self.shared {
            shared.put_patiently(key(of, &base), file, about)?;
            // What had its name before there was object storage.
            return remove_local(&base);
        }
        std::fs::create_dir_all(self.directory(of))?;
        // A name of its own: another job may keep one of the same name now.
        let part = base.with_extension(format!("{}.part", uuid::Uuid::new_v4().simple()));
        // Another file system, where an operator has mounted one.
        if std::fs::rename(file, &part).is_err() {
            std::fs::copy(file, &part)?;
        }
        let placed = self.place(&part, &base, &about);
        if placed.is_err() {
            // It may have its place already.
            let _ = std::fs::remove_file(&part);
        }
        placed
    }

    /// Puts a file and its description where they count. Whatever ends here, power too, leaves
    /// both, or no entry: a tar is durable before it has its place, and no former description
    /// stands beside it.
    fn place(&self, part: &Path, base: &Path, about: &str) -> std::io::Result<()> {
        File::open(part)?.sync_data()?;
        let (tar, description) = (base.with_extension("tar"), base.with_extension("json"));
        let _placing = self.placing.lock();
        remove_if_there(&description)?;
        std::fs::rename(part, tar)?;
        describe_local(&description, about)
    }

    /// The entries of an owner.
    pub(crate) fn list<T: DeserializeOwned>(
        &self,
        of: &TarOwner,
    ) -> std::io::Result<Vec<TarEntry<T>>> {
        let mut found = Vec::new();
        if let Some(shared) = &self.shared {
            for (key, file) in shared.list(&of.kind, Some(&of.owner))? {
                found.extend(TarEntry::shared(key, file));
            }
        }
        let is_there = |entry: &TarEntry<T>, path: &Path| match &entry.held {
            TarLocation::Shared(key, _) => path.file_stem().is_some_and(|stem| *key.2 == *stem),
            TarLocation::Local(_) => false,
        };
        for entry in local(&self.directory(of)) {
            if let TarLocation::Local(path) = &entry.held
                && found.iter().any(|known| is_there(known, path))
            {
                continue;
            }
            found.push(entry);
        }
        Ok(found)
    }

    /// All entries of a kind, of whomever.
    pub(crate) fn list_all<T: DeserializeOwned>(
        &self,
        kind: &str,
    ) -> std::io::Result<Vec<TarEntry<T>>> {
        let mut all = Vec::new();
        for owner in self.owners(kind)? {
            let kind = kind.to_owned();
            all.extend(self.list(&TarOwner { kind, owner })?);
        }
        Ok(all)
    }

    /// Whoever has entries of a kind.
    pub(crate) fn owners(&self, kind: &str) -> std::io::Result<Vec<String>> {
        let mut owners: Vec<String> = directories(&self.data.join(kind));
        if let Some(shared) = &self.shared {
            let files = shared.list(kind, None)?.into_iter();
            owners.extend(files.map(|((_, owner, _), _)| owner));
        }
        owners.sort_unstable();
        owners.dedup();
        Ok(owners)
    }

    /// The file of an entry, on this machine. It may be removed later: open it, or link it.
    pub(crate) fn open<T>(&self, entry: &TarEntry<T>) -> std::io::Result<PathBuf> {
        match (&entry.held, &self.shared) {
            (TarLocation::Local(path), _) => Ok(path.clone()),
            (TarLocation::Shared(_, file), Some(shared)) => shared.open_file(file),
            (TarLocation::Shared(..), None) => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    /// Says something else of an entry.
    pub(crate) fn describe<T, U: Serialize>(
        &self,
        entry: &TarEntry<T>,
        about: &U,
    ) -> std::io::Result<()> {
        let about = serde_json::to_string(about)?;
        match (&entry.held, &self.shared) {
            (TarLocation::Shared(key, _), Some(shared)) => shared.describe(key, about),
            (TarLocation::Local(path), _) => {
                let _placing = self.placing.lock();
                // One that was removed meanwhile has no description any more.
                match path.is_file() {
                    true => describe_local(&path.with_extension("json"), &about),
                    false => Ok(()),
                }
            }
            (TarLocation::Shared(..), None) => Ok(()),
        }
    }

    /// Removes an entry.
    pub(crate) fn remove<T>(&self, entry: &TarEntry<T>) -> std::io::Result<()> {
        match (&entry.held, &self.shared) {
            (TarLocation::Shared(key, _), Some(shared)) => shared.remove(key),
            (TarLocation::Local(path), _) => remove_local(path),
            (TarLocation::Shared(..), None) => Ok(()),
        }
    }

    /// Removes an entry whose bytes are lost, unless it was stored again since.
    pub(crate) fn remove_lost<T>(&self, entry: &TarEntry<T>) -> std::io::Result<()> {
        match (&entry.held, &self.shared) {
            (TarLocation::Shared(key, file), Some(shared)) => shared.remove_lost(key, file),
            _ => self.remove(entry),
        }
    }

    /// Gives an entry a second owner, who keeps what has its name.
    pub(crate) fn share<T: Serialize>(
        &self,
        entry: &TarEntry<T>,
        name: &str,
        with: &TarOwner,
    ) -> std::io::Result<()> {
        let directory = self.directory(with);
        let base = directory.join(hashed(name));
        let path = match (&entry.held, &self.shared) {
            (TarLocation::Shared(from, _), Some(shared)) => {
                return shared.copy(from, key(with, &base));
            }
            (TarLocation::Local(path), _) => path,
            (TarLocation::Shared(..), None) => return Ok(()),
        };
        let (to, description) = (base.with_extension("tar"), base.with_extension("json"));
        if description.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&directory)?;
        let _placing = self.placing.lock();
        // Left by an attempt that ended here; a tar is never written to once it counts.
        let _ = std::fs::remove_file(&to);
        if std::fs::hard_link(path, &to).is_err() {
            std::fs::copy(path, &to)?;
            File::open(&to)?.sync_data()?;
        }
        describe_local(&description, &serde_json::to_string(&entry.about)?)
    }

    /// Forgets all of an owner.
    pub(crate) fn remove_owner(&self, of: &TarOwner) -> std::io::Result<()> {
        // Gone already, or never there.
        let _ = std::fs::remove_dir_all(self.directory(of));
        match &self.shared {
            Some(shared) => shared.remove_owner(&of.kind, &of.owner),
            None => Ok(()),
        }
    }

    /// Moves entries of a kind that lie on this machine only into the object storage, each read
    /// back and compared; gives how many.
    pub(crate) fn move_local(&self, kind: &str) -> std::io::Result<usize> {
        let Some(shared) = &self.shared else {
            return Ok(0);
        };
        let (mut faults, mut moved) = (FirstFault::default(), 0);
        for owner in directories(&self.data.join(kind)) {
            let of = TarOwner {
                kind: kind.to_owned(),
                owner,
            };
            for entry in local::<serde_json::Value>(&self.directory(&of)) {
                // One that cannot be read holds up no other. Where the storage is away each would
                // wait for it.
                match faults.record(move_entry(shared, &of, &entry)) {
                    Some(was_moved) => moved += usize::from(was_moved),
                    None if shared.trouble().is_some() => return faults.end().map(|()| moved),
                    None => {}
                }
            }
            // Where it is empty by now.
            let _ = std::fs::remove_dir(self.directory(&of));
        }
        faults.end().map(|()| moved)
    }
}

/// Moves an entry of this machine into the object storage, unless it is there already.
fn move_entry(
    shared: &SharedFiles,
    of: &TarOwner,
    entry: &TarEntry<serde_json::Value>,
) -> std::io::Result<bool> {
    let TarLocation::Local(path) = &entry.held else {
        return Ok(false);
    };
    let key = key(of, path);
    let is_new = shared.get(&key)?.is_none();
    if is_new {
        // Another name of it, which `put` takes.
        let sent = path.with_extension("part");
        let _ = std::fs::remove_file(&sent);
        std::fs::hard_link(path, &sent)?;
        shared.put(key.clone(), &sent, entry.about.to_string())?;
        if let Some(stored) = shared.get(&key)? {
            shared.verify(&stored)?;
        }
    }
    remove_local(path)?;
    Ok(is_new)
}

/// Makes a shared entry one of this machine, below the data.
pub(crate) fn bring_entry(
    data: &Path,
    files: &SharedFiles,
    (kind, owner, name): &FileKey,
    file: &SharedFile,
) -> std::io::Result<()> {
    let base = data.join(kind).join(owner).join(name);
    files.bring_to(file, &base.with_extension("tar"))?;
    // The description last: without it the tar is no entry.
    describe_local(&base.with_extension("json"), &file.about)
}

/// Writes a description in one step.
fn describe_local(description: &Path, about: &str) -> std::io::Result<()> {
    store::replace_file(description, None, |output| {
        output.write_all(about.as_bytes())
    })
}

/// Removes what was being written below a directory when the runner's previous incarnation ended.
pub(crate) fn remove_unfinished(directory: &Path) {
    let below = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in below {
        let path = entry.path();
        let ending = path.extension().and_then(|end| end.to_str());
        if path.is_dir() {
            remove_unfinished(&path);
        } else if matches!(ending, Some("part" | "used" | "new")) {
            // What cannot be removed now is tried again at the next start.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl<T: DeserializeOwned> TarEntry<T> {
    fn shared(key: FileKey, file: SharedFile) -> Option<Self> {
        Some(Self {
            about: serde_json::from_str(&file.about).ok()?,
            held: TarLocation::Shared(key, file),
        })
    }
}

impl<T> TarEntry<T> {
    /// Whether it is the entry of this owner and name.
    pub(crate) fn is_of(&self, of: &TarOwner, name: &str) -> bool {
        let name = hashed(name);
        match &self.held {
            TarLocation::Local(path) => {
                path.file_stem().is_some_and(|stem| *stem == *name)
                    && path
                        .parent()
                        .is_some_and(|parent| parent.ends_with(&of.owner))
            }
            TarLocation::Shared((_, owner, own), _) => *owner == of.owner && *own == name,
        }
    }
}

impl<T> TarEntry<T> {
    /// Its number, of 53 bits: the same as long as it is there, wherever it lies.
    pub(crate) fn number(&self, kind: &str) -> u64 {
        let (owner, name) = match &self.held {
            TarLocation::Local(path) => {
                let parent = path.parent().and_then(Path::file_name);
                let part = |part: Option<&std::ffi::OsStr>| {
                    part.unwrap_or_default().to_string_lossy().into_owned()
                };
                (part(parent), part(path.file_stem()))
            }
            TarLocation::Shared((_, owner, name), _) => (owner.clone(), name.clone()),
        };
        let digest = blake3::hash(format!("{kind}/{owner}/{name}").as_bytes());
        let start: [u8; 8] = digest.as_bytes()[..8].try_into().unwrap_or_default();
        u64::from_le_bytes(start) >> 11
    }
}

fn key(of: &TarOwner, base: &Path) -> FileKey {
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    (of.kind.clone(), of.owner.clone(), stem.into_owned())
}

fn remove_local(path: &Path) -> std::io::Result<()> {
    // The description first: without it the tar is no entry.
    ["json", "tar"]
        .iter()
        .try_for_each(|ending| remove_if_there(&path.with_extension(ending)))
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn directories(directory: &Path) -> Vec<String> {
    let below = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = below.filter(|entry| entry.path().is_dir());
    directories
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// What every description says.
#[derive(Deserialize)]
struct DescribedLength {
    bytes: u64,
}

/// The descriptions in a directory, each with its tar.
fn local<T: DeserializeOwned>(directory: &Path) -> Vec<TarEntry<T>> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let described = files.filter_map(|file| {
        let path = file.path();
        (path.extension()? == "json").then_some(())?;
        let text = std::fs::read(&path).ok()?;
        let about = serde_json::from_slice(&text).ok()?;
        let tar = path.with_extension("tar");
        let length = std::fs::metadata(&tar)
            .ok()
            .filter(Metadata::is_file)?
            .len();
        let described = serde_json::from_slice::<DescribedLength>(&text).ok();
        if described.is_some_and(|described| described.bytes != length) {
            forget_cut(&tar, length);
            return None;
        }
        Some(TarEntry {
            about,
            held: TarLocation::Local(tar),
        })
    });
    described.collect()
}

/// Removes an entry whose tar is not as long as it was: power failed before it was on the disk, and
/// whoever needs it stores it anew.
fn forget_cut(tar: &Path, length: u64) {
    tracing::warn!(event = "run.tar_cut", tar = %tar.display(), length, "an artifact or a cache is not as long as it was stored, and is forgotten");
    if let Err(error) = remove_local(tar) {
        tracing::warn!(event = "run.tar_cut", tar = %tar.display(), %error, "it cannot be removed");
    }
}

#[cfg(test)]
mod tests;
