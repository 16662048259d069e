//! The page of all programs' options, made of their own `--help`.

use anyhow::{Result, anyhow};

use super::help;
use crate::project::ProjectCheckout;
use crate::shell;

const HEAD: &str = "# Commands\n\nThe programs' own `--help`, written by `cargo xtask docs`.\n";

/// Programs without a page: the task runner lists itself, a VM's first process takes no options,
/// and the scripted forge is a part of a test.
const NOT_FOR_PEOPLE: [&str; 3] = ["xtask", "vm-guest", "scripted-forge"];

/// Builds the programs and asks each for its help, and that of its subcommands.
///
/// # Errors
/// When a program does not build or its help fails.
pub(super) fn page(project: &ProjectCheckout) -> Result<String> {
    shell::run(&mut shell::cargo(
        &project.root,
        &["build", "--workspace", "--bins", "--tests"],
    ))?;
    let mut page = HEAD.to_owned();
    let folder = project.target()?.join("debug");
    for name in names(project)? {
        page += &help::section(&folder.join(&name), &name).map_err(|error| anyhow!(error))?;
    }
    Ok(page)
}

/// Every program of the workspace but this one, which shows its own help to those who build.
fn names(project: &ProjectCheckout) -> Result<Vec<String>> {
    let metadata = project.metadata()?;
    let targets = metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets);
    let bins = targets
        .filter(|target| target.is_bin())
        .map(|target| target.name.clone());
    let mut names: Vec<String> = bins
        .filter(|name| !NOT_FOR_PEOPLE.contains(&name.as_str()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::help::{help, subcommands};

    #[test]
    fn subcommands_are_read_from_the_help() {
        let help = "A client.\n\nUsage: x <COMMAND>\n\nCommands:\n  search  Find,\n            and more\n  roles   Roles\n  \
                    help    Print this\n\nOptions:\n  -h, --help\n";
        assert_eq!(subcommands(help), ["search", "roles"]);
        assert_eq!(subcommands("Usage: x\n\nOptions:\n  -h, --help\n"), [""; 0]);
    }

    #[test]
    fn a_program_without_help_is_an_error() {
        let sh = |script: &str| help(Path::new("/bin/sh"), &["-c", script]);
        assert_eq!(sh("echo 'Usage: x  '").as_deref(), Ok("Usage: x"));
        assert!(sh("true").is_err(), "an empty help");
        assert!(sh("echo x; exit 2").is_err(), "a failing one");
    }
}
