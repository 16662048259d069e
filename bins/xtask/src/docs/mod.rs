//! `cargo xtask docs`: the pages that are made of something else, and the API documentation.

mod documents;
mod help;
mod programs;
mod settings;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::bench::record;
use crate::project::ProjectCheckout;
use crate::{shell, terminal};

/// What to do with the pages.
#[derive(Debug, Args)]
pub(crate) struct DocsOptions {
    /// Write nothing; fail when a generated page is not what it would be
    #[arg(long)]
    check: bool,
}

/// Words above the recorded runs, when the page is new.
const BENCHMARKS_HEAD: &str = "# Benchmarks\n\nEvery figure below was written by `cargo xtask bench … --record`; \
                               the records are in [benchmarks](benchmarks).\n";

/// A generated page: where it is, and what it should hold.
struct Page {
    path: PathBuf,
    text: String,
}

/// Runs the command.
///
/// # Errors
/// When a program does not build, a page is stale (`--check`), or rustdoc warns.
pub(crate) fn run(project: &ProjectCheckout, options: &DocsOptions) -> Result<ExitCode> {
    if options.check {
        check(project)?;
    } else {
        for page in pages(project)? {
            page.write()?;
        }
    }
    build_api(project)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails when a generated page is not what it would be now.
///
/// # Errors
/// With the stale pages' names.
pub(crate) fn check(project: &ProjectCheckout) -> Result<()> {
    let stale: Vec<String> = pages(project)?
        .iter()
        .filter(|page| page.stale())
        .map(Page::name)
        .collect();
    if !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}

/// Builds the API documentation with warnings as errors.
///
/// # Errors
/// When rustdoc finds something wrong.
pub(crate) fn build_api(project: &ProjectCheckout) -> Result<()> {
    let mut doc = shell::cargo(&project.root, &["doc", "--no-deps", "--workspace"]);
    // RUSTDOCFLAGS is not part of what makes cargo build dependencies again.
    shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// What rustdoc is called by to check without writing pages: each crate's would be sorted into one
/// search index, which takes longer than all checks. The flag is unstable; as a variable of cargo's
/// own, what makes the stable compiler take it would build dependencies again.
const CHECKING_RUSTDOC: &str = "#!/bin/sh\n\
                                RUSTC_BOOTSTRAP=1 exec rustdoc \"$@\" -Z unstable-options --check\n";

/// Fails where rustdoc warns; writes no pages.
///
/// # Errors
/// When rustdoc finds something wrong.
pub(crate) fn check_api(project: &ProjectCheckout) -> Result<()> {
    let rustdoc = checking_rustdoc(&project.target()?)?;
    let mut doc = shell::cargo(&project.root, &["doc", "--no-deps", "--workspace"]);
    shell::run(
        doc.env("RUSTDOCFLAGS", "-D warnings")
            .env("RUSTDOC", rustdoc),
    )
}

fn checking_rustdoc(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("xtask-rustdoc");
    std::fs::write(&program, CHECKING_RUSTDOC)
        .and_then(|()| std::fs::set_permissions(&program, Permissions::from_mode(0o755)))
        .with_context(|| format!("{} cannot be written", program.display()))?;
    Ok(program)
}

/// Writes docs/BENCHMARKS.md from the records.
///
/// # Errors
/// When a record or the page cannot be read or written.
pub(crate) fn write_benchmarks(project: &ProjectCheckout) -> Result<()> {
    match benchmarks(project)? {
        Some(page) => page.write(),
        None => Ok(()),
    }
}

fn pages(project: &ProjectCheckout) -> Result<Vec<Page>> {
    let mut pages: Vec<Page> = benchmarks(project)?.into_iter().collect();
    pages.push(Page {
        path: project.root.join("docs/CLI.md"),
        text: programs::page(project)?,
    });
    // After the programs have been built.
    let path = project.root.join("docs/CONFIG.md");
    let now = std::fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let text = settings::page(project, &now)?;
    pages.push(Page { path, text });
    for (part, text) in documents::all(project)? {
        pages.push(Page {
            path: project.root.join(format!("web/ui/openapi/{part}.json")),
            text,
        });
    }
    Ok(pages)
}

/// The page of the recorded runs; none while nothing is recorded.
fn benchmarks(project: &ProjectCheckout) -> Result<Option<Page>> {
    let records = record::read_all(&project.root)?;
    if records.is_empty() {
        return Ok(None);
    }
    let path = project.root.join("docs/BENCHMARKS.md");
    let now = std::fs::read_to_string(&path).unwrap_or_else(|_| BENCHMARKS_HEAD.to_owned());
    Ok(Some(Page {
        path,
        text: record::page(&now, &records),
    }))
}

impl Page {
    fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    fn stale(&self) -> bool {
        std::fs::read_to_string(&self.path).map_or(true, |now| now != self.text)
    }

    fn write(&self) -> Result<()> {
        if self.stale() {
            terminal::line(&format!("writing {}", self.path.display()));
            std::fs::write(&self.path, &self.text)
                .with_context(|| format!("{} cannot be written", self.path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_rustdoc_checks_links_and_writes_no_pages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rustdoc = checking_rustdoc(folder.path()).expect("it is writable");
        for (name, text, is_right) in [
            ("right", "//! See [`A`].\npub struct A;\n", true),
            ("wrong", "//! See [`B`].\npub struct A;\n", false),
        ] {
            let source = folder.path().join(name).with_extension("rs");
            std::fs::write(&source, text).expect("it is writable");
            let mut check = shell::command("sh", folder.path());
            check.arg(&rustdoc).arg(&source);
            check.args(["--crate-type", "lib", "-D", "warnings", "-o", "pages"]);
            let finished = shell::quiet(&mut check).expect("sh starts");
            assert_eq!(finished.status.success(), is_right, "{}", finished.err);
            let is_named = finished.err.contains("unresolved link to `B`");
            assert_eq!(is_named, !is_right, "{}", finished.err);
        }
        assert!(!folder.path().join("pages/right").exists());
    }

    #[test]
    fn a_page_is_stale_until_it_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let page = Page {
            path: folder.path().join("A.md"),
            text: "# A\n".to_owned(),
        };
        assert!(page.stale(), "it is missing");
        page.write().expect("it is writable");
        assert!(!page.stale());
        std::fs::write(&page.path, "# A, changed by hand\n").expect("own file");
        assert!(page.stale());
    }
}
