//! From a checked configuration to what can be started: the store, the addresses, the composed
//! actors.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use config_core::{Diagnostic, Environment};
use edge_web::replica::COMPARED_SECRET;
use edge_web::{BindError, ServeOptions};
use git_engine::Git;
use orchestrator_actors::{OrchestratorService, OrchestratorSetup, SetupError, WallClock};
use orchestrator_core::config::{CheckedConfig, Config};
use orchestrator_engine::process::{Confinement, adopt_orphans};
use store::{LockError, OpenError, SettingDigests, Store, StoreOptions, StorePlace};

use crate::error::ServerError;
use crate::server::OrchestratorListeners;
use crate::socket::AdminSocket;

/// How long the lock of a daemon that is gone is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two attempts.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why an orchestrator cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum OrchestratorBootError {
    /// The data directory cannot be used, or another orchestrator uses it.
    #[error("the store: {0}")]
    Data(#[from] OpenError),
    /// An address is taken or not this machine's.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A name has no address.
    #[error("{name} has no address to listen on: {reason}")]
    Address {
        /// The name.
        name: String,
        /// What the resolver said.
        reason: String,
    },
    /// The admin bridge's socket.
    #[error(transparent)]
    Socket(#[from] ServerError),
    /// There is no room for files of other processes.
    #[error("[objects]: {0}")]
    Files(std::io::Error),
    /// Orphans cannot be taken in.
    #[error("cannot take in processes whose parents have ended: {0}")]
    Orphans(std::io::Error),
}

/// Opens the store of `program`, binds the addresses, and composes the actors. Makes this process
/// the parent of its agents' orphans. Blocks.
///
/// # Errors
/// See [`OrchestratorBootError`].
pub fn open(
    checked: CheckedConfig,
    config_path: &Path,
    environment: Environment,
    program: &str,
) -> Result<(OrchestratorService, OrchestratorListeners), OrchestratorBootError> {
    let store = open_store(&checked.config, program)?;
    let listening = listening(&checked.config)?;
    Ok((
        compose(checked, config_path, environment, store)?,
        listening,
    ))
}

/// Composes the actors over a store that is open. Makes this process the parent of its agents'
/// orphans. Blocks.
///
/// # Errors
/// See [`OrchestratorBootError`].
pub fn compose(
    checked: CheckedConfig,
    config_path: &Path,
    environment: Environment,
    store: Store,
) -> Result<OrchestratorService, OrchestratorBootError> {
    let warnings: Vec<String> = checked.warnings.iter().map(Diagnostic::headline).collect();
    for warning in &warnings {
        tracing::warn!(event = "config.warning", "{warning}");
    }
    let config = checked.config;
    adopt_orphans().map_err(OrchestratorBootError::Orphans)?;
    let confinement = Confinement::detect(&config.directories.data.display().to_string());
    let path = environment
        .text("PATH")
        .unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let service = OrchestratorService::new(OrchestratorSetup {
        git: Git::new("git", path),
        store,
        config,
        config_path: config_path.to_owned(),
        environment,
        clock: clock(),
        confinement,
        warnings,
    });
    service.map_err(|error| match error {
        SetupError::Store(error) => OrchestratorBootError::Data(error.into()),
        SetupError::Files(error) => OrchestratorBootError::Files(error),
    })
}

/// Pages of the store kept in memory: the open runs are held beside them, so little is read twice.
const CACHE_BYTES: usize = 16 << 20;

/// How the orchestrator's store is opened by `program`.
#[must_use]
pub fn store_options(program: &str) -> StoreOptions {
    StoreOptions {
        cache_bytes: CACHE_BYTES,
        ..StoreOptions::new(program).schema("orchestrator")
    }
}

/// What tells an installation from others that could use the same database by mistake: the same on
/// all its hosts.
#[must_use]
pub fn installation(config: &Config) -> String {
    let forge = config.forge.as_ref();
    let objects = config.objects.as_ref();
    let parts = [
        forge.map(|forge| format!("{:?}", forge.kind)),
        forge.map(|forge| forge.url.to_string()),
        Some(config.main_project.to_string()),
        objects.map(|objects| objects.place.url()),
    ];
    parts.map(Option::unwrap_or_default).join("\n")
}

/// The settings that have to be equal on all processes that share a store, as they are in force.
#[must_use]
pub fn compared(config: &Config) -> SettingDigests {
    let hosts = config.vm_hosts.iter();
    let hosts: Vec<_> = hosts
        .map(|host| format!("{} {} {:?}", host.name, host.url, host.labels))
        .collect();
    SettingDigests::default()
        .with(COMPARED_SECRET, &config.secrets.fingerprint())
        .with("[vm_hosts]", &hosts.join("\n"))
}

/// Where a configuration says that the store is.
///
/// # Errors
/// The address is none.
pub fn store_place(config: &Config) -> Result<StorePlace, OpenError> {
    match &config.store.url {
        Some(url) => url.expose().parse(),
        None => Ok(StorePlace::Directory(config.directories.data.clone())),
    }
}

/// Opens the store. A child that a killed daemon was just starting holds its lock for the moment
/// before it becomes another program, so a lock whose holder is gone is waited for.
fn open_store(config: &Config, program: &str) -> Result<Store, OpenError> {
    let until = Instant::now() + LOCK_TIMEOUT;
    let options = store_options(program);
    let place = store_place(config)?;
    loop {
        let url = match &place {
            StorePlace::Postgres(url) => Some(url),
            StorePlace::Directory(_) => None,
        };
        let opened = Store::open_in(&config.directories.data, url, &options);
        let Err(OpenError::Lock(LockError::Held { holder, .. })) = &opened else {
            return opened;
        };
        let alive = Path::new("/proc").join(holder.pid.to_string()).exists();
        if alive || Instant::now() > until {
            return opened;
        }
        std::thread::park_timeout(LOCK_POLL_INTERVAL);
    }
}

fn clock() -> WallClock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    })
}

/// Binds the addresses of a configuration.
///
/// # Errors
/// One is taken or not this machine's.
pub fn listening(config: &Config) -> Result<OrchestratorListeners, OrchestratorBootError> {
    let listeners = &config.listeners;
    let receiver = edge_web::bind(address(&listeners.webhook)?, "listen")?;
    let admin = match &listeners.admin {
        Some(admin) => Some(edge_web::bind(address(admin)?, "admin_listen")?),
        None => None,
    };
    let socket = listeners
        .admin_socket
        .as_deref()
        .map(AdminSocket::new)
        .transpose()?;
    Ok(OrchestratorListeners {
        receiver,
        admin,
        socket,
        front: None,
        serve: ServeOptions::default(),
    })
}

fn address(name: &str) -> Result<SocketAddr, OrchestratorBootError> {
    let failed = |reason: String| OrchestratorBootError::Address {
        name: name.to_owned(),
        reason,
    };
    let mut found = name
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?;
    let first = found.next();
    first.ok_or_else(|| failed("the name resolves to nothing".to_owned()))
}
