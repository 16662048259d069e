//! From checked settings to a server that can be started: the role file is created, read and
//! checked.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config_core::{Diagnostics, Environment};
use search_actors::{ConfigPublisher, RoleFileLocation, SearchSettings, write_in_one_step};
use search_core::role::{self, ListenAddress, RoleFile, ServerSettings, StorageBackend};
use store::local::LocalOpenError;
use store::{DirectoryLock, LocalState, LocalStateKind, LockError};

pub use crate::config_token::{ConfigurationToken, configuration_token, private_token, token_file};
pub use crate::object_places::{open_backups, open_snapshots, snapshot_mode};
use crate::server::SearchServerOptions;
pub use crate::source_check::check_sources;

/// The longest a search may take, waiting included.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Folder of the indexes, in the data folder.
const INDEX_FOLDER: &str = "index";

/// Folder of conversations and summaries, in the data folder.
const STATE_FOLDER: &str = "state";

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SearchBootError {
    /// The role file has mistakes.
    #[error("{0}")]
    Roles(Diagnostics),
    /// A file or folder cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The data folder cannot be used, or another process uses it.
    #[error(transparent)]
    Data(#[from] LockError),
    /// Conversations and summaries cannot be opened.
    #[error(transparent)]
    State(#[from] LocalOpenError),
    /// The host name has no address.
    #[error(
        "{address} has no address to listen on: {reason}; choose another one with SERVICE_SERVER_HOSTNAME"
    )]
    Address {
        /// The address as set.
        address: String,
        /// What the resolver said.
        reason: String,
    },
}

/// Whether the role file had to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleFileOrigin {
    /// It was there.
    Existing,
    /// It was written now: this is the first start.
    Created,
}

/// Reads the role file, to be shown, changed and followed; on the first start it is written, with
/// one role that searches `folder`.
///
/// # Errors
/// The file cannot be read or written, or every mistake in it.
pub fn read_configuration(
    path: &Path,
    environment: &Environment,
    folder: &Path,
) -> Result<(ConfigPublisher, RoleFileOrigin), SearchBootError> {
    let mut origin = RoleFileOrigin::Existing;
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            origin = RoleFileOrigin::Created;
            write_default(path, folder)?
        }
        read => read.map_err(|source| SearchBootError::File {
            what: "read",
            path: path.to_owned(),
            source,
        })?,
    };
    let place = RoleFileLocation {
        path: path.to_owned(),
        environment: environment.clone(),
    };
    let document = place.parse(&text).map_err(SearchBootError::Roles)?;
    let mut key = [0; 32];
    for half in key.chunks_exact_mut(16) {
        half.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    Ok((ConfigPublisher::new(place, document, key), origin))
}

fn write_default(path: &Path, folder: &Path) -> Result<Vec<u8>, SearchBootError> {
    let text = role::default_role_file(folder).into_bytes();
    write_role_file(path, &text)?;
    Ok(text)
}

/// Writes the role file in one step, and its folder where it is missing.
///
/// # Errors
/// It cannot be written; a former one is as it was.
pub fn write_role_file(path: &Path, text: &[u8]) -> Result<(), SearchBootError> {
    let failed = |what| {
        move |source| SearchBootError::File {
            what,
            path: path.to_owned(),
            source,
        }
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed("create the folder of"))?;
    }
    write_in_one_step(path, text).map_err(failed("write"))
}

/// What the actors are started with.
#[must_use]
pub fn search_settings(settings: &ServerSettings, roles: RoleFile) -> SearchSettings {
    SearchSettings {
        roles,
        data: settings.data_path.value.join(INDEX_FOLDER),
        max_concurrent_searches: settings.max_concurrent_searches.value.get() as usize,
        search_timeout: SEARCH_TIMEOUT,
        search_threads: std::thread::available_parallelism().map_or(2, usize::from),
        learning_rests: search_actors::LearningRests::default(),
        limits: search_actors::SearchLimits {
            watched_folders: settings.max_watched_folders.value.get() as usize,
            learnt_documents: u64::from(settings.max_learnt_documents.value.get()),
            graph_documents: settings.max_graph_documents.value.get() as usize,
            ..search_actors::SearchLimits::default()
        },
    }
}

