//! The jobs of a run as a graph: what needs what, how far each is.

use std::collections::HashSet;

use runner_core::plan::{Instances, Plan, PlannedWork};
use runner_core::state::Conclusion;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::{JobRecord, PlannedJobRecord, RunRecord};

/// The jobs of a plan.
pub(crate) fn of_plan(plan: &Plan) -> Vec<PlannedJobRecord> {
    let jobs = plan.jobs.iter();
    jobs.map(|job| PlannedJobRecord {
        key: job.key.clone(),
        name: job
            .job
            .name
            .as_ref()
            .and_then(|name| name.fixed())
            .map_or_else(|| job.id().to_owned(), |name| name.as_text().to_string()),
        needs: job.needs.clone(),
        caller: plan.workflows[job.workflow]
            .caller
            .map(|caller| plan.jobs[caller].key.clone()),
        calls: match &job.work {
            PlannedWork::Call {
                workflows, later, ..
            } => {
                let called = workflows.first().map(|index| &plan.workflows[*index]);
                let called = called.or_else(|| later.as_ref().map(|later| later.called()));
                Some(called.map_or_else(String::new, |called| called.workflow.file.to_string()))
            }
            PlannedWork::Steps(_) => None,
        },
        matrix: match &job.instances {
            Instances::Known(copies) => copies.len() > 1,
            Instances::Later => true,
        },
    })
    .collect()
}

/// The jobs of a run as a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct JobGraph {
    /// Whether it is known what needs what: not before the run is planned, and not of runs of
    /// former versions.
    pub complete: bool,
    /// In the order of the workflow's file; those that call others stand before what they call.
    pub jobs: Vec<GraphJob>,
}

/// A job of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GraphJob {
    /// The job.
    #[serde(flatten)]
    pub job: PlannedJobRecord,
    /// How far it is: the most urgent of its copies.
    pub state: GraphState,
    /// Its copies, as far as they were begun or left out.
    pub copies: Vec<GraphCopy>,
}

/// A copy of a job of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GraphCopy {
    /// Its place among the run's jobs.
    pub index: usize,
    /// Its name for people.
    pub name: String,
    /// How far it is.
    pub state: GraphState,
    /// When it had its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// The run in which it ran, where this one took it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GraphState {
    /// It did not have to run.
    Skipped,
    /// It did what it should.
    Success,
    /// It was ended.
    Cancelled,
    /// It did not do what it should.
    Failure,
    /// Something it needs has not ended, or it waits for a machine.
    Waiting,
    /// It runs.
    Running,
}

impl GraphState {
    fn from_job(job: &JobRecord) -> Self {
        match job.conclusion {
            Some(Conclusion::Success) => Self::Success,
            Some(Conclusion::Failure) => Self::Failure,
            Some(Conclusion::Cancelled) => Self::Cancelled,
            Some(Conclusion::Skipped) => Self::Skipped,
            None if job.started_at.is_some() => Self::Running,
            None => Self::Waiting,
        }
    }

    /// Of several, some of which may not have begun.
    fn of_all(all: impl Iterator<Item = Self>, is_ended: bool) -> Self {
        all.max().unwrap_or(if is_ended {
            Self::Skipped
        } else {
            Self::Waiting
        })
    }
}

impl JobGraph {
    /// The graph of a run.
    #[must_use]
    pub fn from_run(run: &RunRecord) -> Self {
        let complete = !run.plan.is_empty();
        let planned = if complete {
            run.plan.clone()
        } else {
            without_plan(run)
        };
        let jobs = planned.into_iter().map(|job| {
            let copies = run.jobs.iter().enumerate();
            let copies: Vec<GraphCopy> = copies
                .filter(|(_, copy)| copy.key == job.key)
                .map(|(index, copy)| GraphCopy {
                    index,
                    name: copy.name.clone(),
                    state: GraphState::from_job(copy),
                    started_at: copy.started_at,
                    ended_at: copy.ended_at,
                    kept_from: copy.kept_from.clone(),
                })
                .collect();
            let below = called_keys(run, &job.key);
            let state = if job.calls.is_some() && copies.is_empty() {
                let inner = run
                    .jobs
                    .iter()
                    .filter(|copy| below.contains(copy.key.as_str()));
                GraphState::of_all(inner.map(GraphState::from_job), run.state.is_terminal())
            } else {
                let states = copies.iter().map(|copy| copy.state);
                GraphState::of_all(states, run.state.is_terminal())
            };
            GraphJob { job, state, copies }
        });
        Self {
            complete,
            jobs: jobs.collect(),
        }
    }
}

