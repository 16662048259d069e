//! How long a step may take (`timeout-minutes`): a process is ended by the VM manager, work of the
//! runner itself and the steps of a composite action by the deadline that is kept here.

use std::time::Duration;

use runner_core::expr::ExprScope;
use runner_core::plan::PlannedStep;
use runner_core::state::StepEnd;
use tokio::time::Instant;

use super::cancellation::AFTER_CANCEL_TIMEOUT;
use super::frame::StepResult;
use super::step_runner::StepRunner;

impl StepRunner<'_> {
    pub(super) fn limit(
        &self,
        step: &PlannedStep,
        scope: &ExprScope<'_>,
    ) -> Result<Option<Duration>, String> {
        let minutes = step
            .timeout_minutes
            .as_ref()
            .map(|minutes| minutes.value(scope));
        let minutes = minutes
            .transpose()
            .map_err(|error| format!("timeout-minutes: {error}"))?;
        let limit = minutes
            .map(|minutes| minutes.number())
            .filter(|minutes| *minutes > 0.0);
        let limit =
            limit.map(|minutes| Duration::from_secs_f64((minutes * 60.0).min(7.0 * 86_400.0)));
        Ok(self.in_time(limit))
    }

    /// The limit as it is, no later than that of the step around it, and no more than a little
    /// after a cancellation.
    pub(super) fn in_time(&self, limit: Option<Duration>) -> Option<Duration> {
        let rest = self.current.deadline.map(|deadline| {
            let rest = deadline.saturating_duration_since(Instant::now());
            // None at all would be as long as it wants.
            rest.max(Duration::from_millis(1))
        });
        let limit = limit.into_iter().chain(rest).min();
        if !self.is_cancelled() {
            return limit;
        }
        let little = AFTER_CANCEL_TIMEOUT;
        Some(limit.map_or(little, |limit| limit.min(little)))
    }

    /// From now on what runs has no more than this; gives the deadline that was kept before.
    pub(super) fn start_limit(&mut self, limit: Option<Duration>) -> Option<Instant> {
        let around = self.current.deadline;
        let own = limit.map(|limit| Instant::now() + limit);
        self.current.deadline = around.into_iter().chain(own).min();
        around
    }

    /// Whether the step around has no time left.
    pub(super) fn is_overdue(&self) -> bool {
        self.current
            .deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// The work, or that it took too long.
pub(super) async fn run_within_limit(
    limit: Option<Duration>,
    work: impl Future<Output = StepResult>,
) -> StepResult {
    match limit {
        Some(limit) => {
            let done = tokio::time::timeout(limit, work).await;
            done.unwrap_or_else(|_| timed_out())
        }
        None => work.await,
    }
}

/// How a step ends that had no time left.
pub(super) fn timed_out() -> StepResult {
    StepResult {
        end: StepEnd::TimedOut,
        ..StepResult::error("it took longer than it may")
    }
}
