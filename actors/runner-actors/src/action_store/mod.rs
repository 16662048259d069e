//! The store of actions of other repositories, on disk: mirrors, laid-out trees, the lock.
//! Blocking.
//!
//! ```text
//! actions add ──remote, address policy──▶ mirrors/<owner>/<repo>.git ──▶ trees/<commit> ──digest──▶ lock.json
//!                                                                           │
//!                       plan, job ◀── only while the digest is the lock's ──┘
//! ```
//!
//! The runner fetches, when its operator says so; a VM gets the files of the locked commit and
//! fetches nothing.

mod archive;
mod error;
mod stored;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forge_core::{CommitSha, ObjectFormats};
use git_engine::{Remote, Transports, tree_digest};
use runner_core::actions::{ActionLock, ActionReference, LockChange, LockedAction};

pub use archive::ImportedAction;
pub use error::ActionStoreError;
pub use stored::StoredLock;
pub use verify::{ActionFault, VerifiedAction};

use crate::image_store::ContainerImageStore;
use crate::repositories::Repositories;
use crate::settings::{ActionSettings, RunnerSettings};

/// Longest time to ask a remote what a name means.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// How a folder is fetched from.
const FOLDERS: Transports = Transports {
    http: false,
    file: true,
};

/// The store; clones share its mirrors.
#[derive(Clone)]
pub struct ActionStore {
    settings: ActionSettings,
    repositories: Repositories,
    images: ContainerImageStore,
}

impl ActionStore {
    /// As the settings say; nothing is written before something is added.
    #[must_use]
    pub fn new(settings: &Arc<RunnerSettings>) -> Self {
        let mirrors = settings.actions.folder.join("mirrors");
        Self {
            settings: settings.actions.clone(),
            images: ContainerImageStore::new(&settings.images),
            repositories: Repositories::with_root(settings, &mirrors),
        }
    }

