//! What an agent sees of the host: everything its user does, but for what is the orchestrator's own.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrator_core::config::{AgentCli, AgentSpec, Config, Isolation};
use orchestrator_engine::process::{Sandbox, View};
use orchestrator_engine::worktree::Worktree;

use crate::shared::Shared;

/// Folders of a run that is being prepared.
pub(super) struct RunFolders<'a> {
    /// The run's own folder below the data folder.
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

/// How far the agent is kept apart: as its configuration wants it, as far as the host allows.
pub(super) fn sandbox(shared: &Shared, agent: &AgentSpec) -> Result<Sandbox, String> {
    let best = shared.sandbox();
    match agent.isolation {
        Isolation::None => Ok(Sandbox::off()),
        Isolation::Auto => Ok(best.clone()),
        Isolation::Cgroup if shared.confinement().is_complete() => Ok(best.clone()),
        Isolation::Cgroup => Err(
            "the agent wants `isolation = \"cgroup\"`, but cgroup v2 is not writable here".into(),
        ),
        Isolation::Sandbox => match best.shortfall() {
            None => Ok(best.clone()),
            Some(why) => Err(format!(
                "the agent wants `isolation = \"sandbox\"`, but {why}"
            )),
        },
    }
}

/// Hidden: the data folder, the configuration's files, other runs' worktrees. Not a file that may go at any time, as the
/// admin socket may: a mount over it would make an empty file in its place. Of these an agent sees
/// its own worktree and reports, its prompt, and reads the objects of its project's mirror.
pub(super) fn view(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    folders: &RunFolders<'_>,
) -> View {
    let places = &config.directories;
    let home = shared.environment().text("HOME").map(PathBuf::from);
    let mut hidden = vec![
        shared.config_path().to_owned(),
        places.agent_tokens.clone(),
        places.config.join("conf.d"),
    ];
    hidden.extend(secret_files(&places.config));
    let roots = config
        .projects
        .values()
        .map(|project| &project.worktree_root);
    for folder in roots.chain([&places.data]) {
        let needed = home.iter().map(PathBuf::as_path).chain([folders.workdir]);
        if needed.into_iter().any(|needed| is_same(needed, folder)) {
            hidden.extend(visible_entries(folder));
        } else {
            hidden.push(folder.clone());
        }
    }
    let mut writable = vec![folders.workdir.to_owned(), folders.reports.to_owned()];
    writable.extend(folders.tree.map(|tree| tree.folder.clone()));
    writable.extend(home);
    let mut readable = vec![folders.prompt.to_owned()];
    if agent.cli == AgentCli::Browser {
        // The plan and the browser's profile.
        writable.push(folders.run.to_owned());
    }
    if let Some(tree) = folders.tree {
        let name = orchestrator_engine::names::safe_name(tree.project.as_str());
        let mirrors = places.data.join("mirrors");
        readable.push(mirrors.join(format!("{name}.git")).join("objects"));
    }
    // What is shown again must be below something hidden, or it would be a mount for nothing.
    let below = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        hidden.iter().any(|hidden| {
            let hidden = hidden.canonicalize().unwrap_or_else(|_| hidden.clone());
            real.starts_with(&hidden) && real != hidden
        })
    };
    writable.retain(below);
    readable.retain(below);
    View {
        hidden,
        writable,
        readable,
    }
}

/// Files beside the configuration that hold secrets by their names.
fn secret_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
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

/// What stands in a folder that cannot be hidden as a whole, because it is a home too.
fn visible_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
