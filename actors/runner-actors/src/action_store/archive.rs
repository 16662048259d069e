//! A store, or a part of it, as one archive: for hosts that reach no forge.
//!
//! ```text
//! export: lock.json and, of each locked commit, a mirror of its files ──▶ tar
//! import: tar ──▶ exchange/ ──fetched as from any folder──▶ mirrors, trees ──digest──▶ lock.json
//! ```
//! An archive is believed as little as a forge: git names objects by what they are, and the files
//! of a commit have to be those that the archive's lock says.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use forge_core::CommitSha;
use git_engine::tree_digest;
use runner_core::actions::{ActionLock, ActionReference, LockChange, LockedAction};

use super::{ActionStore, ActionStoreError, commit_of, remote_of_folder};
use crate::repositories::Repositories;

const LOCK: &str = "lock.json";
const MIRRORS: &str = "mirrors";
/// What an archive has of a mirror; its settings are made anew.
const OF_A_MIRROR: [&str; 4] = ["objects", "packed-refs", "refs", "shallow"];
/// Largest lock of an archive, in bytes.
const MAX_LOCK_BYTES: u64 = 4 << 20;

/// What became of an action of an archive.
pub type ImportedAction = (String, Result<(LockedAction, LockChange), ActionStoreError>);

/// The folder of an archive that is packed or unpacked; gone afterwards.
struct Exchange(PathBuf);

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl ActionStore {
    /// Writes actions to an archive, all of the store without any named; gives how many. What is
    /// not as it was locked is not written.
    ///
    /// # Errors
    /// When one is not in the store or was changed there, or the file cannot be written.
    pub fn export(&self, named: &[ActionReference], to: &Path) -> Result<usize, ActionStoreError> {
        let _writing = self.acquire_lock()?;
        let lock = self.lock()?;
        let named = named.iter().map(|name| self.name_in(&lock, name));
        let chosen = chosen(&lock, &named.collect::<Vec<_>>())?;
        let exchange = self.exchange()?;
        let outside = self.repositories.elsewhere(&exchange.0.join(MIRRORS));
        for (name, action) in chosen.entries() {
            self.check(name, action)
                .map_err(|fault| ActionStoreError::NotExported {
                    name: name.to_owned(),
                    what: fault.to_string(),
                })?;
            let reference = reference_of(name)?;
            copy(
                &self.repositories,
                &outside,
                &reference,
                &commit_of(action)?,
            )?;
        }
        let part = to.with_added_extension("part");
        let written = pack(&exchange.0, &chosen, &part).and_then(|()| std::fs::rename(&part, to));
        written.map_err(|error| {
            let _ = std::fs::remove_file(&part);
            ActionStoreError::io(to, error)
        })?;
        Ok(chosen.entries().count())
    }

    /// Adds all that an archive holds; what became of each.
    ///
    /// # Errors
    /// When it is no such archive; what is wrong with one action stops no other.
    pub fn import(&self, from: &Path) -> Result<Vec<ImportedAction>, ActionStoreError> {
        let _writing = self.acquire_lock()?;
        let exchange = self.exchange()?;
        let lock = unpack(from, &exchange.0)?;
        let inside = self.repositories.elsewhere(&exchange.0.join(MIRRORS));
        let imported = lock.entries().map(|(name, action)| {
            let added = reference_of(name)
                .and_then(|reference| self.import_one(&inside, &reference, action));
            (name.to_owned(), added)
        });
        Ok(imported.collect())
    }

    fn import_one(
        &self,
        inside: &Repositories,
        reference: &ActionReference,
        action: &LockedAction,
    ) -> Result<(LockedAction, LockChange), ActionStoreError> {
        self.check_owner(reference)?;
        let commit = commit_of(action)?;
        copy(inside, &self.repositories, reference, &commit)?;
        let mirror = self.repositories.mirror(reference.repository())?;
        mirror.tree_size(&commit, self.repositories.tree_limits())?;
        let new = self.extract_commit(reference, &commit)?;
        let found = tree_digest(&new)?;
        let added = if found.as_str() == action.tree {
            self.put(reference, action.clone(), &new)
        } else {
            Err(ActionStoreError::OtherFiles {
                name: reference.key(),
                known: action.tree.clone(),
                found: found.to_string(),
            })
        };
        let _ = std::fs::remove_dir_all(&new);
        added
    }

    /// Forgets an action, and the files that no other one needs; whether it was there.
    ///
    /// # Errors
    /// When the lock cannot be read, or the store not be written.
    pub fn remove(&self, reference: &ActionReference) -> Result<bool, ActionStoreError> {
        let _writing = self.acquire_lock()?;
        let mut lock = self.lock()?;
        let Some(action) = lock.remove(&self.name_in(&lock, reference)) else {
            return Ok(false);
        };
        self.write_lock(&lock)?;
        if !lock
            .entries()
            .any(|(_, other)| other.commit == action.commit)
        {
            remove_folder(&self.tree_path(&action.commit))?;
        }
        let repository = reference.repository();
        // Those of all servers are in one mirror.
        let others = lock
            .entries()
            .filter_map(|(name, _)| reference_of(name).ok());
        let own = repository.to_string();
        let mut others = others.map(|other| other.repository().to_string());
        if !others.any(|other| other.eq_ignore_ascii_case(&own)) {
            let mirror = self.repositories.mirror(repository)?;
            remove_folder(mirror.folder())?;
        }
        Ok(true)
    }

    /// An empty folder for one archive. The caller holds the store.
    fn exchange(&self) -> Result<Exchange, ActionStoreError> {
        let folder = self.settings.folder.join("exchange");
        // Left by one that was killed.
        remove_folder(&folder)?;
        std::fs::create_dir(&folder).map_err(|error| ActionStoreError::io(&folder, error))?;
        Ok(Exchange(folder))
    }
}

