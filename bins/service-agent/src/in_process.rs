//! What a private server is made of.

use std::time::Duration;

use config_core::Environment;
use search_core::role::{RoleFile, ServerSettings, parse as parse_roles};

use crate::failure::ClientFailure;

/// What a private server is made of.
pub struct InProcess {
    pub(crate) settings: ServerSettings,
    pub(crate) environment: Environment,
    pub(crate) program: &'static str,
    pub(crate) timeout: Duration,
}

impl InProcess {
    /// The text of the role file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn role_text(&self) -> Result<Vec<u8>, ClientFailure> {
        let path = &self.settings.settings_path.value;
        std::fs::read(path).map_err(|error| {
            ClientFailure::Configuration(format!(
                "no search server runs here, and {} cannot be read: {error}; start search-server once, or name a role file with --config",
                path.display()
            ))
        })
    }

    /// The roles of the role file, relative paths meant from its folder.
    ///
    /// # Errors
    /// When it cannot be read, or every mistake in it.
    pub fn roles(&self) -> Result<RoleFile, ClientFailure> {
        let path = &self.settings.settings_path.value;
        let text = self.role_text()?;
        let file = parse_roles(&path.display().to_string(), &text, &self.environment);
        let file = file.map_err(|wrong| ClientFailure::Configuration(wrong.to_string()))?;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        Ok(file.relative_to(absolute.parent().unwrap_or(std::path::Path::new("/"))))
    }
}
