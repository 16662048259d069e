//! `cargo xtask workflows`: runs every workflow file of a folder by `workflow-runner exec`, and
//! prints how each ended: others' test folders, or small workflows around others' actions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::project::ProjectCheckout;
use crate::{shell, terminal};

/// Which files, and with which settings.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsOptions {
    /// The folder: files that end in .yml or .yaml and have `on`, two folders deep
    folder: PathBuf,
    /// What the workflows have as their working tree; the folder itself unless said
    #[arg(long, value_name = "FOLDER")]
    tree: Option<PathBuf>,
    /// The runner's configuration: its store of actions counts. The VM manager's is named by
    /// VM_MANAGER_CONFIG
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which of them are to fail: a table with lines `{…, "folder", "event", "message", …}`, as
    /// nektos/act has in pkg/runner/runner_test.go; what is not in it is not run
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Only files with this text in their path
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// A workflow file that is to be run.
struct WorkflowCase {
    file: PathBuf,
    /// Its path below the folder.
    name: String,
    event: &'static str,
    to_fail: bool,
}

/// Events that `exec` knows.
const EVENTS: [&str; 3] = ["push", "pull_request", "workflow_dispatch"];
/// Where a workflow stands while it is run.
const PLACE: &str = ".github/workflows/the-case.yml";

/// Runs the command.
///
/// # Errors
/// When the folder cannot be read or the runner cannot be started; a file that did not end as
/// expected is a failing exit code.
pub(crate) fn run(project: &ProjectCheckout, options: &WorkflowsOptions) -> Result<ExitCode> {
    let build = ["build", "--package", "workflow-runner"];
    shell::run(&mut shell::cargo(&project.root, &build))?;
    let program = project.target()?.join("debug/workflow-runner");
    let cases = cases(options)?;
    if cases.is_empty() {
        bail!("{}: no workflow files", options.folder.display());
    }
    let tree = project.target()?.join("workflows-tree");
    let from = options.tree.as_ref().unwrap_or(&options.folder);
    copy(from, &tree)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    terminal::line("| File | Event | Ended | Seconds | Why |\n|---|---|---|---|---|");
    for case in &cases {
        let begun = Instant::now();
        let place = tree.join(PLACE);
        fs::create_dir_all(place.parent().unwrap_or(&tree))?;
        fs::copy(&case.file, &place)?;
        let mut command = shell::command(&program.to_string_lossy(), &tree);
        command.args(["exec", PLACE, "--event", case.event]);
        if let Some(config) = &options.config {
            command.arg("--config").arg(std::path::absolute(config)?);
        }
        let event = case.file.with_file_name("event.json");
        if event.is_file() {
            command.arg("--event-path").arg(event);
        }
        let output = command.output().context("the runner cannot be started")?;
        fs::remove_file(&place)?;
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let ended = outcome(output.status.code(), case.to_fail);
        *counts.entry(ended).or_default() += 1;
        let why = if ended == "as expected" {
            ""
        } else {
            reason(&said)
        };
        let seconds = begun.elapsed().as_secs_f32();
        let (name, event) = (&case.name, case.event);
        terminal::line(&format!(
            "| {name} | {event} | {ended} | {seconds:.1} | {why} |"
        ));
    }
    let counted = counts
        .iter()
        .map(|(ended, count)| format!("{count} {ended}"));
    let counted: Vec<String> = counted.collect();
    terminal::line(&format!("workflows: {}", counted.join(", ")));
    let good = counts.get("as expected").copied().unwrap_or_default();
    Ok(ExitCode::from(u8::from(good != cases.len())))
}

/// How a run ended, beside what was expected.
fn outcome(code: Option<i32>, to_fail: bool) -> &'static str {
    match (code, to_fail) {
        (Some(0), false) | (Some(1 | 3), true) => "as expected",
        (Some(0), true) => "succeeded",
        (Some(1), false) => "failed",
        (Some(3), false) => "refused",
        (Some(4), _) => "lost",
        _ => "not run",
    }
}

/// The first line that says why, short enough for a table.
fn reason(said: &str) -> &str {
    let mut lines = said.lines();
    let line = lines
        .find(|line| line.contains("error: "))
        .unwrap_or_default();
    let end = line
        .char_indices()
        .nth(160)
        .map_or(line.len(), |(at, _)| at);
    &line[..end]
}

