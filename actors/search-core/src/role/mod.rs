//! Roles: what is searched, and how; the role file; the server's settings.
//!
//! [`parse`] turns a role file into a [`RoleFile`] that cannot be wrong, or into every mistake of
//! the file at once. The reference for people is docs/CONFIG.md.

mod client_settings;
mod decode;
mod default_file;
mod document;
mod enumerations;
mod file;
mod file_parameters;
mod filter;
mod filter_error;
mod filter_pattern;
mod haystack;
mod indexed;
mod model;
mod paths;
mod reach;
mod schema;
mod server_mode;
mod settings;
mod settings_values;
mod snapshot_settings;
mod source_location;
mod source_parameters;
mod variable_places;

pub use client_settings::{ClientSettings, parse_client_environment};
pub use decode::parse;
pub use default_file::default_role_file;
pub use document::{ReplaceError, RoleDocument};
pub use enumerations::{LanguageModelProvider, RelevanceFunction, Service, THEMES, Theme};
pub use file::{RoleFile, UnknownRole};
pub use filter::FileFilter;
pub use filter_error::FilterError;
pub use haystack::{GitRevision, Haystack, HiddenFiles, LocalFiles, Source};
pub use model::{LanguageModel, ModelSource, Role, RoleOptions};
pub use paths::Os;
pub use reach::{AllowedRoots, ExternalResource, ReachTarget};
pub use schema::schema;
pub use server_mode::ServerMode;
pub use settings::{ObjectStore, ServerFlags, ServerSettings, keys, parse_environment};
pub use settings_values::{ListenAddress, LogLevel, StorageBackend};
pub use source_location::{CommunitySite, FolderOrUrl, Mcp, Tasks};
pub use variable_places::REDACTED;
