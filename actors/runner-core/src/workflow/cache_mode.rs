//! `cache-mode`: what the jobs of a workflow may do with caches (page "Workflow syntax",
//! `cache-mode` and `jobs.<job_id>.cache-mode`).

use serde::Serialize;

use super::reader::WorkflowReader;
use crate::yaml::YamlNode;

/// What a job may do with caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Nothing.
    None,
    /// Restore them.
    Read,
    /// Restore and save them: what a job may that says nothing.
    #[default]
    Write,
    /// Save them.
    WriteOnly,
}

impl CacheMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Read, Self::Write, Self::WriteOnly];

    /// As it is written, in files and in `ACTIONS_CACHE_MODE`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteOnly => "write-only",
        }
    }

    /// Whether caches may be restored.
    #[must_use]
    pub fn restores(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether caches may be saved.
    #[must_use]
    pub fn saves(self) -> bool {
        matches!(self, Self::Write | Self::WriteOnly)
    }

    /// Whether everything that `other` may is allowed.
    #[must_use]
    pub fn allows(self, other: Self) -> bool {
        (self.restores() || !other.restores()) && (self.saves() || !other.saves())
    }
}

impl CacheMode {
    /// What both allow.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let restores = self.restores() && other.restores();
        let saves = self.saves() && other.saves();
        match (restores, saves) {
            (true, true) => Self::Write,
            (true, false) => Self::Read,
            (false, true) => Self::WriteOnly,
            (false, false) => Self::None,
        }
    }
}

/// Reads `cache-mode`.
pub(super) fn cache_mode(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<CacheMode> {
    let text = reader.plain(node, "cache-mode")?;
    let mode = CacheMode::ALL.into_iter().find(|mode| mode.name() == text);
    if mode.is_none() {
        let message = format!("cache-mode is {}", config_core::quoted(&text));
        let names = CacheMode::ALL.map(CacheMode::name);
        reader.error_help(node.place, message, format!("one of: {}", names.join(", ")));
    }
    mode
}
