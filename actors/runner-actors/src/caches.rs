//! Caches: by repository and by the reference that wrote them, bounded, the least lately used gone
//! first.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster_actors::replica::{SharedFiles, is_loss};
use parking_lot::Mutex;
use runner_core::cache_scope::CacheScope;
use serde::{Deserialize, Serialize};

use crate::clock::now_ms;
use crate::stored_tar::{PendingTar, hashed};
use crate::tar_store::{TarEntry, TarOwner, TarStore, directories, remove_unfinished};

/// Where they are.
const DIRECTORY: &str = "scoped-caches";
/// The usual limit of one (GitHub's).
pub(crate) const MAX_ENTRY: u64 = 10 << 30;
/// Untrusted events have this fraction of a repository's quota, beside it.
const UNTRUSTED_FRACTION: u64 = 4;

/// The caches of all repositories.
#[derive(Debug, Clone)]
pub(crate) struct CacheStore {
    tars: TarStore,
    directory: PathBuf,
    quota: u64,
    /// Bytes of one.
    most: u64,
    /// Held while entries come and go.
    changing: Arc<Mutex<()>>,
}

/// What is known of an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CacheEntry {
    key: String,
    bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    at: u64,
    /// When it was last restored, or stored.
    used: u64,
    /// Of an archive that a client packed: its hash of what was packed and how. Others are tars of
    /// the native action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Whose runs wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// An entry as those see it who may manage the caches of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedCache {
    pub(crate) id: u64,
    /// Empty where nobody knows.
    pub(crate) reference: String,
    pub(crate) key: String,
    pub(crate) version: String,
    pub(crate) bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    pub(crate) at: u64,
    pub(crate) used: u64,
}

/// An entry that was found.
pub(crate) struct FoundCache {
    pub(crate) key: String,
    /// Open: it may be removed while it is read.
    pub(crate) file: File,
}

impl CacheStore {
    /// Caches below `data`, `quota` bytes for each repository.
    pub(crate) fn open(data: &Path, quota: u64, shared: Option<&SharedFiles>) -> Self {
        let directory = data.join(DIRECTORY);
        remove_unfinished(&directory);
        Self {
            tars: TarStore::new(data, shared),
            directory,
            quota,
            most: MAX_ENTRY,
            changing: Arc::default(),
        }
    }

