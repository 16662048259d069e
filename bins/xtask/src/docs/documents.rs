//! The servers' OpenAPI documents, which the web application's types are made of.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::project::ProjectCheckout;
use crate::shell;

/// The example that prints them all.
const PRINTER: &str = "api-documents";

/// Every part's document, as the server writes it, on lines of its own.
///
/// # Errors
/// When the example does not build or prints something else.
pub(super) fn all(project: &ProjectCheckout) -> Result<BTreeMap<String, String>> {
    // Of the whole workspace, so that dependencies keep the features that they are built with.
    shell::run(&mut shell::cargo(
        &project.root,
        &["build", "--workspace", "--example", PRINTER],
    ))?;
    let path = project.target()?.join("debug/examples").join(PRINTER);
    let mut command = shell::command(&path.to_string_lossy(), &project.root);
    let finished = shell::quiet(&mut command)?;
    if !finished.status.success() {
        bail!(
            "`{}` failed: {}",
            shell::display(&command),
            finished.err.trim()
        );
    }
    serde_json::from_str(&finished.out)
        .with_context(|| format!("`{}` prints no documents", shell::display(&command)))
}
