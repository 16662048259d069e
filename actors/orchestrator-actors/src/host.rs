//! What an agent runs on: this machine's git, environment and ways to isolate processes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use config_core::Environment;
use git_engine::Git;
use orchestrator_core::config::Config;
use orchestrator_engine::process::{Confinement, Sandbox};
use orchestrator_engine::worktree::Worktrees;
use parking_lot::Mutex;

/// Where programs are looked for without a `PATH`.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What runs need of the machine; never changes.
#[derive(Clone)]
pub(crate) struct AgentHost {
    pub(crate) environment: Environment,
    /// The file of the configuration, which agents must not see.
    pub(crate) config_path: PathBuf,
    pub(crate) confinement: Confinement,
    pub(crate) sandbox: Sandbox,
    /// Hosts of VMs.
    pub(crate) vms: VmHosts,
}

impl AgentHost {
    /// Finds out how far agents can be isolated here, and logs it.
    pub(crate) fn detect(
        (environment, config_path): (Environment, PathBuf),
        confinement: Confinement,
        vms: VmHosts,
    ) -> Self {
        let sandbox = Sandbox::detect(environment.text("PATH").unwrap_or(DEFAULT_PATH));
        let (level, cgroup) = (sandbox.level(), confinement.is_complete());
        match sandbox.shortfall() {
            None => tracing::info!(
                event = "run.confinement",
                level,
                cgroup,
                "agents are kept apart by a sandbox"
            ),
            Some(why) => tracing::warn!(event = "run.confinement", level, cgroup, "{why}"),
        }
        Self {
            environment,
            config_path,
            confinement,
            sandbox,
            vms,
        }
    }
}

/// The worktrees below each project's root; clones are the same, so that git's locks are.
#[derive(Clone)]
pub(crate) struct WorktreeRoots {
    git: Git,
    mirrors: PathBuf,
    known: Arc<Mutex<HashMap<PathBuf, Worktrees>>>,
}

impl WorktreeRoots {
    /// Mirrors of the projects' repositories are kept below `data`.
    pub(crate) fn new(git: Git, data: &Path) -> Self {
        Self {
            git,
            mirrors: data.join("mirrors"),
            known: Arc::default(),
        }
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// The worktrees below this root.
    pub(crate) fn worktrees(&self, root: &Path) -> Result<Worktrees, String> {
        let mut known = self.known.lock();
        if let Some(worktrees) = known.get(root) {
            return Ok(worktrees.clone());
        }
        let made = Worktrees::new(self.git.clone(), root, &self.mirrors);
        let made = made.map_err(|error| error.to_string())?;
        known.insert(root.to_owned(), made.clone());
        Ok(made)
    }
}

/// The directory of a run below the data directory.
pub(crate) fn run_directory(config: &Config, run: &str) -> PathBuf {
    directory_below(&config.directories.data, run)
}

/// The directory of a run's log below the data directory.
pub(crate) fn log_directory(data: &Path, run: &str) -> PathBuf {
    directory_below(data, run).join("log")
}

fn directory_below(data: &Path, run: &str) -> PathBuf {
    let name = orchestrator_engine::names::safe_name(run);
    data.join("runs").join(name)
}
