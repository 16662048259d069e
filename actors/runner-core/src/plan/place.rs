//! Where the workflow of a job lies: another place than the run's, where it is called.

use super::types::CalledWorkflow;
use crate::event::EventContext;

/// The file of a workflow, and which commit of which repository it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowPlace {
    /// `owner/repo`.
    pub repository: String,
    /// The path in it.
    pub file: String,
    /// The branch or tag by its whole name, or the commit; as written, where the lock of a called
    /// workflow does not know which.
    pub reference: String,
    /// The commit.
    pub commit: String,
}

impl WorkflowPlace {
    /// `owner/repo/file@reference`, as GitHub writes it.
    #[must_use]
    pub fn full_reference(&self) -> String {
        let Self {
            repository, file, ..
        } = self;
        format!("{repository}/{file}@{}", self.reference)
    }
}

impl CalledWorkflow {
    /// Where it lies, in a run of this event.
    #[must_use]
    pub fn place(&self, event: &EventContext) -> WorkflowPlace {
        let file = &*self.workflow.file;
        let Some(origin) = &self.origin else {
            return WorkflowPlace {
                repository: event.repository.clone(),
                file: file.to_owned(),
                reference: event.reference.clone(),
                commit: event.sha.clone(),
            };
        };
        let (repository, written) = (&origin.repository, &origin.reference);
        // One of another repository is named with it.
        let of_other = format!("{repository}@{written}/");
        let is_it = |full: &&String| {
            let name = full.strip_prefix("refs/heads/");
            name.or_else(|| full.strip_prefix("refs/tags/")) == Some(written)
        };
        let full = origin.locked.reference.as_ref().filter(is_it);
        WorkflowPlace {
            repository: repository.clone(),
            file: file.strip_prefix(&of_other).unwrap_or(file).to_owned(),
            reference: full.unwrap_or(written).clone(),
            commit: origin.locked.commit.clone(),
        }
    }
}
