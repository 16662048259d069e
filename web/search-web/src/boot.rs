//! From checked settings to a server that can be started: the role file is created, read and checked.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{Diagnostics, Environment};
use edge_web::ServeOptions;
use search_actors::SearchSettings;
use search_core::role::{self, ListenAddress, RoleFile, ServerSettings};
use store::{FolderLock, LockError};

use crate::server::ServerOptions;

/// The longest a search may take, waiting included.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Folder of the indexes, in the data folder.
const INDEX_FOLDER: &str = "index";

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
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

/// Reads the role file; on the first start it is written, with one role that searches `folder`.
///
/// # Errors
/// The file cannot be read or written, or every mistake in it.
pub fn read_roles(
    path: &Path,
    environment: &Environment,
    folder: &Path,
) -> Result<(RoleFile, RoleFileOrigin), BootError> {
    let mut origin = RoleFileOrigin::Existing;
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            origin = RoleFileOrigin::Created;
            write_default(path, folder)?
        }
        read => read.map_err(|source| BootError::File {
            what: "read",
            path: path.to_owned(),
            source,
        })?,
    };
    let file =
        role::parse(&path.display().to_string(), &text, environment).map_err(BootError::Roles)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base = absolute.parent().unwrap_or(Path::new("/"));
    Ok((file.relative_to(base), origin))
}

fn write_default(path: &Path, folder: &Path) -> Result<Vec<u8>, BootError> {
    let failed = |what| {
        move |source| BootError::File {
            what,
            path: path.to_owned(),
            source,
        }
    };
    let text = role::default_role_file(folder).into_bytes();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed("create the folder of"))?;
    }
    // Beside the file and renamed: a reader, or a crash, never sees half of it.
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, &text).map_err(failed("write"))?;
    std::fs::rename(&beside, path).map_err(failed("write"))?;
    Ok(text)
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
    }
}

/// Takes the data folder for this process, and makes it where it is missing.
///
/// # Errors
/// The folder cannot be made, or another process uses it; the error names that process.
pub fn lock_data(settings: &ServerSettings, program: &str) -> Result<FolderLock, BootError> {
    let path = &settings.data_path.value;
    let failed = |source| BootError::File {
        what: "create the data folder",
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(path.join(INDEX_FOLDER)).map_err(failed)?;
    Ok(FolderLock::take(path, program)?)
}

/// How the server faces its callers.
#[must_use]
pub fn server_options(settings: &ServerSettings) -> ServerOptions {
    ServerOptions {
        token: settings
            .api_token
            .as_ref()
            .map(|token| token.expose().clone()),
        hosts: vec![settings.listen.value.host_name()],
        cache_bytes: settings.cache_size.value.bytes(),
        serve: ServeOptions::default(),
    }
}

/// The socket address of a listen address; a name is resolved, its first address is taken.
///
/// # Errors
/// The name has no address.
pub fn socket_address(listen: &ListenAddress) -> Result<SocketAddr, BootError> {
    let failed = |reason: String| BootError::Address {
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
        let (file, origin) = read_roles(&path, &environment, home.path()).unwrap();
        assert_eq!(origin, RoleFileOrigin::Created);
        let role = file.default_role();
        assert_eq!(role.relevance_function.as_str(), "ServiceGraph");
        assert_eq!(role.theme.as_str(), "spacelab");
        assert_eq!(role.haystacks[0].local_files().unwrap().folder, home.path());
        let again = read_roles(&path, &environment, Path::new("/elsewhere")).unwrap();
        assert_eq!(again, (file, RoleFileOrigin::Existing));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let home = tempfile::tempdir().unwrap();
        let error = read_roles(home.path(), &Environment::default(), home.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&home.path().display().to_string()),
            "{error}"
        );
    }
}
