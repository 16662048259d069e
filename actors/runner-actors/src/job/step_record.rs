//! What is told, recorded and logged of a step of the job.

use runner_core::state::{Conclusion, StepEnd};
use runner_core::truncation::{truncate_name, truncate_reason};

use super::checkpoint::DoneStep;
use super::frame::{Frame, StepResult};
use super::protocol::JobEvent;
use super::step_runner::StepRunner;
use crate::clock::now_ms;
use crate::log::LineKind;
use crate::records::StepRecord;

impl StepRunner<'_> {
    /// A step that an earlier attempt has done, for this one's record.
    pub(super) async fn repeat_record(&mut self, done: DoneStep) {
        let DoneStep { run, record } = &done;
        let reason = match &record.reason {
            Some(reason) => format!("{reason} (in the run {run})"),
            None => format!("done in the run {run}"),
        };
        let record = StepRecord {
            reason: Some(reason),
            ..record.clone()
        };
        self.events.step_started(record.clone()).await;
        self.events.send(JobEvent::StepEnded(record)).await;
        self.progress.records.push(done);
    }

    /// Tells, records and logs that a step begins; the name is masked. No process of it is begun
    /// before that is stored.
    pub(super) async fn start_step(&mut self, name: &str) -> StepRecord {
        let name = truncate_name(&self.secrets.mask(name));
        let record = StepRecord {
            number: self.current.number,
            name: name.clone(),
            started_at: now_ms(),
            ..StepRecord::default()
        };
        self.current.is_recorded = self.events.step_started(record.clone()).await;
        self.log
            .line(self.current.number, LineKind::Group, &name)
            .await;
        record
    }

    /// Tells, records and logs how it ended.
    pub(super) async fn end_step(
        &mut self,
        mut record: StepRecord,
        result: StepResult,
        frame: &Frame,
        failed_before: bool,
    ) -> StepResult {
        let forgiven = result.end.outcome() == Conclusion::Failure
            && frame.failed == failed_before
            && !failed_before;
        if let Some(reason) = result
            .reason
            .as_deref()
            .filter(|_| result.end != StepEnd::Skipped)
        {
            let kind = if forgiven {
                LineKind::Warning
            } else {
                LineKind::Error
            };
            self.log.line(self.current.number, kind, reason).await;
        }
        self.log
            .line(self.current.number, LineKind::EndGroup, "")
            .await;
        record.ended_at = Some(now_ms());
        record.end = Some(result.end);
        record.forgiven = forgiven;
        record.reason = result
            .reason
            .as_deref()
            .map(|reason| truncate_reason(&self.secrets.mask(reason)));
        record.summary = result
            .summary
            .as_deref()
            .map(|summary| self.secrets.mask(summary));
        self.progress.records.push(DoneStep {
            run: self.request.run.clone(),
            record: StepRecord {
                // Only a job that goes on from here says it again; a thousand steps may have one.
                summary: record
                    .summary
                    .clone()
                    .filter(|_| self.request.retention.snapshots),
                ..record.clone()
            },
        });
        self.events.send(JobEvent::StepEnded(record)).await;
        result
    }
}
