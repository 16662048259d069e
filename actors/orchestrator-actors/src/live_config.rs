//! The configuration in force: many readers, one writer.

use std::sync::Arc;

use config_core::{Diagnostic, Diagnostics};
use orchestrator_core::Millis;
use orchestrator_core::config::Config;
use tokio::sync::watch;

/// The configuration in force, and when it was read.
#[derive(Debug, Clone)]
pub(crate) struct LoadedConfig {
    pub(crate) config: Arc<Config>,
    pub(crate) loaded_at: Millis,
    /// What is odd about it.
    pub(crate) warnings: Vec<String>,
}

/// Reads the configuration in force; clones are the same.
#[derive(Debug, Clone)]
pub struct LiveConfig(watch::Receiver<LoadedConfig>);

/// Replaces the configuration in force; the operator API alone has it.
#[derive(Debug, Clone)]
pub(crate) struct ConfigWriter(watch::Sender<LoadedConfig>);

impl LiveConfig {
    /// Puts the first configuration in force.
    pub(crate) fn new(
        config: Config,
        warnings: Vec<String>,
        loaded_at: Millis,
    ) -> (Self, ConfigWriter) {
        let (writer, reader) = watch::channel(LoadedConfig {
            config: Arc::new(config),
            loaded_at,
            warnings,
        });
        (Self(reader), ConfigWriter(writer))
    }

    /// The configuration in force.
    pub fn current(&self) -> Arc<Config> {
        Arc::clone(&self.0.borrow().config)
    }
}

impl ConfigWriter {
    /// The configuration in force, and when it was read.
    pub(crate) fn loaded(&self) -> LoadedConfig {
        self.0.borrow().clone()
    }

    /// Puts another configuration in force.
    pub(crate) fn replace(&self, config: Config, warnings: &Diagnostics, loaded_at: Millis) {
        self.0.send_replace(LoadedConfig {
            config: Arc::new(config),
            loaded_at,
            warnings: warnings.iter().map(Diagnostic::headline).collect(),
        });
    }
}