fn chosen(lock: &ActionLock, named: &[ActionReference]) -> Result<ActionLock, ActionStoreError> {
    if named.is_empty() {
        return Ok(lock.clone());
    }
    let mut chosen = ActionLock::default();
    for reference in named {
        let action = lock.get(reference);
        let action = action.ok_or_else(|| ActionStoreError::Unknown(reference.to_string()))?;
        chosen.set(reference, action.clone())?;
    }
    Ok(chosen)
}

fn reference_of(name: &str) -> Result<ActionReference, ActionStoreError> {
    name.parse()
        .map_err(|_| ActionStoreError::NoVersion(name.to_owned()))
}

/// Brings the files of a commit from one folder of mirrors into another.
fn copy(
    from: &Repositories,
    to: &Repositories,
    reference: &ActionReference,
    commit: &CommitSha,
) -> Result<(), ActionStoreError> {
    let source = from.mirror(reference.repository())?;
    let (remote, _) = remote_of_folder(to, source.folder())?;
    let target = to.mirror(reference.repository())?;
    Ok(target.fetch_files(&remote, commit, None)?)
}

fn pack(exchange: &Path, lock: &ActionLock, to: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(File::create(to)?);
    archive.mode(tar::HeaderMode::Deterministic);
    let text = lock.to_text();
    let mut header = tar::Header::new_ustar();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, LOCK, text.as_bytes())?;
    for owner in sorted(&exchange.join(MIRRORS))? {
        for mirror in sorted(&owner)? {
            for part in OF_A_MIRROR {
                append(&mut archive, exchange, &mirror.join(part))?;
            }
        }
    }
    archive.into_inner()?.sync_all()
}

/// Adds a file, or all files below a folder, as they are named below `top`.
fn append(archive: &mut tar::Builder<File>, top: &Path, path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return sorted(path)?
            .iter()
            .try_for_each(|inner| append(archive, top, inner));
    }
    let name = path.strip_prefix(top).unwrap_or(path);
    match path.is_file() {
        true => archive.append_path_with_name(path, name),
        false => Ok(()),
    }
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort();
    Ok(entries)
}

/// Lays an archive out in a folder; its lock.
fn unpack(from: &Path, exchange: &Path) -> Result<ActionLock, ActionStoreError> {
    let wrong = |what: String| ActionStoreError::NoArchive {
        path: from.to_owned(),
        what,
    };
    let file = File::open(from).map_err(|error| ActionStoreError::io(from, error))?;
    let mut archive = tar::Archive::new(file);
    let mut lock = None;
    let entries = archive
        .entries()
        .map_err(|error| wrong(error.to_string()))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| wrong(error.to_string()))?;
        let path = entry.path().map_err(|error| wrong(error.to_string()))?;
        let path = path.into_owned();
        if !entry.header().entry_type().is_file() || !is_expected(&path) {
            return Err(wrong(format!("{} does not belong there", path.display())));
        }
        if path == Path::new(LOCK) {
            let mut text = Vec::new();
            let read = entry.by_ref().take(MAX_LOCK_BYTES).read_to_end(&mut text);
            read.map_err(|error| wrong(error.to_string()))?;
            lock = Some(ActionLock::parse(&text)?);
            continue;
        }
        let target = exchange.join(&path);
        let folder = target.parent().unwrap_or(exchange);
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| File::create_new(&target))
            .and_then(|mut file| io::copy(&mut entry, &mut file));
        written.map_err(|error| ActionStoreError::io(&target, error))?;
    }
    lock.ok_or_else(|| wrong(format!("it has no {LOCK}")))
}

/// The lock, or a file of a mirror that only holds objects and names: nothing that git would run or
/// follow elsewhere.
fn is_expected(path: &Path) -> bool {
    let parts = path.components().map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let Some(parts) = parts.collect::<Option<Vec<&str>>>() else {
        return false;
    };
    match parts.as_slice() {
        [LOCK] => true,
        [MIRRORS, _, mirror, part, rest @ ..] => {
            mirror.ends_with(".git")
                && OF_A_MIRROR.contains(part)
                && !(*part == "objects" && rest.first() == Some(&"info"))
        }
        _ => false,
    }
}

fn remove_folder(folder: &Path) -> Result<(), ActionStoreError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ActionStoreError::io(folder, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_an_archive_has_objects_and_names_of_mirrors_only() {
        for (path, expected) in [
            ("lock.json", true),
            ("mirrors/acme/tool.git/objects/pack/pack-1.pack", true),
            ("mirrors/acme/tool.git/refs/orrery/abc", true),
            ("mirrors/acme/tool.git/shallow", true),
            ("mirrors/acme/tool.git/config", false),
            ("mirrors/acme/tool.git/hooks/post-checkout", false),
            ("mirrors/acme/tool.git/objects/info/alternates", false),
            ("mirrors/acme/../../objects/x", false),
            ("/lock.json", false),
            ("mirrors/acme/tool/objects/x", false),
            ("trees/abc/action.yml", false),
        ] {
            assert_eq!(is_expected(Path::new(path)), expected, "{path}");
        }
    }
}
