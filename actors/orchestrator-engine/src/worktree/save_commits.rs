//! After a run: no commit of the agent is without a branch.

use std::path::Path;

use forge_core::CommitSha;

use super::error::WorktreeError;
use super::mirror::ProjectMirror;
use super::{Worktree, Worktrees, clone};
use crate::names::safe_name;

/// Most branches of an agent's own that are kept beside the run's.
const MAX_BRANCHES: usize = 32;

/// What a run left in its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledBranch {
    /// The commit the agent ended on.
    pub head: CommitSha,
    /// The branch that holds it.
    pub branch: String,
    /// Whether the agent has committed anything.
    pub changed: bool,
    /// Whether the branch had to be moved or made here: the commits were not on the run's branch.
    pub rescued: bool,
}

impl SettledBranch {
    /// Nothing was committed.
    fn unchanged(worktree: &Worktree) -> Self {
        Self {
            head: worktree.start.clone(),
            branch: worktree.branch.clone(),
            changed: false,
            rescued: false,
        }
    }
}

impl Worktrees {
    /// Reads back what the agent committed, into the mirror and from there into the checkout: on
    /// the run's branch `orch/<agent>/<run>`; commits that this one does not hold on
    /// `orch/<agent>/<run>-head` (what `HEAD` named) and `orch/<agent>/<run>-<branch>`. An agent
    /// that destroyed its repository has committed nothing.
    ///
    /// # Errors
    /// When git cannot run or refuses what the agent made. What is in the mirror by then stays
    /// there.
    pub fn settle(&self, worktree: &Worktree) -> Result<SettledBranch, WorktreeError> {
        let mirror = self.mirror(&worktree.project, &worktree.repository)?;
        let facts = self.facts(&mirror, &worktree.repository)?;
        // A previous incarnation of the daemon may have made it: the mirror knows where it began.
        let start = mirror.resolve(&worktree.staged("start"))?;
        let worktree = &Worktree {
            start: start.unwrap_or_else(|| worktree.start.clone()),
            ..worktree.clone()
        };
        let nothing = || SettledBranch::unchanged(worktree);
        if !clone::tame(&mirror, worktree, &facts)? {
            return Ok(nothing());
        }
        let plan = Self::take(&mirror, worktree, &clone::inner(worktree))?;
        Ok(plan.settled.unwrap_or_else(nothing))
    }

    /// The same of a bundle that came from elsewhere, where the agent worked in a copy of the
    /// worktree; the worktree shows the run's branch afterwards.
    ///
    /// # Errors
    /// When git cannot run or refuses what the agent made.
    pub fn settle_bundle(
        &self,
        worktree: &Worktree,
        bundle: &Path,
    ) -> Result<SettledBranch, WorktreeError> {
        let mirror = self.mirror(&worktree.project, &worktree.repository)?;
        let plan = Self::take(&mirror, worktree, bundle)?;
        let settled = plan
            .settled
            .unwrap_or_else(|| SettledBranch::unchanged(worktree));
        if settled.changed {
            clone::show(&self.git, worktree, &settled.head)?;
        }
        Ok(settled)
    }

    /// Takes what is new in a repository or bundle into the mirror, and hands it on.
    fn take(
        mirror: &ProjectMirror,
        worktree: &Worktree,
        from: &Path,
    ) -> Result<Plan, WorktreeError> {
        let left = CloneRefs::read(mirror, worktree, from)?;
        let plan = left.plan(mirror, worktree)?;
        for (branch, commit) in &plan.branches {
            mirror.set(&format!("refs/heads/{branch}"), commit)?;
        }
        for (branch, commit) in &plan.branches {
            let known = Some(&worktree.start);
            mirror.push_to(&worktree.repository, commit, known, Some(branch))?;
        }
        Ok(plan)
    }
}

/// The references of a clone, as they were fetched.
struct CloneRefs {
    /// What `HEAD` names.
    head: Option<CommitSha>,
    /// The run's branch.
    own: Option<CommitSha>,
    /// Other branches.
    others: Vec<(String, CommitSha)>,
}

/// Which branches are to be made.
#[derive(Default)]
struct Plan {
    branches: Vec<(String, CommitSha)>,
    settled: Option<SettledBranch>,
}

impl CloneRefs {
    fn read(
        mirror: &ProjectMirror,
        worktree: &Worktree,
        from: &Path,
    ) -> Result<Self, WorktreeError> {
        let heads = worktree.staged("heads/");
        mirror.fetch_folder(from, &[format!("+refs/heads/*:{heads}*")], true)?;
        // A `HEAD` that names nothing is the agent's own affair.
        let head = worktree.staged("HEAD");
        let head = match mirror.fetch_folder(from, &[format!("+HEAD:{head}")], true) {
            Ok(()) => mirror.resolve(&head)?,
            Err(WorktreeError::Git(git_engine::GitError::Failed { .. })) => None,
            Err(error) => return Err(error),
        };
        let mut others = mirror.list(&heads)?;
        let own = others.iter().position(|(name, _)| *name == worktree.branch);
        let own = own.map(|at| others.remove(at).1);
        others.truncate(MAX_BRANCHES);
        Ok(Self { head, own, others })
    }

    fn plan(self, mirror: &ProjectMirror, worktree: &Worktree) -> Result<Plan, WorktreeError> {
        let start = &worktree.start;
        let holds = |of: &CommitSha, commit: &CommitSha| -> Result<bool, WorktreeError> {
            Ok(of == commit || mirror.is_ancestor(commit, of)?)
        };
        let head = self.head.or_else(|| self.own.clone());
        let head = head.unwrap_or_else(|| start.clone());
        let own = self.own.unwrap_or_else(|| start.clone());
        let mut plan = Plan::default();
        let (branch, rescued) = if holds(&own, &head)? {
            if own != *start {
                plan.branches.push((worktree.branch.clone(), own.clone()));
            }
            (worktree.branch.clone(), false)
        } else if holds(&head, &own)? {
            plan.branches.push((worktree.branch.clone(), head.clone()));
            (worktree.branch.clone(), true)
        } else {
            plan.branches.push((worktree.branch.clone(), own.clone()));
            let beside = format!("{}-head", worktree.branch);
            plan.branches.push((beside.clone(), head.clone()));
            (beside, true)
        };
        for (name, commit) in self.others {
            let mut kept = holds(start, &commit)?;
            for known in [&own, &head] {
                kept = kept || holds(known, &commit)?;
            }
            let given = format!("refs/remotes/origin/{name}");
            if kept || mirror.resolve(&given)?.is_some_and(|tip| tip == commit) {
                continue;
            }
            let beside = format!("{}-{}", worktree.branch, safe_name(&name).replace('~', "-"));
            plan.branches.push((beside, commit));
        }
        plan.settled = Some(SettledBranch {
            changed: head != *start,
            head,
            branch,
            rescued,
        });
        Ok(plan)
    }
}
