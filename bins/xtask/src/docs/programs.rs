//! The page of all programs' options, made of their own `--help`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::shell;

const HEAD: &str = "# Commands\n\nThe programs' own `--help`, written by `cargo xtask docs`.\n";

/// Programs without a page: the task runner lists itself, and a VM's first process takes no options.
const NOT_FOR_PEOPLE: [&str; 2] = ["xtask", "vm-guest"];

/// Builds the programs and asks each for its help, and that of its subcommands.
///
/// # Errors
/// When a program does not build or its help fails.
pub(super) fn page(project: &Project) -> Result<String> {
    shell::run(&mut shell::cargo(
        &project.root,
        &["build", "--workspace", "--bins", "--tests"],
    ))?;
    let mut page = HEAD.to_owned();
    for name in names(project)? {
        let program = project.target()?.join("debug").join(&name);
        describe(&mut page, &program, &name, &[])?;
    }
    Ok(page)
}

/// Every program of the workspace but this one, which shows its own help to those who build.
fn names(project: &Project) -> Result<Vec<String>> {
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

fn describe(page: &mut String, program: &Path, name: &str, task: &[&str]) -> Result<()> {
    let help = help(program, task)?;
    let title = std::iter::once(name)
        .chain(task.iter().copied())
        .collect::<Vec<_>>()
        .join(" ");
    let mark = "#".repeat(task.len() + 2);
    let _ = write!(
        page,
        "\n{mark} {title}\n\n```text\n{}\n```\n",
        help.trim_end()
    );
    for inner in subcommands(&help) {
        let task: Vec<&str> = task.iter().copied().chain([inner]).collect();
        describe(page, program, name, &task)?;
    }
    Ok(())
}

/// The help, the same on every machine: clap shows the values of the variables it reads.
fn help(program: &Path, task: &[&str]) -> Result<String> {
    let mut command = shell::command(&program.to_string_lossy(), Path::new("/"));
    command
        .env_clear()
        .env("HOME", "/home/you")
        .args(task)
        .arg("--help");
    let finished = shell::quiet(&mut command)?;
    if !finished.status.success() {
        bail!(
            "`{}` failed: {}",
            shell::shown(&command),
            finished.err.trim()
        );
    }
    let lines: Vec<&str> = finished.out.lines().map(str::trim_end).collect();
    if lines.is_empty() {
        bail!("`{}` printed nothing", shell::shown(&command));
    }
    Ok(lines.join("\n"))
}

/// The names under `Commands:` of a clap help text, `help` left out.
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Two spaces before a name; more before the rest of a long description.
    let names = listed
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(sh("echo 'Usage: x  '").expect("it has a help"), "Usage: x");
        assert!(sh("true").is_err(), "an empty help");
        assert!(sh("echo x; exit 2").is_err(), "a failing one");
    }
}
