//! What an agent sees of the host: everything its user does, but for what is the orchestrator's
//! own.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrator_core::config::{AgentCli, AgentIsolation, AgentSpec, Config};
use orchestrator_engine::process::{Sandbox, View};
use orchestrator_engine::worktree::Worktree;

use crate::host::AgentHost;

/// Directories of a run that is being prepared.
pub(super) struct RunDirectories<'a> {
    /// The run's own directory below the data directory.
    pub(super) run: &'a Path,
    /// Where the agent works.
    pub(super) workdir: &'a Path,
    /// Where its reports go.
    pub(super) reports: &'a Path,
    /// Its worktree.
    pub(super) tree: Option<&'a Worktree>,
    /// Its prompt.
    pub(super) prompt: &'a Path,
}

/// The sandbox of an agent: as its configuration wants it, as far as the host allows.
pub(super) fn sandbox(host: &AgentHost, agent: &AgentSpec) -> Result<Sandbox, String> {
    let best = &host.sandbox;
    match agent.isolation {
        // A VM is its own wall.
        AgentIsolation::None | AgentIsolation::Vm => Ok(Sandbox::off()),
        AgentIsolation::Auto => Ok(best.clone()),
        AgentIsolation::Cgroup if host.confinement.is_complete() => Ok(best.clone()),
        AgentIsolation::Cgroup => Err(
            "the agent wants `isolation = \"cgroup\"`, but cgroup v2 is not writable here".into(),
        ),
        AgentIsolation::Sandbox => match best.shortfall() {
            None => Ok(best.clone()),
            Some(why) => Err(format!(
                "the agent wants `isolation = \"sandbox\"`, but {why}"
            )),
        },
    }
}

/// Hides the data directory, the configuration's files, other runs' worktrees and reports, but no
/// file that may be removed at any time, as the admin socket may: a mount over it would make an
/// empty file in its place. Of these an agent sees its own worktree and reports, its prompt, and
/// reads the objects of its project's mirror.
pub(super) fn view(
    host: &AgentHost,
    config: &Config,
    agent: &AgentSpec,
    run: &RunDirectories<'_>,
) -> View {
    let directories = &config.directories;
    let home = host.environment.text("HOME").map(PathBuf::from);
    let mut files = vec![host.config_path.clone(), directories.agent_tokens.clone()];
    files.extend(secret_files(&directories.config));
    let mut hidden = vec![directories.config.join("conf.d")];
    let roots = config
        .projects
        .values()
        .map(|project| &project.worktree_root);
    for directory in roots.chain([&directories.data, &directories.reports]) {
        let needed = home.iter().map(PathBuf::as_path).chain([run.workdir]);
        if needed.into_iter().any(|needed| is_same(needed, directory)) {
            hidden.extend(visible_entries(directory));
        } else {
            hidden.push(directory.clone());
        }
    }
    let mut writable = vec![run.workdir.to_owned(), run.reports.to_owned()];
    writable.extend(run.tree.map(|tree| tree.folder.clone()));
    for file in files {
        let folder = file.parent().unwrap_or(Path::new("/"));
        let is_own = home.as_ref().is_some_and(|home| is_same(home, folder))
            || is_below(run.workdir, folder);
        hide_file(&file, is_own, &mut hidden, &mut writable);
    }
    writable.extend(home);
    let mut readable = vec![run.prompt.to_owned()];
    if agent.cli == AgentCli::Browser {
        // The plan and the browser's profile.
        writable.push(run.run.to_owned());
    }
    if let Some(tree) = run.tree {
        let name = orchestrator_engine::names::safe_name(tree.project.as_str());
        let mirrors = directories.data.join("mirrors");
        readable.push(mirrors.join(format!("{name}.git")).join("objects"));
    }
    // What is shown again must be below something hidden, else its mount has no effect.
    let below = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        hidden.iter().any(|hidden| {
            let hidden = hidden.canonicalize().unwrap_or_else(|_| hidden.clone());
            real.starts_with(&hidden) && real != hidden
        })
    };
    writable.retain(below);
    readable.retain(below);
    // Shown again with its folder, and hidden for itself: it is hidden.
    writable.retain(|shown| !hidden.iter().any(|hidden| is_same(hidden, shown)));
    View {
        hidden,
        writable,
        readable,
    }
}

/// Most entries of a folder that is shown again entry by entry.
const MOST_ENTRIES: usize = 64;

/// Hides a file. One that is replaced by a rename while an agent runs would show behind a mount on
/// its name, so its folder is hidden, and what else is in it shown again: what comes into the
/// folder later is not there for the agent. Where that is where the agent works or too large, the
/// name alone is hidden.
fn hide_file(file: &Path, is_own: bool, hidden: &mut Vec<PathBuf>, writable: &mut Vec<PathBuf>) {
    if !file.exists() || hidden.iter().any(|known| known == file) {
        return;
    }
    let whole = file.parent().filter(|_| !is_own);
    let entries = whole.and_then(|folder| Some((folder, shown_entries(folder)?)));
    if let Some((folder, entries)) = entries {
        if !hidden.iter().any(|known| is_same(known, folder)) {
            hidden.push(folder.to_owned());
            writable.extend(entries);
        }
        writable.retain(|shown| !is_same(shown, file));
    }
    // What is hidden below a folder that is hidden has no name there any more.
    hidden.push(file.to_owned());
}

/// What stands in a folder, where all of it can be shown again as it is.
fn shown_entries(folder: &Path) -> Option<Vec<PathBuf>> {
    folder.parent()?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        if entry.file_type().ok()?.is_symlink() || entries.len() == MOST_ENTRIES {
            return None;
        }
        entries.push(entry.path());
    }
    Some(entries)
}

/// Files beside the configuration that hold secrets by their names.
fn secret_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ending = path.extension().unwrap_or_default();
            name == ".env"
                || ["env", "token", "secret", "key", "pem"]
                    .iter()
                    .any(|e| ending == *e)
        })
        .collect()
}

/// The entries of a directory that cannot be hidden as a whole, because it is a home too.
fn visible_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect()
}

fn is_below(folder: &Path, path: &Path) -> bool {
    match (folder.canonicalize(), path.canonicalize()) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        _ => path.starts_with(folder),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