fn cases(options: &WorkflowsOptions) -> Result<Vec<WorkflowCase>> {
    let table = options
        .expect
        .as_ref()
        .map(fs::read_to_string)
        .transpose()?;
    let expected = table.as_deref().map(expected);
    let mut files = Vec::new();
    collect_below(&options.folder, 3, &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(&options.folder).unwrap_or(&file);
        let folder = name.parent().unwrap_or(name).to_string_lossy().into_owned();
        let name = name.to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap_or_default();
        for event in EVENTS {
            let to_fail = match &expected {
                None => Some(false),
                Some(table) => table.get(&(folder.clone(), event.to_owned())).copied(),
            };
            if let Some(to_fail) = to_fail
                && name.contains(&options.only)
                && starts_by(&text, event)
            {
                let (file, name) = (std::path::absolute(&file)?, name.clone());
                found.push(WorkflowCase {
                    file,
                    name,
                    event,
                    to_fail,
                });
            }
        }
    }
    Ok(found)
}

/// Whether `on` of a workflow names the event; read by eye: what is no workflow is not run.
fn starts_by(text: &str, event: &str) -> bool {
    let Some(at) = text
        .find("\non:")
        .map(|at| at + 1)
        .or_else(|| text.starts_with("on:").then_some(0))
    else {
        return false;
    };
    let block = &text[at + 3..];
    let mut lines = block.lines();
    let first = lines.next().into_iter();
    let inner = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '#', '-']));
    let words = first
        .chain(inner)
        .flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    words.into_iter().any(|word| word == event)
}

/// Folder and event of each line of a table, and whether it is to fail.
fn expected(table: &str) -> BTreeMap<(String, String), bool> {
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with('{'));
    let rows = lines.filter_map(|line| {
        let mut texts = line.split('"').skip(1).step_by(2);
        let row = (texts.next()?.to_owned(), texts.next()?.to_owned());
        Some((row, !texts.next()?.is_empty()))
    });
    rows.collect()
}

fn collect_below(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let shown = folder.display().to_string();
    for entry in fs::read_dir(folder).context(shown)? {
        let path = entry?.path();
        let is_yaml = path
            .extension()
            .is_some_and(|it| it == "yml" || it == "yaml");
        if path.is_dir() && deep > 1 && !path.ends_with("node_modules") {
            collect_below(&path, deep - 1, files)?;
        } else if path.is_file() && is_yaml {
            files.push(path);
        }
    }
    Ok(())
}

/// A copy that workflows may change, without history and installed packages.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(&from).context(from.display().to_string())? {
            let entry = entry?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" && name != "node_modules" {
                folders.push((path, target));
            } else if kind.is_file() {
                fs::copy(&path, &target)?;
            } else if kind.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(&path)?, &target)?;
            }
        }
    }
    shell::run(&mut {
        let mut git = shell::command("git", to);
        git.args(["init", "--quiet", "--initial-branch=main", "."]);
        git
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_table_says_which_workflows_are_to_fail() {
        let table = expected(
            "tables := []T{\n\t// {workdir, \"off\", \"push\", \"\"},\n\t{workdir, \"a/b\", \"push\", \"\", p},\n\t{\"../x\", \"c\", \"push\", \"it failed\", p},\n}",
        );
        let key = |folder: &str| (folder.to_owned(), "push".to_owned());
        assert_eq!(table.get(&key("a/b")), Some(&false));
        assert_eq!(table.get(&key("off")), None);
        assert!(starts_by(
            "name: x\non: [push, pull_request]\njobs: {}\n",
            "pull_request"
        ));
        assert!(starts_by(
            "on:\n  push:\n    branches: [main]\njobs: {}\n",
            "push"
        ));
        assert!(!starts_by(
            "on: push\njobs: {workflow_dispatch: {}}\n",
            "workflow_dispatch"
        ));
        assert_eq!(outcome(Some(1), true), "as expected");
        assert_eq!(outcome(Some(3), false), "refused");
        assert_eq!(reason("x\n[a] error: no\n"), "[a] error: no");
    }
}
