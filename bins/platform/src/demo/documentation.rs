//! Orrery's documentation, which this program carries: what is searched where nothing else was
//! named.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Names and texts.
const PAGES: [(&str, &str); 8] = [
    ("README.md", include_str!("../../../../README.md")),
    ("ACTORS.md", include_str!("../../../../docs/ACTORS.md")),
    ("AGENTS.md", include_str!("../../../../docs/AGENTS.md")),
    (
        "ARCHITECTURE.md",
        include_str!("../../../../docs/ARCHITECTURE.md"),
    ),
    (
        "OPERATIONS.md",
        include_str!("../../../../docs/OPERATIONS.md"),
    ),
    ("QUERIES.md", include_str!("../../../../docs/QUERIES.md")),
    ("SECURITY.md", include_str!("../../../../docs/SECURITY.md")),
    (
        "WORKFLOWS.md",
        include_str!("../../../../docs/WORKFLOWS.md"),
    ),
];

/// Writes the pages into `folder`; gives its full path.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(folder: &Path) -> Result<PathBuf> {
    let written = || -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        for (name, text) in PAGES {
            std::fs::write(folder.join(name), text)?;
        }
        folder.canonicalize()
    };
    written().with_context(|| format!("{} cannot be written", folder.display()))
}