/// Jobs by their copies alone.
fn without_plan(run: &RunRecord) -> Vec<PlannedJobRecord> {
    let mut keys: Vec<&str> = run.job_order.iter().map(String::as_str).collect();
    for job in &run.jobs {
        if !keys.contains(&job.key.as_str()) {
            keys.push(&job.key);
        }
    }
    let job = |key: &&str| PlannedJobRecord {
        key: (*key).to_owned(),
        name: key.rsplit('/').next().unwrap_or_default().to_owned(),
        needs: Vec::new(),
        caller: None,
        calls: None,
        matrix: run.jobs.iter().filter(|job| job.key == **key).count() > 1,
    };
    keys.iter().map(job).collect()
}

/// The keys of all jobs of the workflows that a job calls.
fn called_keys<'r>(run: &'r RunRecord, key: &str) -> HashSet<&'r str> {
    let mut found: HashSet<&str> = HashSet::new();
    // Callers stand before what they call.
    for job in &run.plan {
        let Some(caller) = &job.caller else { continue };
        if caller == key || found.contains(caller.as_str()) {
            found.insert(&job.key);
        }
    }
    found
}

/// Which jobs run again when only what failed does, or one of them, by their keys.
#[derive(Debug, Default)]
pub(crate) struct RepeatedJobs<'r> {
    /// A copy of them did not succeed, or was chosen: those copies run again.
    failed: HashSet<&'r str>,
    /// The copies that somebody chose; `None`: those that did not succeed.
    chosen: Option<HashSet<(&'r str, usize)>>,
    /// They depend on others that run again: all their copies do.
    following: HashSet<&'r str>,
}

impl<'r> RepeatedJobs<'r> {
    /// Those of a run with a plan.
    pub(crate) fn from_run(run: &'r RunRecord) -> Self {
        let mut jobs = Self::default();
        for job in &run.plan {
            let copies: Vec<&JobRecord> =
                run.jobs.iter().filter(|copy| copy.key == job.key).collect();
            let was_left = copies.is_empty() && job.calls.is_none();
            let is_well = |copy: &&JobRecord| {
                let end = copy.conclusion;
                matches!(end, Some(Conclusion::Success | Conclusion::Skipped))
            };
            if was_left || !copies.iter().all(is_well) {
                jobs.failed.insert(&job.key);
            }
        }
        jobs.with_following(run)
    }

    /// The same of a run with a plan when somebody chose a job: by its key all copies, with all
    /// that it calls, by the name of a copy that copy. `None`: it has none of these.
    pub(crate) fn with_job(run: &'r RunRecord, job: &str) -> Option<Self> {
        let planned = run.plan.iter().find(|planned| planned.key == job);
        let has_key = planned.is_some();
        let copies = run.jobs.iter().filter(|copy| match has_key {
            true => copy.key == job,
            false => copy.name == job,
        });
        let chosen: HashSet<_> = copies
            .map(|copy| (copy.key.as_str(), copy.instance))
            .collect();
        let keys = chosen.iter().map(|(key, _)| *key);
        let failed: HashSet<&str> = keys.chain(planned.map(|it| it.key.as_str())).collect();
        if failed.is_empty() {
            return None;
        }
        let jobs = Self {
            failed,
            chosen: Some(chosen),
            following: HashSet::new(),
        };
        Some(jobs.with_following(run))
    }

    /// With what depends on them.
    fn with_following(self, run: &'r RunRecord) -> Self {
        let mut jobs = self;
        // A job that calls a workflow has another result when one of its jobs runs again, but its
        // other jobs need not.
        let mut changed = jobs.failed.clone();
        loop {
            let before = (jobs.following.len(), changed.len());
            for job in &run.plan {
                let (key, caller) = (job.key.as_str(), job.caller.as_deref());
                let needs = &job.needs;
                if needs.iter().any(|need| changed.contains(need.as_str()))
                    || caller.is_some_and(|caller| jobs.runs_again(caller))
                {
                    jobs.following.insert(key);
                    changed.insert(key);
                }
                if changed.contains(key) {
                    changed.extend(caller);
                }
            }
            if (jobs.following.len(), changed.len()) == before {
                return jobs;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    fn runs_again(&self, key: &str) -> bool {
        self.failed.contains(key) || self.following.contains(key)
    }

    /// Whether this copy keeps its end.
    pub(crate) fn keeps(&self, copy: &JobRecord) -> bool {
        let key = copy.key.as_str();
        let stays = match &self.chosen {
            None => copy.conclusion == Some(Conclusion::Success),
            Some(chosen) => copy.conclusion.is_some() && !chosen.contains(&(key, copy.instance)),
        };
        stays && !self.following.contains(key)
    }
}

#[cfg(test)]
mod tests;
