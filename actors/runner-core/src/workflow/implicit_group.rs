//! The concurrency group that runs have at Gitea and Forgejo whose file names none.

use super::types::{Concurrency, ConcurrencyQueue, Workflow};
use crate::expr::{ExprTemplate, ExprValue};
use crate::source_location::SourceLocation;

/// The group of runs whose file names none: those of one file, reference and event.
pub(super) const IMPLICIT_GROUP: &str = "${{ github.workflow_ref }} ${{ github.event_name }}";

impl Workflow {
    /// Lets a run end those before it, of the same workflow, branch and event, as Gitea and Forgejo
    /// do where a file has no `concurrency`; Forgejo also where a group does not say whether it
    /// ends what runs (`named_too`).
    pub fn cancel_previous(&mut self, named_too: bool) {
        let place = SourceLocation::default();
        let cancels = || ExprTemplate::literal("true", ExprValue::Bool(true), place);
        match &mut self.concurrency {
            Some(named) if named_too && named.queue == ConcurrencyQueue::Single => {
                named.cancel_in_progress.get_or_insert_with(cancels);
            }
            Some(_) => {}
            None => {
                let group = ExprTemplate::parse(IMPLICIT_GROUP, place);
                self.concurrency = group.ok().map(|group| Concurrency {
                    group,
                    cancel_in_progress: Some(cancels()),
                    queue: ConcurrencyQueue::Single,
                });
            }
        }
    }
}
