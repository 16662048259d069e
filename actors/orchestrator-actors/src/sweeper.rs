//! The worktree keeper: removes worktrees of runs that have ended, half an hour after their last change.
//!
//! ```text
//! Dispatcher --SweepWorktrees--> Sweeper ──thread──▶ disk, then the run's row
//! ```

use std::collections::BTreeMap;
use std::time::SystemTime;

use actix::{Actor, Context, Handler, ResponseFuture};
use forge_core::{ObjectFormats, RunId};
use orchestrator_core::run::Run;
use orchestrator_engine::worktree::{Purpose, RunState, Swept, Worktree, Worktrees};

use crate::ledger;
use crate::messages::SweepWorktrees;
use crate::shared::Shared;

/// The actor.
pub struct Sweeper {
    shared: Shared,
    sweeping: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Sweeper {
    /// A sweeper of the projects' worktree roots.
    pub fn new(shared: Shared) -> Self {
        Self {
            shared,
            sweeping: std::sync::Arc::default(),
        }
    }
}

impl Actor for Sweeper {
    type Context = Context<Self>;
}

impl Handler<SweepWorktrees> for Sweeper {
    type Result = ResponseFuture<usize>;

    fn handle(&mut self, SweepWorktrees: SweepWorktrees, _: &mut Context<Self>) -> Self::Result {
        use std::sync::atomic::Ordering::AcqRel;
        let (shared, sweeping) = (self.shared.clone(), self.sweeping.clone());
        Box::pin(async move {
            if sweeping.swap(true, AcqRel) {
                return 0;
            }
            let swept = sweep(&shared).await;
            sweeping.swap(false, AcqRel);
            swept
        })
    }
}

async fn sweep(shared: &Shared) -> usize {
    let known = shared.store().read(|rows| {
        let mut runs = Vec::new();
        for id in ledger::worktrees(rows)? {
            runs.extend(ledger::run_record(rows, &id)?);
        }
        Ok::<_, store::StoreError>(runs)
    });
    let Ok(runs) = known.await else { return 0 };
    if runs.is_empty() {
        return 0;
    }
    let blocking = shared.clone();
    let swept = tokio::task::spawn_blocking(move || sweep_disk(&blocking, &runs)).await;
    let removed = swept.unwrap_or_default();
    let count = removed.len();
    if count > 0 {
        let forgotten = shared.write(move |book| {
            for (run, path) in &removed {
                ledger::forget_worktree(book, run, path)?;
            }
            Ok(())
        });
        // A store that refuses: the next sweep finds the folder gone, and says so then.
        let _ = forgotten.await;
    }
    count
}

/// Sweeps every root that has a worktree by the run table; the runs whose worktree is gone now.
fn sweep_disk(shared: &Shared, runs: &[Run]) -> Vec<(RunId, String)> {
    let config = shared.config();
    let mut roots: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        if let Some(project) = config.projects.get(&run.project) {
            roots
                .entry((&project.worktree_root, &project.working_dir))
                .or_default()
                .push(run);
        }
    }
    let mut gone = Vec::new();
    for ((root, repository), runs) in roots {
        let Ok(worktrees) = shared.worktrees(root) else {
            continue;
        };
        let by_name: BTreeMap<String, RunState> = runs
            .iter()
            .map(|run| (run.id.to_string(), state(&worktrees, repository, run)))
            .collect();
        let look = |name: &str| by_name.get(name).cloned().unwrap_or(RunState::Unknown);
        for swept in worktrees.sweep(&look, SystemTime::now()) {
            report(&swept);
        }
        for run in runs {
            let Some(record) = &run.worktree else {
                continue;
            };
            if !run.state.is_terminal() || std::path::Path::new(&record.path).exists() {
                continue;
            }
            // One that somebody else removed: its commits get their branch, and git forgets it.
            if let Some(RunState::Over(worktree)) = by_name.get(run.id.as_str())
                && let Err(error) = worktrees.remove(worktree)
            {
                report(&Swept::Failed(worktree.folder.clone(), error.to_string()));
            }
            gone.push((run.id.clone(), record.path.clone()));
        }
    }
    gone
}

fn state(worktrees: &Worktrees, repository: &std::path::Path, run: &Run) -> RunState {
    if !run.state.is_terminal() {
        return RunState::Live;
    }
    let purpose = Purpose {
        project: run.project.clone(),
        agent: run.agent.clone(),
        run: run.id.clone(),
    };
    let tip = worktrees.tip(repository, &purpose.branch());
    let start = tip.or_else(|_| {
        let none = forge_core::CommitSha::parse(&"1".repeat(40), ObjectFormats::Sha1);
        none.map_err(|_| ())
    });
    let Ok(start) = start else {
        return RunState::Unknown;
    };
    Worktree::known(worktrees, repository, &purpose, start)
        .map_or(RunState::Unknown, RunState::Over)
}

fn report(swept: &Swept) {
    match swept {
        Swept::Failed(path, error) => tracing::warn!(
            event = "worktree.not_removed", path = %path.display(), error = %error,
            "a worktree could not be removed; the next sweep tries again"
        ),
        Swept::Stranger(path) => tracing::debug!(
            event = "worktree.stranger", path = %path.display(), "a folder that no run has made stays"
        ),
        Swept::Removed(_) | Swept::Kept(_) => {}
    }
}