    /// With so many bytes for one at most, instead of the usual ones.
    #[must_use]
    pub(crate) fn with_max_entry_bytes(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Bytes that one may have.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// A file to write a new entry to.
    pub(crate) fn create(&self, scope: &CacheScope, key: &str) -> std::io::Result<PendingTar> {
        self.tars.create(&of_scope(scope), key, self.most)
    }

    fn entries(&self, scope: &CacheScope) -> std::io::Result<Vec<TarEntry<CacheEntry>>> {
        self.tars.list(&of_scope(scope))
    }

    /// Whether the scope has an entry of exactly this key.
    pub(crate) fn contains(&self, scope: &CacheScope, key: &str) -> std::io::Result<bool> {
        self.has_of(scope, key, None)
    }

    /// Whether the scope has an archive of exactly this key and version.
    pub(crate) fn has_packed(
        &self,
        scope: &CacheScope,
        key: &str,
        version: &str,
    ) -> std::io::Result<bool> {
        self.has_of(scope, key, Some(version))
    }

    fn has_of(
        &self,
        scope: &CacheScope,
        key: &str,
        version: Option<&str>,
    ) -> std::io::Result<bool> {
        let entries = self.entries(scope)?;
        let mut own = entries.iter().map(|entry| &entry.about);
        Ok(own.any(|entry| entry.version.as_deref() == version && entry.key == key))
    }

    /// Makes an archive that a client packed count: the file is moved.
    pub(crate) fn keep_packed(
        &self,
        scope: &CacheScope,
        key: &str,
        version: &str,
        file: &Path,
    ) -> std::io::Result<()> {
        let quota = self.quota_of(scope);
        let bytes = std::fs::metadata(file)?.len();
        if bytes > quota {
            return Err(std::io::Error::other(format!(
                "it has {bytes} bytes, {quota} are allowed"
            )));
        }
        let entry = CacheEntry::new(scope, key, bytes, Some(version));
        let name = packed_name(key, version);
        self.tars.keep_file(&of_scope(scope), &name, file, &entry)?;
        self.evict(scope, quota, &name)
    }

    /// The archive of this version for `key`, else the newest whose key begins with the first of
    /// `prefixes` that has one; in the first scope that has any. Its key, and where it is.
    pub(crate) fn find_packed(
        &self,
        scopes: &[CacheScope],
        key: &str,
        prefixes: &[String],
        version: &str,
    ) -> std::io::Result<Option<(String, PathBuf)>> {
        self.find_of(scopes, key, prefixes, Some(version))
    }

    fn find_of(
        &self,
        scopes: &[CacheScope],
        key: &str,
        prefixes: &[String],
        version: Option<&str>,
    ) -> std::io::Result<Option<(String, PathBuf)>> {
        let mut failed = None;
        for scope in scopes {
            while let Some(entry) = chosen(self.entries(scope)?, key, prefixes, version) {
                let path = match self.tars.open(&entry) {
                    Ok(path) => path,
                    Err(error) if is_loss(&error) => {
                        self.drop_lost(&entry, &error)?;
                        continue;
                    }
                    Err(error) => {
                        failed.get_or_insert(error);
                        break;
                    }
                };
                let used = CacheEntry {
                    used: now_ms(),
                    ..entry.about.clone()
                };
                // One that cannot be described is older than it should be.
                let _ = self.tars.describe(&entry, &used);
                return Ok(Some((used.key, path)));
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// Forgets an entry whose bytes are lost: the next job stores it anew.
    fn drop_lost(
        &self,
        entry: &TarEntry<CacheEntry>,
        error: &std::io::Error,
    ) -> std::io::Result<()> {
        let key = entry.about.key.as_str();
        tracing::warn!(event = "run.cache_lost", key, %error, "a cache cannot be read any more and is forgotten");
        self.tars.remove_lost(entry)
    }

    fn quota_of(&self, scope: &CacheScope) -> u64 {
        if scope.untrusted {
            self.quota / UNTRUSTED_FRACTION
        } else {
            self.quota
        }
    }

    /// Makes a written entry count; others go for it where the repository has no room.
    pub(crate) fn keep(&self, scope: &CacheScope, pending: PendingTar) -> std::io::Result<u64> {
        let quota = self.quota_of(scope);
        let tar = pending.finish(quota)?;
        let entry = CacheEntry::new(scope, &tar.name, tar.bytes, None);
        self.tars.keep(&of_scope(scope), &tar, &entry)?;
        self.evict(scope, quota, &tar.name)?;
        Ok(tar.bytes)
    }

    /// The entry for `key`, else the newest whose key begins with the first of `prefixes` that has
    /// one; in the first scope that has any.
    pub(crate) fn find(
        &self,
        scopes: &[CacheScope],
        key: &str,
        prefixes: &[String],
    ) -> std::io::Result<Option<FoundCache>> {
        let Some((key, path)) = self.find_of(scopes, key, prefixes, None)? else {
            return Ok(None);
        };
        let file = File::open(path)?;
        Ok(Some(FoundCache { key, file }))
    }

    /// Removes the least lately used until the rest is within `quota`; never the one of `new`.
    fn evict(&self, scope: &CacheScope, quota: u64, new: &str) -> std::io::Result<()> {
        let _changing = self.changing.lock();
        let of = of_scope(scope);
        let mut all = self.tars.list_all::<CacheEntry>(&of.kind)?;
        let mut total: u64 = all.iter().map(|entry| entry.about.bytes).sum();
        all.sort_by_key(|entry| entry.about.used);
        for entry in all {
            if total <= quota {
                break;
            }
            if entry.is_of(&of, new) {
                continue;
            }
            let CacheEntry { key, bytes, .. } = &entry.about;
            total = total.saturating_sub(*bytes);
            tracing::info!(
                event = "run.cache_evicted",
                key,
                bytes,
                "a cache made room for another"
            );
            self.tars.remove(&entry)?;
        }
        Ok(())
    }

    /// All of a repository, of whichever reference.
    pub(crate) fn list(&self, repository: &str) -> std::io::Result<Vec<ListedCache>> {
        let all = self.of_repository(repository)?;
        Ok(all.into_iter().map(|(listed, _)| listed).collect())
    }

    /// Removes those of a repository that are meant, and says which.
    pub(crate) fn remove(
        &self,
        repository: &str,
        is_meant: impl Fn(&ListedCache) -> bool,
    ) -> std::io::Result<Vec<ListedCache>> {
        let _changing = self.changing.lock();
        let mut removed = Vec::new();
        for (listed, entry) in self.of_repository(repository)? {
            if is_meant(&listed) {
                self.tars.remove(&entry)?;
                removed.push(listed);
            }
        }
        Ok(removed)
    }

    fn of_repository(
        &self,
        repository: &str,
    ) -> std::io::Result<Vec<(ListedCache, TarEntry<CacheEntry>)>> {
        let mut all = Vec::new();
        for untrusted in [false, true] {
            let scope = CacheScope {
                repository: repository.to_lowercase(),
                reference: String::new(),
                untrusted,
            };
            let kind = of_scope(&scope).kind;
            for entry in self.tars.list_all::<CacheEntry>(&kind)? {
                all.push((listed(&entry, &kind), entry));
            }
        }
        Ok(all)
    }

    /// Moves those that lie on this machine only to where every process can read them.
    pub(crate) fn move_local(&self) -> std::io::Result<usize> {
        let mut moved = 0;
        for repository in directories(&self.directory) {
            for owner in directories(&self.directory.join(&repository)) {
                let kind = format!("{DIRECTORY}/{repository}/{owner}");
                moved += self.tars.move_local(&kind)?;
            }
        }
        Ok(moved)
    }
}

impl CacheEntry {
    fn new(scope: &CacheScope, key: &str, bytes: u64, version: Option<&str>) -> Self {
        let now = now_ms();
        Self {
            key: key.to_owned(),
            bytes,
            at: now,
            used: now,
            version: version.map(str::to_owned),
            reference: Some(scope.reference.clone()),
        }
    }
}

/// What a scope has: of its repository, and of its reference.
fn of_scope(scope: &CacheScope) -> TarOwner {
    let owner = if scope.untrusted { "strangers" } else { "own" };
    TarOwner {
        kind: format!("{DIRECTORY}/{}/{owner}", hashed(&scope.repository)),
        owner: hashed(&scope.reference),
    }
}

fn listed(entry: &TarEntry<CacheEntry>, kind: &str) -> ListedCache {
    let about = &entry.about;
    // Those of native actions have it before their key.
    let apart = about
        .key
        .split_once('\n')
        .filter(|_| about.version.is_none());
    let (version, key) =
        apart.unwrap_or((about.version.as_deref().unwrap_or_default(), &about.key));
    ListedCache {
        id: entry.number(kind),
        reference: about.reference.clone().unwrap_or_default(),
        key: key.to_owned(),
        version: version.to_owned(),
        bytes: about.bytes,
        at: about.at,
        used: about.used,
    }
}

/// What an archive of a client is stored as: beside others of its key.
fn packed_name(key: &str, version: &str) -> String {
    format!("{version}\n{key}")
}

/// The entry for `key`, else the newest whose key begins with it or with the first of `prefixes`
/// that has one.
fn chosen(
    mut all: Vec<TarEntry<CacheEntry>>,
    key: &str,
    prefixes: &[String],
    version: Option<&str>,
) -> Option<TarEntry<CacheEntry>> {
    all.retain(|entry| entry.about.version.as_deref() == version);
    let exact = all.iter().position(|entry| entry.about.key == key);
    let by_prefix = || {
        let prefixes = std::iter::once(key).chain(prefixes.iter().map(String::as_str));
        let mut prefixes = prefixes.filter(|prefix| !prefix.is_empty());
        prefixes.find_map(|prefix| {
            let begins = all.iter().enumerate();
            let begins = begins.filter(|(_, entry)| entry.about.key.starts_with(prefix));
            let newest = begins.max_by_key(|(_, entry)| entry.about.at);
            newest.map(|(at, _)| at)
        })
    };
    let at = exact.or_else(by_prefix)?;
    Some(all.swap_remove(at))
}

#[cfg(test)]
mod tests;
