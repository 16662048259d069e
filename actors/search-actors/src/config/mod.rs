//! The configuration in force and the file behind it: shown, changed, followed.
//!
//! ```text
//! edge --SaveRoles--> ConfigManager --write, fsync, rename--> role file
//!                       |  ^                                        |
//!                       |  +----------- looks once a second --------+
//!                       +--ApplyRoles--> RoleManager
//! edge <--reads-- ConfigView (document in force, its version, why a newer one is not)
//! ```

mod allowed;
mod file;
mod manager;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use config_core::{Diagnostics, Environment};
use parking_lot::RwLock;
use search_core::answer::ConfigurationHealth;
use search_core::role::{RoleDocument, RoleFile};
use search_engine::rfc3339;

pub use file::write_in_one_step;
pub use manager::{ConfigManager, config_manager};

/// The role file of a server.
#[derive(Debug, Clone)]
pub struct RoleFileLocation {
    /// Where it is.
    pub path: PathBuf,
    /// What its variables stand for.
    pub environment: Environment,
}

impl RoleFileLocation {
    /// Reads a text as this file.
    ///
    /// # Errors
    /// Every mistake of the text.
    pub fn parse(&self, text: &[u8]) -> Result<RoleDocument, Diagnostics> {
        RoleDocument::parse(&self.path.display().to_string(), text, &self.environment)
    }

    /// The roles of a document, their relative paths meant from the file's folder.
    #[must_use]
    pub fn roles(&self, document: &RoleDocument) -> RoleFile {
        let absolute = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        document.roles().clone().relative_to(folder)
    }
}

/// A configuration in force, and what is to be said of it.
#[derive(Debug, Clone)]
pub struct ActiveConfig {
    /// The document.
    pub document: Arc<RoleDocument>,
    /// Changes with the text: 32 hex digits.
    pub version: String,
    /// When it was put in force.
    pub since: SystemTime,
    /// Why the file on disk is not in force.
    pub error: Option<String>,
}

/// The configuration in force, to be read. Clones read the same one.
#[derive(Debug, Clone)]
pub struct ConfigView {
    location: Arc<RoleFileLocation>,
    active: Arc<RwLock<ActiveConfig>>,
}

impl ConfigView {
    /// What is in force at this moment.
    #[must_use]
    pub fn now(&self) -> ActiveConfig {
        self.active.read().clone()
    }

    /// The file.
    #[must_use]
    pub fn location(&self) -> &RoleFileLocation {
        &self.location
    }

    /// The roles in force, their relative paths meant from the file's folder.
    #[must_use]
    pub fn roles(&self) -> RoleFile {
        self.location.roles(&self.now().document)
    }

    /// What `GET /health` says of it.
    #[must_use]
    pub fn health(&self) -> ConfigurationHealth {
        let now = self.active.read();
        let since = now.since.duration_since(SystemTime::UNIX_EPOCH);
        let seconds = since.unwrap_or_default().as_secs();
        ConfigurationHealth {
            version: now.version.clone(),
            since: rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX)),
            error: now.error.clone(),
        }
    }
}

/// Puts configurations in force; given to the config manager alone.
#[derive(Debug, Clone)]
pub struct ConfigPublisher {
    view: ConfigView,
    /// Versions are made with it: they tell nothing of the secrets in the text.
    key: [u8; 32],
}

impl ConfigPublisher {
    /// Begins with what was read from the file. `key` is random.
    #[must_use]
    pub fn new(location: RoleFileLocation, document: RoleDocument, key: [u8; 32]) -> Self {
        let active = RwLock::new(active(&key, document));
        Self {
            view: ConfigView {
                location: Arc::new(location),
                active: Arc::new(active),
            },
            key,
        }
    }

    /// What readers hold.
    #[must_use]
    pub fn view(&self) -> &ConfigView {
        &self.view
    }

    /// Puts a document in force.
    fn publish(&self, document: RoleDocument) -> ActiveConfig {
        let active = active(&self.key, document);
        self.view.active.write().clone_from(&active);
        active
    }

    /// Says why the file on disk is not in force; `false` when that was known.
    fn report_error(&self, error: Option<String>) -> bool {
        let mut now = self.view.active.write();
        let is_new = now.error != error;
        now.error = error;
        is_new
    }
}

fn active(key: &[u8; 32], document: RoleDocument) -> ActiveConfig {
    ActiveConfig {
        version: version(key, document.text()),
        document: Arc::new(document),
        since: SystemTime::now(),
        error: None,
    }
}

fn version(key: &[u8; 32], text: &str) -> String {
    blake3::keyed_hash(key, text.as_bytes()).to_hex()[..32].to_owned()
}
