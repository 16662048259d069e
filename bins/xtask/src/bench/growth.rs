//! `cargo xtask bench growth`: which texts, and how many documents.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folders named, or the toolchain's documentation and the sources of the crates that cargo has
/// fetched.
pub(super) fn folders(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if named.is_empty() {
        return Ok(vec![documentation()?, sources()?]);
    }
    Ok(named.to_vec())
}

/// Refuses what is no list of numbers.
pub(super) fn check_documents(documents: &str) -> Result<()> {
    let numbers = documents.split(',').map(|one| one.trim().parse());
    let numbers: Result<Vec<usize>, _> = numbers.collect();
    if !numbers.is_ok_and(|numbers| numbers.iter().all(|number| *number > 0)) {
        bail!("--documents {documents}: numbers with commas between them are meant: 10000,100000");
    }
    Ok(())
}

/// The toolchain's documentation.
pub(super) fn documentation() -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    let found = rustc.args(["--print", "sysroot"]).output();
    let found = found.context("rustc does not run")?;
    let root = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    let documentation = root.join("share/doc/rust/html");
    if !documentation.is_dir() {
        bail!("the toolchain has no documentation: rustup component add rust-docs");
    }
    Ok(documentation)
}

fn sources() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home
        .context("there is no home folder")?
        .join("registry/src");
    if !sources.is_dir() {
        bail!("{} is missing: name folders of texts", sources.display());
    }
    Ok(sources)
}
