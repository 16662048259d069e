//! Garbage collection of worktrees: removes those of ended runs, half an hour after their last
//! change.
//!
//! ```text
//! Dispatcher --CollectWorktrees--> WorktreeGc ──thread──▶ disk, then the run's row
//! ```

use std::collections::BTreeMap;
use std::time::SystemTime;

use actix::fut::{ActorFutureExt, WrapFuture};
use actix::{Actor, Context, Handler, ResponseActFuture};
use forge_core::{ObjectFormats, RunId};
use orchestrator_core::config::Config;
use orchestrator_core::run::Run;
use orchestrator_engine::worktree::{GcOutcome, Worktree, WorktreePurpose, WorktreeRun, Worktrees};

use crate::host::WorktreeRoots;
use crate::ledger::{self, Ledger};
use crate::messages::CollectWorktrees;

/// The actor.
pub(crate) struct WorktreeGc {
    ledger: Ledger,
    roots: WorktreeRoots,
    is_collecting: bool,
}

impl WorktreeGc {
    pub(crate) fn new(ledger: Ledger, roots: WorktreeRoots) -> Self {
        Self {
            ledger,
            roots,
            is_collecting: false,
        }
    }
}

impl Actor for WorktreeGc {
    type Context = Context<Self>;
}

impl Handler<CollectWorktrees> for WorktreeGc {
    type Result = ResponseActFuture<Self, usize>;

    fn handle(
        &mut self,
        CollectWorktrees: CollectWorktrees,
        _: &mut Context<Self>,
    ) -> Self::Result {
        // One at a time: a disk that is slow does not make them pile up.
        let may_collect = !std::mem::replace(&mut self.is_collecting, true);
        let (ledger, roots) = (self.ledger.clone(), self.roots.clone());
        let collecting = async move {
            if may_collect {
                collect(&ledger, roots).await
            } else {
                0
            }
        };
        Box::pin(collecting.into_actor(self).map(move |count, gc, _| {
            gc.is_collecting &= !may_collect;
            count
        }))
    }
}

async fn collect(ledger: &Ledger, roots: WorktreeRoots) -> usize {
    let known = ledger.read(|rows| {
        let mut runs = Vec::new();
        for id in ledger::worktrees(rows)? {
            runs.extend(ledger::run_record(rows, &id)?);
        }
        Ok(runs)
    });
    let Ok(runs) = known.await else { return 0 };
    let config = ledger.config();
    let (mirrors_of, mirror_roots) = (config.clone(), roots.clone());
    // Whatever comes of it, worktrees are collected.
    let _ = tokio::task::spawn_blocking(move || tidy_mirrors(&mirrors_of, &mirror_roots)).await;
    if runs.is_empty() {
        return 0;
    }
    let collected = tokio::task::spawn_blocking(move || collect_on_disk(&config, &roots, &runs));
    let removed = collected.await.unwrap_or_default();
    let count = removed.len();
    if count > 0 {
        let forgotten = ledger.write(move |txn| {
            for (run, path) in &removed {
                ledger::forget_worktree(txn, run, path)?;
            }
            Ok(())
        });
        // A store that refuses: the next collection finds the directory gone, and stores that then.
        let _ = forgotten.await;
    }
    count
}

/// Tidies the mirrors of all projects, one after the other.
fn tidy_mirrors(config: &Config, roots: &WorktreeRoots) {
    for (project, spec) in &config.projects {
        let Ok(worktrees) = roots.worktrees(&spec.worktree_root) else {
            continue;
        };
        if !worktrees.has_mirror(project) {
            continue;
        }
        match worktrees.housekeep(project, &spec.working_dir, SystemTime::now()) {
            Ok(true) => {
                tracing::info!(event = "worktree.mirror_tidied", %project, "a mirror was packed anew");
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(event = "worktree.mirror_not_tidied", %project, %error, "a mirror could not be tidied; it is tried again after a day");
            }
        }
    }
}

/// Collects below every root that has a worktree by the run table; the runs whose worktree is gone
/// now.
fn collect_on_disk(config: &Config, roots: &WorktreeRoots, runs: &[Run]) -> Vec<(RunId, String)> {
    let mut by_root: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        if let Some(project) = config.projects.get(&run.project) {
            by_root
                .entry((&project.worktree_root, &project.working_dir))
                .or_default()
                .push(run);
        }
    }
    let mut gone = Vec::new();
    for ((root, repository), runs) in by_root {
        let Ok(worktrees) = roots.worktrees(root) else {
            continue;
        };
        let by_name: BTreeMap<String, WorktreeRun> = runs
            .iter()
            .map(|run| (run.id.to_string(), state(&worktrees, repository, run)))
            .collect();
        let state_of = |name: &str| by_name.get(name).cloned().unwrap_or(WorktreeRun::Unknown);
        for swept in worktrees.collect_garbage(&state_of, SystemTime::now()) {
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
            if let Some(WorktreeRun::Ended(worktree)) = by_name.get(run.id.as_str())
                && let Err(error) = worktrees.remove(worktree)
            {
                report(&GcOutcome::Failed(
                    worktree.folder.clone(),
                    error.to_string(),
                ));
            }
            gone.push((run.id.clone(), record.path.clone()));
        }
    }
    gone
}

fn state(worktrees: &Worktrees, repository: &std::path::Path, run: &Run) -> WorktreeRun {
    if !run.state.is_terminal() {
        return WorktreeRun::Live;
    }
    let purpose = WorktreePurpose {
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
        return WorktreeRun::Unknown;
    };
    Worktree::find(worktrees, repository, &purpose, start)
        .map_or(WorktreeRun::Unknown, WorktreeRun::Ended)
}

fn report(swept: &GcOutcome) {
    match swept {
        GcOutcome::Failed(path, error) => tracing::warn!(
            event = "worktree.not_removed", path = %path.display(), error = %error,
            "a worktree could not be removed; the next sweep tries again"
        ),
        GcOutcome::Unknown(path) => tracing::debug!(
            event = "worktree.stranger", path = %path.display(), "a folder that no run has made stays"
        ),
        GcOutcome::Removed(_) | GcOutcome::Kept(_) => {}
    }
}
