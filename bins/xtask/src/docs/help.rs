//! A program's section of docs/CLI.md, made of its `--help` and that of each subcommand. Standard
//! library only: the programs' own tests include this file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The section: a heading and the help of the program, then of every subcommand.
///
/// # Errors
/// When the help cannot be had.
pub(crate) fn section(program: &Path, name: &str) -> Result<String, String> {
    let mut section = String::new();
    describe(&mut section, program, name, &[])?;
    Ok(section)
}

/// For a test of each program: the page shows what the program says.
#[cfg(test)]
#[allow(dead_code, reason = "xtask itself has no page")]
pub(crate) fn assert_current(name: &str, program: &str) {
    let section = section(Path::new(program), name).expect("it has a help");
    let rest = include_str!("../../../../docs/CLI.md").split_once(&section);
    let is_whole = rest.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with("\n## "));
    assert!(
        is_whole,
        "docs/CLI.md is stale, run `cargo xtask docs`:\n{section}"
    );
}

fn describe(section: &mut String, program: &Path, name: &str, task: &[&str]) -> Result<(), String> {
    let help = help(program, task)?;
    let title = [&[name], task].concat().join(" ");
    if !ends_with_examples(&help, &title) {
        return Err(format!("`{title} --help` does not end with examples of it"));
    }
    let mark = "#".repeat(task.len() + 2);
    let _ = write!(
        section,
        "\n{mark} {title}\n\n```text\n{}\n```\n",
        help.trim_end()
    );
    for inner in subcommands(&help) {
        describe(section, program, name, &[task, &[inner]].concat())?;
    }
    Ok(())
}

/// Whether the last paragraph is one of examples, at least one of them of this command.
fn ends_with_examples(help: &str, title: &str) -> bool {
    let last = help.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let mut lines = last.lines();
    lines.next() == Some("Examples:") && lines.any(|line| line.contains(title))
}

/// The help, the same on every machine: clap shows the values of the variables it reads.
pub(super) fn help(program: &Path, task: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", "/home/you")
        .current_dir("/")
        .stdin(Stdio::null());
    let shown = format!("`{} {} --help`", program.display(), task.join(" "));
    let output = command.args(task).arg("--help").output();
    let output = output.map_err(|error| format!("{shown} cannot be started: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} failed: {}", error.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if lines.is_empty() {
        return Err(format!("{shown} printed nothing"));
    }
    Ok(lines.join("\n"))
}

/// The names under `Commands:` of a clap help text, `help` left out.
pub(super) fn subcommands(help: &str) -> Vec<&str> {
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