/// Takes the data folder for this process, and makes it where it is missing.
///
/// # Errors
/// The folder cannot be made, or another process uses it; the error names that process.
pub fn lock_data(
    settings: &ServerSettings,
    program: &str,
) -> Result<DirectoryLock, SearchBootError> {
    let path = &settings.data_path.value;
    let failed = |source| SearchBootError::File {
        what: "create the data folder",
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(path.join(INDEX_FOLDER)).map_err(failed)?;
    Ok(DirectoryLock::take(path, program)?)
}

/// How the server faces its callers.
#[must_use]
pub fn server_options(settings: &ServerSettings) -> SearchServerOptions {
    SearchServerOptions {
        token: settings
            .api_token
            .as_ref()
            .map(|token| token.expose().clone()),
        hosts: std::iter::once(settings.listen.value.host_name())
            .chain(settings.hosts.iter().flatten().cloned())
            .collect(),
        cache_bytes: settings.cache_size.value.bytes(),
        ws_upstream: settings.ws_upstream.as_ref().map(|one| one.value.clone()),
        ..SearchServerOptions::default()
    }
}

/// Where local state is kept, if it is on disk.
#[must_use]
pub fn state_folder(settings: &ServerSettings) -> PathBuf {
    settings.data_path.value.join(STATE_FOLDER)
}

/// The backend of local state.
#[must_use]
pub fn storage_kind(settings: &ServerSettings) -> LocalStateKind {
    match settings.storage.value {
        StorageBackend::Redb => LocalStateKind::Redb,
        StorageBackend::Sqlite => LocalStateKind::Sqlite,
        StorageBackend::Memory => LocalStateKind::Memory,
        StorageBackend::ConcurrentMap => LocalStateKind::ConcurrentMap,
    }
}

/// Opens what the server keeps of chats, in the data folder.
///
/// # Errors
/// The folder cannot be made or read, or another process uses it.
pub fn open_state(
    settings: &ServerSettings,
    program: &str,
) -> Result<Arc<dyn LocalState>, SearchBootError> {
    let path = state_folder(settings);
    std::fs::create_dir_all(&path).map_err(|source| SearchBootError::File {
        what: "create the folder",
        path: path.clone(),
        source,
    })?;
    Ok(Arc::from(storage_kind(settings).open(&path, program)?))
}

/// The socket address of a listen address; a name is resolved, its first address is taken.
///
/// # Errors
/// The name has no address.
pub fn socket_address(listen: &ListenAddress) -> Result<SocketAddr, SearchBootError> {
    let failed = |reason: String| SearchBootError::Address {
        address: listen.to_string(),
        reason,
    };
    let mut addresses = (listen.host_name().as_str(), listen.port)
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?;
    addresses
        .next()
        .ok_or_else(|| failed("the name resolves to nothing".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_writes_a_role_that_searches_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep/config.json");
        let environment = Environment::default();
        let (config, origin) = read_configuration(&path, &environment, home.path()).unwrap();
        let file = config.view().roles();
        assert_eq!(origin, RoleFileOrigin::Created);
        let role = file.default_role();
        assert_eq!(role.relevance_function.as_str(), "ServiceGraph");
        assert_eq!(role.theme.as_str(), "spacelab");
        assert_eq!(role.haystacks[0].local_files().unwrap().folder, home.path());
        let (again, origin) =
            read_configuration(&path, &environment, Path::new("/elsewhere")).unwrap();
        assert_eq!(
            (again.view().roles(), origin),
            (file, RoleFileOrigin::Existing)
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let home = tempfile::tempdir().unwrap();
        let error =
            read_configuration(home.path(), &Environment::default(), home.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&home.path().display().to_string()),
            "{error}"
        );
    }

    /// `0B` is off, anything else bounds what is kept.
    #[test]
    fn service_cache_size_is_kept() {
        for (size, bytes) in [("0B", 0), ("64MB", 64_000_000), ("1MiB", 1 << 20)] {
            let environment =
                Environment::from_iter([("HOME", "/nowhere"), ("SERVICE_CACHE_SIZE", size)]);
            let flags = role::ServerFlags::default();
            let os = role::Os::Linux;
            let settings = role::parse_environment(&flags, &environment, os);
            let options = server_options(&settings.unwrap());
            assert_eq!(options.cache_bytes, bytes);
        }
    }
}
