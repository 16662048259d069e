//! Roles: what is searched, and how; the role file; the server's settings.
//!
//! [`parse`] turns a role file into a [`RoleFile`] that cannot be wrong, or into every mistake of
//! the file at once. The reference for people is docs/CONFIG.md.

mod decode;
mod default_file;
mod enumerations;
mod file;
mod filter;
mod filter_pattern;
mod haystack;
mod model;
mod paths;
mod settings;
mod settings_values;
mod source_location;

pub use decode::parse;
pub use default_file::default_role_file;
pub use enumerations::{LanguageModelProvider, RelevanceFunction, Service, THEMES, Theme};
pub use file::{RoleFile, UnknownRole};
pub use filter::{FileFilter, FilterError};
pub use haystack::{Haystack, LocalFiles, Source};
pub use model::{Extra, LanguageModel, Role};
pub use paths::Os;
pub use settings::{
    ObjectStore, ServerFlags, ServerSettings, VARIABLES, Variable, parse_environment,
};
pub use settings_values::{ListenAddress, LogLevel};
pub use source_location::{Community, FolderOrUrl, Mcp, Tasks};
