//! Records that are larger than a row of the store may be.

use crate::records::RunRecord;

/// What is left of the reasons of jobs, in bytes.
const MAX_REASON: usize = 1024;

impl RunRecord {
    /// Drops what makes it larger than the store takes: outputs, steps, long reasons. `false`:
    /// there is nothing of that.
    pub(crate) fn shrink(&mut self) -> bool {
        let mut has_changed = false;
        for job in &mut self.jobs {
            has_changed |= !job.outputs.is_empty() || !job.steps.is_empty();
            job.outputs.clear();
            job.steps.clear();
            has_changed |= job.summary.take().is_some();
            for reason in job.reason.iter_mut().filter(|it| it.len() > MAX_REASON) {
                reason.truncate(reason.floor_char_boundary(MAX_REASON));
                has_changed = true;
            }
        }
        has_changed
    }
}
