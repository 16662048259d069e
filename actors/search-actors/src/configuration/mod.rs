//! The configuration in force and the file behind it: shown, changed, followed.
//!
//! ```text
//! edge --SaveRoles--> ConfigurationDesk --write, fsync, rename--> role file
//!                       |  ^                                        |
//!                       |  +----------- looks once a second --------+
//!                       +--ApplyRoles--> RoleDesk
//! edge <--reads-- Configuration (document in force, its version, why a newer one is not)
//! ```

mod allowed;
mod desk;
mod file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use config_core::{Diagnostics, Environment};
use parking_lot::RwLock;
use search_core::answer::ConfigurationHealth;
use search_core::role::{RoleDocument, RoleFile};
use search_engine::rfc3339;

pub use desk::{ConfigurationDesk, configuration_desk};
pub use file::write_in_one_step;

/// The role file of a server.
#[derive(Debug, Clone)]
pub struct RoleFilePlace {
    /// Where it is.
    pub path: PathBuf,
    /// What its variables stand for.
    pub environment: Environment,
}

impl RoleFilePlace {
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

/// The configuration in force. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Configuration(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    place: RoleFilePlace,
    /// Versions are made with it: they tell nothing of the secrets in the text.
    key: [u8; 32],
    now: RwLock<InForce>,
}

/// A configuration, and what is to be said of it.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The document.
    pub document: Arc<RoleDocument>,
    /// Changes with the text: 32 hex digits.
    pub version: String,
    /// When it was put in force.
    pub since: SystemTime,
    /// Why the file on disk is not in force.
    pub error: Option<String>,
}

impl Configuration {
    /// Begins with what was read from the file. `key` is random.
    #[must_use]
    pub fn new(place: RoleFilePlace, document: RoleDocument, key: [u8; 32]) -> Self {
        let in_force = InForce {
            version: version(&key, document.text()),
            document: Arc::new(document),
            since: SystemTime::now(),
            error: None,
        };
        let now = RwLock::new(in_force);
        Self(Arc::new(Shared { place, key, now }))
    }

    /// What is in force at this moment.
    #[must_use]
    pub fn now(&self) -> InForce {
        self.0.now.read().clone()
    }

    /// The file.
    #[must_use]
    pub fn place(&self) -> &RoleFilePlace {
        &self.0.place
    }

    /// What `GET /health` says of it.
    #[must_use]
    pub fn health(&self) -> ConfigurationHealth {
        let now = self.0.now.read();
        let since = now.since.duration_since(SystemTime::UNIX_EPOCH);
        let seconds = since.unwrap_or_default().as_secs();
        ConfigurationHealth {
            version: now.version.clone(),
            since: rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX)),
            error: now.error.clone(),
        }
    }

    fn put(&self, document: RoleDocument) -> InForce {
        let in_force = InForce {
            version: version(&self.0.key, document.text()),
            document: Arc::new(document),
            since: SystemTime::now(),
            error: None,
        };
        self.0.now.write().clone_from(&in_force);
        in_force
    }

    /// Says why the file on disk is not in force; `false` when that was known.
    fn tell(&self, error: Option<String>) -> bool {
        let mut now = self.0.now.write();
        let news = now.error != error;
        now.error = error;
        news
    }
}

fn version(key: &[u8; 32], text: &str) -> String {
    blake3::keyed_hash(key, text.as_bytes()).to_hex()[..32].to_owned()
}
