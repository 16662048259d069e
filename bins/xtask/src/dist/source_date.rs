//! The one time that a release knows: that of the commit, so that two builds of it are equal.

use std::path::Path;

use anyhow::{Context, Result};

use crate::shell;

/// `SOURCE_DATE_EPOCH` where it is set, else the commit's time, in seconds since 1970.
///
/// # Errors
/// When neither can be read as a number.
pub(crate) fn epoch(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = shell::command("git", root);
            shell::quiet(git.args(["log", "-1", "--format=%ct"]))?.out
        }
    };
    text.trim()
        .parse()
        .context("neither SOURCE_DATE_EPOCH nor git says when this was made; set the former")
}
