//! What plans and jobs see of the store: the lock at one moment, and files that are what it says.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use git_engine::tree_digest;
use runner_core::actions::{
    ActionLock, ActionReference, ActionSource, LockedAction, how_to_add, how_to_add_locked,
};
use runner_core::container::ImageReference;
use runner_core::limits::MAX_FILE_BYTES;

use super::{ActionStore, ActionStoreError};

/// The run that uses actions.
struct UsingRun {
    /// `owner/name`.
    repository: String,
    /// It runs what a stranger wrote: a pull request from a fork.
    untrusted: bool,
}

/// The lock as it was when it was read; each tree is verified once, before its first file is used.
pub struct StoredLock {
    store: ActionStore,
    lock: Result<ActionLock, String>,
    /// Who uses it; `None`: somebody who may read the store itself.
    run: Option<UsingRun>,
    verified: RefCell<HashMap<String, Result<(), String>>>,
}

impl StoredLock {
    pub(super) fn new(store: ActionStore, lock: Result<ActionLock, ActionStoreError>) -> Self {
        Self {
            store,
            lock: lock.map_err(|error| error.to_string()),
            run: None,
            verified: RefCell::default(),
        }
    }

    /// What the lock has of a reference, by one of the two names that mean the same server: the one
    /// that names without a host are of (`actions_url`), or the configured forge.
    fn entry<'l>(
        &self,
        reference: &ActionReference,
        get: impl Fn(&ActionReference) -> Option<&'l LockedAction>,
    ) -> Option<&'l LockedAction> {
        let named = self.store.stored_as(reference);
        if named != *reference {
            // Of a former version: actions of another server had the same name.
            let former = || {
                let found = get(reference)?;
                let rest = found.url.strip_prefix(named.server()?);
                let is_own = rest.is_some_and(|rest| rest.starts_with('/'));
                (is_own || found.url.starts_with("file://")).then_some(found)
            };
            return get(&named).or_else(former);
        }
        get(reference).or_else(|| {
            let bare = reference.with_server(None);
            let usual = self.store.server_of(&bare).trim_end_matches('/');
            let own = self.store.repositories.clone_base();
            let own = own.map(|own| own.as_str().trim_end_matches('/'));
            let (server, other) = match reference.server() {
                Some(server) if server == usual || Some(server) == own => (server, None),
                None => (usual, Some(usual)),
                Some(_) => return None,
            };
            let found = get(&reference.with_server(other))?;
            // Names without a host may have meant another server when they were added. What came
            // out of a folder is what the operator calls so, but for the own forge's.
            let rest = found.url.strip_prefix(server);
            let of_server = rest.is_some_and(|rest| rest.starts_with('/'));
            let is_own = Some(server) == own;
            let of_folder = server == usual && !is_own && found.url.starts_with("file://");
            (of_server || of_folder).then_some(found)
        })
    }

    /// Whether the run may read an action that not everybody may, by the rules of checkouts (ADR
    /// 17): its own repository's, and what the operator lists, where no stranger wrote what runs.
    fn check_reader(
        &self,
        reference: &ActionReference,
        action: &LockedAction,
    ) -> Result<(), String> {
        let is_open = !action.private || self.store.settings.reads_all;
        let Some(run) = self.run.as_ref().filter(|_| !is_open) else {
            return Ok(());
        };
        let repository = reference.repository();
        let own = repository.to_string().eq_ignore_ascii_case(&run.repository);
        if own || (!run.untrusted && self.store.repositories.is_listed(repository)) {
            return Ok(());
        }
        Err(if run.untrusted {
            "not everybody may read its repository, and a pull request from a fork uses what everybody may read".to_owned()
        } else {
            format!(
                "not everybody may read its repository: the operator lets workflows of other repositories use it by listing {repository} in `checkout_repositories`"
            )
        })
    }

    /// An entry of the lock, when its owner is allowed and its files are what the lock says.
    fn verified(
        &self,
        reference: &ActionReference,
        action: &LockedAction,
    ) -> Result<LockedAction, String> {
        let owner = self.store.check_owner(reference);
        owner.map_err(|error| error.to_string())?;
        self.check_reader(reference, action)?;
        let mut verified = self.verified.borrow_mut();
        let known = verified.entry(action.commit.clone());
        known
            .or_insert_with(|| self.store.tree(action).map(|_| ()))
            .clone()?;
        Ok(action.clone())
    }
}

impl ActionSource for StoredLock {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        let lock = self.lock.as_ref().map_err(Clone::clone)?;
        let action = self.entry(reference, |reference| lock.get(reference));
        self.verified(reference, action.ok_or_else(|| how_to_add(reference))?)
    }

    fn find_commit(
        &self,
        reference: &ActionReference,
        commit: &str,
    ) -> Result<LockedAction, String> {
        let lock = self.lock.as_ref().map_err(Clone::clone)?;
        let other = || how_to_add_locked(reference, commit, lock.get(reference).cloned());
        let action = self.entry(reference, |reference| lock.at_commit(reference, commit));
        self.verified(reference, action.ok_or_else(other)?)
    }

    fn image(&self, image: &ImageReference) -> Result<(), String> {
        self.store.images.admits(image)
    }

    fn wants_original(&self, name: &str) -> bool {
        let mut originals = self.store.settings.originals.iter();
        originals.any(|original| original.eq_ignore_ascii_case(name))
    }

    fn read(&self, action: &LockedAction, path: &str) -> Option<Vec<u8>> {
        let top = self.store.tree_path(&action.commit).canonicalize().ok()?;
        // A link of the action may lead elsewhere on this machine.
        let file = top.join(path).canonicalize().ok()?;
        let metadata = file.metadata().ok()?;
        let fits = usize::try_from(metadata.len()).is_ok_and(|length| length <= MAX_FILE_BYTES);
        (file.starts_with(&top) && metadata.is_file() && fits).then(|| std::fs::read(&file).ok())?
    }
}

impl ActionStore {
    /// What plans see of the store now. A lock that cannot be read is said of every action, and of
    /// nothing else.
    #[must_use]
    pub fn stored(&self) -> StoredLock {
        StoredLock::new(self.clone(), self.lock())
    }

    /// What the plan of a run of this repository sees of it: of actions that not everybody may read
    /// only those that the run may. `untrusted`: it is of a pull request from a fork.
    #[must_use]
    pub fn stored_for(&self, repository: &str, untrusted: bool) -> StoredLock {
        let run = UsingRun {
            repository: repository.to_owned(),
            untrusted,
        };
        StoredLock {
            run: Some(run),
            ..self.stored()
        }
    }

    /// The folder with the files of a locked action, when they are what the lock says.
    ///
    /// # Errors
    /// What is wrong, and what to do, for people.
    pub fn tree(&self, action: &LockedAction) -> Result<PathBuf, String> {
        let folder = self.tree_path(&action.commit);
        let found = tree_digest(&folder).map_err(|error| {
            format!("its files in the store of actions cannot be read: {error}")
        })?;
        if found.as_str() == action.tree {
            return Ok(folder);
        }
        Err(format!(
            "its files in the store of actions are not those that were locked ({found} in place of {}); see `workflow-runner actions verify`",
            action.tree
        ))
    }
}
