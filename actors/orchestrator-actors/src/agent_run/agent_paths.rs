//! Where things are for an agent: on this machine, or in its VM.

use std::path::PathBuf;

/// How an agent sees what is made for it.
pub(super) struct AgentPaths {
    /// Where it works.
    pub(super) workdir: PathBuf,
    /// Its prompt.
    pub(super) prompt: PathBuf,
    /// Where its reports go.
    pub(super) reports: PathBuf,
}
