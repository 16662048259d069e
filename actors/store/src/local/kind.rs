//! The backends by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The backends, as configuration names them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalStateKind {
    /// An ordered map in memory.
    Memory,
    /// A sharded map in memory.
    ConcurrentMap,
    /// An SQLite file.
    Sqlite,
    /// A redb file behind group commit.
    #[default]
    Redb,
}

impl LocalStateKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::ConcurrentMap, Self::Sqlite, Self::Redb];

    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::ConcurrentMap => "concurrent-map",
            Self::Sqlite => "sqlite",
            Self::Redb => "redb",
        }
    }
}

impl fmt::Display for LocalStateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no backend's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown storage backend {0:?}; use memory, concurrent-map, sqlite or redb")]
pub struct UnknownKind(String);

impl FromStr for LocalStateKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownKind(name.to_owned()))
    }
}
