//! The configuration file `vm-manager.toml`, checked.
//!
//! All of it can be left out: an empty file is a manager with every default.

mod model;
mod tables;

use std::path::Path;

use config_core::{
    ConfigInput, ConfigItem, Diagnostic, Diagnostics, Environment, FlagValues, ObjectKeys,
    SettingOrigin, TableInfo,
};

pub use model::{FirecrackerTable, ImagesTable, ManagerConfig, QemuTable};
use tables::MANAGER;

/// Where the manager listens by default.
pub const DEFAULT_LISTEN: &str = model::DEFAULT_LISTEN;

/// What flags of the command line say.
#[derive(Debug, Clone, Default)]
pub struct ManagerFlags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<String>,
    /// `--log-level`.
    pub log_level: Option<String>,
}

/// What a file alone says: `vm-manager.toml`, or a table of another file.
#[derive(Debug)]
pub struct FileValues(ManagerConfig);

/// The keys of the file, for documents.
#[must_use]
pub fn keys() -> TableInfo {
    MANAGER.describe(&ManagerConfig::default())
}

impl ManagerFlags {
    /// The values by flag.
    #[must_use]
    pub fn values(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("--listen", self.listen.as_deref()),
            ("--data", self.data.as_deref()),
            ("--log-level", self.log_level.as_deref()),
        ]
    }
}

impl ManagerConfig {
    /// The configuration in force: flags win over the environment, that over the file `name` with
    /// the content `text`. Relative paths of the file are meant from `base`.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn parse(
        name: &str,
        text: &[u8],
        base: &Path,
        flags: &ManagerFlags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let input = ConfigInput::toml(name, text, environment).base(base);
        let file = input.decode(FileValues::read)?.value;
        Self::from_file(file, flags, environment)
    }

    /// The configuration in force, with what a file says read already.
    ///
    /// # Errors
    /// Every mistake of the flags and the environment at once.
    pub fn from_file(
        file: FileValues,
        flags: &ManagerFlags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let mut config = file.0;
        if config.data.origin == SettingOrigin::Default {
            config.data.value = environment.data_home().join("orrery/vm-manager");
        }
        let mut wrong = Diagnostics::default();
        let flags: FlagValues<'_> = &flags.values();
        MANAGER.override_with(&mut config, flags, environment, &mut wrong);
        match config
            .object_table
            .settings(ObjectKeys::from_environment(environment))
        {
            Ok(objects) => config.objects = objects,
            Err(error) => wrong.push(Diagnostic::for_setting("[objects]", error)),
        }
        if wrong.is_empty() {
            Ok(config)
        } else {
            Err(wrong)
        }
    }
}

impl FileValues {
    /// Reads the manager's table. Mistakes are the item's.
    #[must_use]
    pub fn read(item: &ConfigItem<'_>) -> Option<Self> {
        MANAGER.read_new(item).map(Self)
    }

    /// Whether it says where state is kept.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.0.data.origin == SettingOrigin::File
    }
}
