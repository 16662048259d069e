//! `cargo xtask tidy`: the rules of the project that no compiler checks.
//!
//! Every rule is a function from texts and names to [`Finding`]s, with examples that it must
//! refuse; this file reads the checkout and calls them. The unit test at the end runs them over
//! the checkout itself, so that a plain test run cannot forget them.

mod actors;
mod capacities;
mod commands;
mod commits;
mod diagrams;
mod documents;
mod events;
mod finding;
mod layers;
mod layout;
mod links;
mod manifests;
mod markdown;
mod module_source;
mod modules;
mod names;
mod owners;
mod packages;
mod problems;
mod public_types;
mod purity;
mod rust_text;
mod samples;
mod secrets;
mod sources;
mod syntax;
mod tree;
mod unused;
mod width;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use self::commands::CommandNames;
use self::finding::{Finding, Weight};
use self::packages::Package;
use self::syntax::Syntax;
use self::tree::FileTree;
use crate::project::ProjectCheckout;
use crate::terminal;

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct TidyOptions {
    /// Print errors only, no warnings
    #[arg(long)]
    quiet: bool,
    /// Print which module of a crate uses which, and stop
    #[arg(long, value_name = "CRATE")]
    graph: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When the checkout cannot be read; broken rules are a failing exit code.
pub(crate) fn run(project: &ProjectCheckout, options: &TidyOptions) -> Result<ExitCode> {
    if let Some(name) = &options.graph {
        let tree = FileTree::read(&project.root)?;
        let lines = modules::show(name, &packages::read(project)?, &Syntax::read(&tree))?;
        lines.iter().for_each(|line| terminal::line(line));
        return Ok(ExitCode::SUCCESS);
    }
    let findings = check(project)?;
    let errors = report(&findings, !options.quiet);
    Ok(if errors == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints the findings and returns how many of them are errors.
pub(crate) fn report(findings: &[Finding], warnings: bool) -> usize {
    let shown = |finding: &&Finding| warnings || finding.weight == Weight::Error;
    findings
        .iter()
        .filter(shown)
        .for_each(|finding| terminal::line(&finding.to_string()));
    let errors = findings
        .iter()
        .filter(|finding| finding.weight == Weight::Error)
        .count();
    terminal::line(&format!(
        "tidy: {errors} errors, {} warnings",
        findings.len() - errors
    ));
    errors
}

/// All rules over the checkout, errors first.
///
/// # Errors
/// When a file, git or cargo's metadata cannot be read.
pub(crate) fn check(project: &ProjectCheckout) -> Result<Vec<Finding>> {
    let tree = FileTree::read(&project.root)?;
    let packages = packages::read(project)?;
    let mut findings = layout::check(tree.paths());
    findings.extend(layers::check(&packages));
    findings.extend(owners::check(&packages));
    findings.extend(check_manifests(&tree, &packages)?);
    findings.extend(check_sources(&tree, &packages));
    let syntax = Syntax::read(&tree);
    findings.extend(modules::check(&packages, &syntax));
    let names = syntax
        .files()
        .map(|(path, file)| (path, file.names.as_slice()));
    let glossary = tree.text(names::PAGE).unwrap_or_default();
    findings.extend(public_types::check(names.clone(), glossary));
    findings.extend(names::check(names, glossary));
    findings.extend(commits::check(project));
    findings.extend(check_documents(&tree, &packages));
    findings.extend(samples::check(tree.paths()));
    findings.extend(
        tree.texts()
            .filter_map(|(path, text)| width::check(path, text)),
    );
    findings.extend(
        tree.texts()
            .flat_map(|(path, text)| secrets::check(path, text)),
    );
    findings.sort_by(|a, b| (a.weight, &a.place).cmp(&(b.weight, &b.place)));
    Ok(findings)
}

fn check_manifests(tree: &FileTree, packages: &[Package]) -> Result<Vec<Finding>> {
    let root = manifests::parse("Cargo.toml", tree.text("Cargo.toml").unwrap_or_default())?;
    let mut findings = manifests::check_root(&root);
    let mut used = std::collections::BTreeSet::new();
    let rust = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    for package in packages {
        let path = format!("{}/Cargo.toml", package.folder);
        let manifest = manifests::parse(&path, tree.text(&path).unwrap_or_default())?;
        findings.extend(manifests::check_member(&path, &manifest));
        findings.extend(unused::check(&package.folder, &manifest, rust.clone()));
        used.extend(manifests::dependency_names(&manifest));
    }
    findings.extend(manifests::check_unused(&root, &used));
    Ok(findings)
}

fn check_sources(tree: &FileTree, packages: &[Package]) -> Vec<Finding> {
    // A core crate, or what another keeps apart in the same way.
    let core = |path: &str| {
        let of = |package: &&Package| path.starts_with(&format!("{}/src/", package.folder));
        packages
            .iter()
            .find(of)
            .is_some_and(|package| package.name.ends_with("-core"))
            || path.contains("/decision/")
    };
    let rust = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    let mut findings = diagrams::check(rust.clone());
    for (path, text) in rust {
        findings.extend(sources::check(path, text));
        if core(path) {
            findings.extend(purity::check(path, text));
        }
    }
    findings
}

fn check_documents(tree: &FileTree, packages: &[Package]) -> Vec<Finding> {
    let known = CommandNames::new(
        packages,
        tree.text("bins/xtask/src/main.rs").unwrap_or_default(),
    );
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        findings.extend(commands::check(path, text, &known));
        findings.extend(links::check(path, text, tree));
    }
    let architecture = tree.text(documents::ARCHITECTURE).unwrap_or_default();
    findings.extend(documents::check_named(packages, architecture));
    let index = tree.text(documents::INDEX).unwrap_or_default();
    findings.extend(documents::check_indexed(tree.paths(), index));
    let programs = || {
        tree.texts()
            .filter(|(path, _)| path.ends_with(".rs") && !path.starts_with("bins/xtask/"))
    };
    let page = |path| tree.text(path).unwrap_or_default();
    findings.extend(events::check(programs(), page(events::PAGE)));
    findings.extend(problems::check(programs(), page(problems::PAGE)));
    findings.extend(actors::check(programs(), page(actors::PAGE)));
    findings.extend(capacities::check(programs(), page(actors::PAGE)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_tidy() {
        let project = ProjectCheckout::find().expect("tests run inside the checkout");
        let findings = check(&project).expect("the checkout can be read");
        let errors = findings
            .iter()
            .filter(|finding| finding.weight == Weight::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        assert!(
            errors.is_empty(),
            "run `cargo xtask tidy`:\n{}",
            errors.join("\n")
        );
    }
}
