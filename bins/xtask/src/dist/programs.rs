//! The programs of a release, and what they are built for.

use std::path::Path;

use anyhow::{Context, Result};

use crate::shell;

/// Programs of a release; `vm-guest` is built apart.
pub(crate) const PROGRAMS: [&str; 9] = [
    "search-server",
    "service-agent",
    "service-cli",
    "platform",
    "workflow-runner",
    "vm-manager",
    "orchestrator",
    "orchctl",
    "build-dispatch",
];

/// The target of programs that are built here.
pub(crate) fn host() -> Result<String> {
    let version = shell::quiet(shell::command("rustc", Path::new("/")).arg("-vV"))?.out;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .context("rustc -vV does not name its host")
}
