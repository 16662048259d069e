//! The command `config` of the programs: what may be set, and what is in force.

use std::path::{Path, PathBuf};

use clap::Args;
use config_core::{
    ConfigInput, Diagnostics, Environment, FlagValues, TableInfo, UnknownKeys, render_effective,
};

/// What to print.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub struct ConfigOptions {
    /// Print the JSON Schema (draft 2020-12) of the configuration file
    #[arg(long)]
    pub schema: bool,
    /// Print the settings in force, each with where it comes from; secrets as `***`
    #[arg(long)]
    pub show: bool,
}

/// A configuration file that was read.
#[derive(Debug, Clone)]
pub struct ConfigText {
    /// What messages call it.
    pub name: String,
    /// Its content.
    pub text: Vec<u8>,
    /// The folder that its relative paths are meant from.
    pub base: PathBuf,
}

impl ConfigText {
    /// No file.
    #[must_use]
    pub fn none() -> Self {
        Self {
            name: "(no file)".to_owned(),
            // An empty text would be a mistake.
            text: b"# no file\n".to_vec(),
            base: "/".into(),
        }
    }

    /// Reads the file that a flag names, or else the environment variable; without both there is
    /// none, which is as a file without keys.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        path: Option<&Path>,
        variable: &str,
        environment: &Environment,
    ) -> Result<Self, String> {
        let path = path.or_else(|| environment.text(variable).map(Path::new));
        let Some(path) = path else {
            return Ok(Self::none());
        };
        let text = std::fs::read(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let absolute = std::path::absolute(path).ok();
        let base = absolute.as_deref().and_then(Path::parent);
        Ok(Self {
            name: path.display().to_string(),
            text,
            base: base.unwrap_or(Path::new("/")).to_owned(),
        })
    }
}

/// The JSON Schema of a file with these keys.
#[must_use]
pub fn schema(title: &str, keys: &TableInfo) -> String {
    format!("{:#}\n", keys.schema(title))
}

/// The settings in force, a line each.
///
/// # Errors
/// Every mistake of the file's syntax.
pub fn effective(
    keys: &TableInfo,
    file: &ConfigText,
    flags: FlagValues<'_>,
    environment: &Environment,
) -> Result<String, Diagnostics> {
    let input = ConfigInput::toml(&file.name, &file.text, environment)
        .base(&file.base)
        .unknown_keys(UnknownKeys::Warn);
    let settings = input.effective(keys, flags)?;
    Ok(render_effective(&settings))
}