    /// The lock as it is now; without a file nothing is locked.
    ///
    /// # Errors
    /// When the file cannot be read or is no lock.
    pub fn lock(&self) -> Result<ActionLock, ActionStoreError> {
        let path = self.lock_path();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(ActionLock::parse(&bytes)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ActionLock::default()),
            Err(error) => Err(ActionStoreError::io(&path, error)),
        }
    }

    /// Fetches what a reference means now, and locks it: from the forge that it names, else from
    /// the configured one, else from `from`, an address or a folder of this machine.
    ///
    /// # Errors
    /// When its owner is not allowed, it cannot be fetched, has more files than a commit may have,
    /// or the same commit is locked with other files.
    pub fn add(
        &self,
        reference: &ActionReference,
        from: Option<&str>,
    ) -> Result<(LockedAction, LockChange), ActionStoreError> {
        self.check_owner(reference)?;
        let writing = self.acquire_lock()?;
        let (remote, url) = self.remote(reference, from)?;
        let mirror = self.repositories.mirror(reference.repository())?;
        let version = reference.reference();
        let found = mirror.remote_commit(&remote, version, ASK_TIMEOUT)?;
        let (commit, from) =
            found.ok_or_else(|| ActionStoreError::NoVersion(reference.to_string()))?;
        let everybody = self.repositories.without_token(&url);
        let private = everybody.is_some_and(|remote| {
            let found = mirror.remote_commit(&remote, version, ASK_TIMEOUT);
            !matches!(found, Ok(Some(_)))
        });
        mirror.fetch_files(&remote, &commit, from.as_ref())?;
        // Before anything is laid out: it may be a stranger's.
        mirror.tree_size(&commit, self.repositories.tree_limits())?;
        let new = self.extract_commit(reference, &commit)?;
        let locked = LockedAction {
            url,
            commit: commit.as_str().to_owned(),
            tree: tree_digest(&new)?.as_str().to_owned(),
            private,
            reference: from.map(|reference| reference.to_string()),
        };
        let added = self.put(reference, locked, &new);
        // Moved to its place, or of no use.
        let _ = std::fs::remove_dir_all(&new);
        drop(writing);
        added
    }

    /// Locks a commit whose files lie in `new`, and puts them where jobs get them.
    fn put(
        &self,
        reference: &ActionReference,
        locked: LockedAction,
        new: &Path,
    ) -> Result<(LockedAction, LockChange), ActionStoreError> {
        let mut lock = self.lock()?;
        let change = lock.set(&self.stored_as(reference), locked.clone())?;
        let place = self.tree_path(&locked.commit);
        let there = tree_digest(&place).is_ok_and(|there| there.as_str() == locked.tree);
        if !there {
            let wrong = |error| ActionStoreError::io(&place, error);
            if place.exists() {
                // Not what the commit holds: the commit's files take its place.
                std::fs::remove_dir_all(&place).map_err(wrong)?;
            }
            std::fs::rename(new, &place).map_err(wrong)?;
        }
        self.write_lock(&lock)?;
        Ok((locked, change))
    }

    /// The commit's files in a new folder, out of the mirror.
    fn extract_commit(
        &self,
        reference: &ActionReference,
        commit: &CommitSha,
    ) -> Result<PathBuf, ActionStoreError> {
        let trees = self.settings.folder.join("trees");
        let new = trees.join(format!("new-{}", uuid::Uuid::new_v4()));
        let mirror = self.repositories.mirror(reference.repository())?;
        mirror.extract(commit, &new).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&new);
        })?;
        Ok(new)
    }

    /// Owners that are not listed are refused, where any are.
    fn check_owner(&self, reference: &ActionReference) -> Result<(), ActionStoreError> {
        let owners = &self.settings.owners;
        let owner = reference.repository().owner();
        if owners.is_empty() || owners.iter().any(|one| one.eq_ignore_ascii_case(owner)) {
            return Ok(());
        }
        Err(ActionStoreError::Owner(owner.to_owned()))
    }

    /// Where it is fetched from, and what is written down of it. A folder only where the operator
    /// names it.
    fn remote(
        &self,
        reference: &ActionReference,
        from: Option<&str>,
    ) -> Result<(Remote, String), ActionStoreError> {
        let url = match from {
            Some(folder) if !folder.contains("://") => {
                return remote_of_folder(&self.repositories, Path::new(folder));
            }
            Some(url) => url.to_owned(),
            None => {
                let server = self.server_of(reference);
                format!(
                    "{}/{}",
                    server.trim_end_matches('/'),
                    reference.repository()
                )
            }
        };
        let is_folder = from.is_some() && url.starts_with("file://");
        let remote = if is_folder {
            self.repositories.remote_by(&url, FOLDERS)
        } else {
            self.repositories.named_remote(&url)
        };
        let remote = remote.map_err(|error| ActionStoreError::Source(error.to_string()))?;
        Ok((remote, url))
    }

    /// The forge that a reference is of: a called workflow that names none is one of Gitea's and
    /// Forgejo's own, an action one of the configured server.
    fn server_of<'a>(&'a self, reference: &'a ActionReference) -> &'a str {
        let own = self.repositories.clone_base();
        let own = own.filter(|_| reference.is_workflow());
        let usual = own.unwrap_or(&self.settings.server).as_str();
        reference.server().unwrap_or(usual)
    }

    /// By which name the lock has a reference: called workflows that name no host, where they are
    /// the own forge's and actions are another's, stand there with that forge's, for both may have
    /// one name. A forge below a path has no such name.
    fn stored_as(&self, reference: &ActionReference) -> ActionReference {
        let usual = self.settings.server.as_str().trim_end_matches('/');
        let own = self.repositories.clone_base();
        let own = own.map(|own| own.as_str().trim_end_matches('/'));
        let own = own.filter(|own| *own != usual && reference.server().is_none());
        let Some(own) = own.filter(|_| reference.is_workflow()) else {
            return reference.clone();
        };
        let named = reference.with_server(Some(own));
        let read = named.to_string().parse::<ActionReference>();
        match read.is_ok_and(|read| read == named) {
            true => named,
            false => reference.clone(),
        }
    }

    /// The same of a reference that somebody names of a lock: as it is there, also where a former
    /// version has added it.
    #[must_use]
    pub fn name_in(&self, lock: &ActionLock, reference: &ActionReference) -> ActionReference {
        let named = self.stored_as(reference);
        match lock.get(&named) {
            Some(_) => named,
            None => reference.clone(),
        }
    }

    /// The folder of a commit's files.
    fn tree_path(&self, commit: &str) -> PathBuf {
        self.settings.folder.join("trees").join(commit)
    }

    fn lock_path(&self) -> PathBuf {
        self.settings.folder.join("lock.json")
    }

    /// Makes the folder, for its user only, and waits for another program that changes the store.
    fn acquire_lock(&self) -> Result<std::fs::File, ActionStoreError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = self.settings.folder.join("trees");
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(|error| ActionStoreError::io(&folder, error))?;
        let path = self.settings.folder.join("writing");
        let opened = std::fs::File::create(&path).and_then(|file| file.lock().map(|()| file));
        opened.map_err(|error| ActionStoreError::io(&path, error))
    }

    /// Replaces the lock in one step: a reader sees the old one or the new one.
    fn write_lock(&self, lock: &ActionLock) -> Result<(), ActionStoreError> {
        let path = self.lock_path();
        let written = store::replace_file(&path, None, |file| {
            std::io::Write::write_all(file, lock.to_text().as_bytes())
        });
        written.map_err(|error| ActionStoreError::io(&path, error))
    }
}

/// A folder of this machine as something to fetch from, and its address.
fn remote_of_folder(
    repositories: &Repositories,
    folder: &Path,
) -> Result<(Remote, String), ActionStoreError> {
    let path = folder.canonicalize();
    let path = path.map_err(|error| ActionStoreError::io(folder, error))?;
    let url = url::Url::from_file_path(&path)
        .map_err(|()| ActionStoreError::io(&path, std::io::ErrorKind::InvalidInput.into()))?
        .to_string();
    let remote = repositories.remote_by(&url, FOLDERS);
    let remote = remote.map_err(|error| ActionStoreError::Source(error.to_string()))?;
    Ok((remote, url))
}

/// The commit of a lock's entry: checked when the lock was read.
fn commit_of(action: &LockedAction) -> Result<CommitSha, ActionStoreError> {
    CommitSha::parse(&action.commit, ObjectFormats::Sha1AndSha256)
        .map_err(|_| ActionStoreError::NoVersion(action.commit.clone()))
}
