//! The file of a workflow that a job calls, and the jobs of it: once for each copy of the caller's
//! matrix.

use super::build::Builder;
use super::call_template::copy_prefix;
use super::input::{PlanError, spend};
use super::types::{CallTemplate, CalledWorkflow, Instances, StoredLocation};
use crate::actions::ActionReference;
use crate::limits::MAX_WORKFLOW_DEPTH;
use crate::source_location::SourceLocation;
use crate::workflow::{self, FeatureRefusal, Need, Workflow, in_repository};

/// A workflow that is called.
#[derive(Clone)]
pub(super) struct CalledFile {
    pub(super) workflow: Workflow,
    /// The repository it is of, when that is not the commit's.
    origin: Option<StoredLocation>,
}

/// Workflows that a job calls, by their indexes, or what is called once the copies are known.
type Calls = (Vec<usize>, Option<Box<CallTemplate>>);

impl Builder<'_> {
    /// Adds the jobs of a called workflow for every copy of the caller, which is the job `at`.
    pub(super) fn add_calls(
        &mut self,
        at: usize,
        called: &CalledFile,
        depth: usize,
    ) -> Result<Calls, PlanError> {
        let is_matrix = self.jobs[at].job.has_matrix();
        let copies = match &self.jobs[at].instances {
            Instances::Known(copies) => copies.len(),
            // What depends on other jobs is only its name or its group.
            Instances::Later if !is_matrix => 1,
            Instances::Later => {
                return Ok((Vec::new(), Some(self.call_template(at, called, depth)?)));
            }
        };
        let mut workflows = Vec::with_capacity(copies);
        for copy in 0..copies {
            let prefix = copy_prefix(&self.jobs[at].key, is_matrix.then_some(copy));
            workflows.push(self.add(called_by(called, Some(at), copy), &prefix, depth + 1)?);
        }
        Ok((workflows, None))
    }

    /// The jobs of a called workflow, for copies that are not known yet.
    fn call_template(
        &mut self,
        at: usize,
        called: &CalledFile,
        depth: usize,
    ) -> Result<Box<CallTemplate>, PlanError> {
        let (first_job, first_workflow) = (self.jobs.len(), self.workflows.len());
        // Permissions are those that the caller leaves.
        self.add(called_by(called, Some(at), 0), "", depth + 1)?;
        let jobs = self.jobs.split_off(first_job);
        let workflows = self.workflows.split_off(first_workflow);
        Ok(Box::new(CallTemplate::new(
            (jobs, first_job),
            (workflows, first_workflow),
        )))
    }

    /// The workflow a job calls; nothing when it is refused.
    pub(super) fn called(
        &self,
        uses: &str,
        place: SourceLocation,
        workflow: usize,
        depth: usize,
        refusals: &mut Vec<FeatureRefusal>,
    ) -> Result<Option<CalledFile>, PlanError> {
        let feature = format!("uses: {uses}");
        let file = &self.workflows[workflow].workflow.file;
        let mut refuse_adding = |need: Need, reason: &str, locked: Option<String>| {
            let refusal = FeatureRefusal::new(&feature, reason, file, place).needing(need);
            refusals.push(FeatureRefusal { locked, ..refusal });
            Ok(None)
        };
        let (origin, path) = match (in_repository(uses), uses.parse::<ActionReference>()) {
            (Some(path), _) => (self.workflows[workflow].origin.clone(), path.to_owned()),
            (None, Ok(reference)) => {
                // The lock file need not have it: calls are pinned by their own commits.
                let lock = self.locked_uses(workflow);
                match lock.find(self.input.actions, &reference) {
                    Ok(locked) => {
                        let location = StoredLocation::new(&reference, locked);
                        (Some(location), reference.path().to_owned())
                    }
                    Err(reason) => {
                        return refuse_adding(remote(uses), &reason, lock.name_to_add(&reference));
                    }
                }
            }
            (None, Err(error)) => return refuse_adding(remote(uses), &error.to_string(), None),
        };
        let mut refuse = |reason: &str| refuse_adding(Need::OwnFiles, reason, None);
        if depth + 1 >= MAX_WORKFLOW_DEPTH {
            return refuse("workflows call each other too deep");
        }
        let bytes = match &origin {
            None => (self.input.files)(&path),
            Some(origin) => self.input.actions.read(&origin.locked, &path),
        };
        let Some(bytes) = bytes else {
            return refuse("the file is not in the repository");
        };
        if !spend(&self.budget, bytes.len()) {
            return refuse("the files it calls are too large together");
        }
        let name = match &origin {
            None => path,
            Some(origin) => format!("{}@{}/{path}", origin.repository, origin.reference),
        };
        let dialect = self.workflows[workflow].workflow.dialect;
        let called = match (workflow::parse_as(&name, &bytes, dialect), &origin) {
            (Ok(called), _) => called.value,
            (Err(wrong), None) => return Err(PlanError::File(wrong)),
            (Err(wrong), Some(_)) => {
                let wrong = wrong.to_string();
                let first = wrong.lines().next().unwrap_or_default();
                return refuse(&format!("the workflow it names is wrong: {first}"));
            }
        };
        if called.on.workflow_call.is_none() {
            return refuse("the workflow it names has no `on: workflow_call`");
        }
        Ok(Some(CalledFile {
            workflow: called,
            origin,
        }))
    }
}

fn called_by(called: &CalledFile, caller: Option<usize>, copy: usize) -> CalledWorkflow {
    CalledWorkflow {
        workflow: called.workflow.clone(),
        caller,
        copy,
        origin: called.origin.clone(),
    }
}

/// What is missing where a workflow of another repository cannot be called.
fn remote(uses: &str) -> Need {
    let name = uses.split_once('@').map_or(uses, |(name, _)| name);
    Need::RemoteWorkflow(name.to_owned())
}
