//! How a job ended: what its record and the jobs after it get.

use runner_core::expr::ExprScope;
use runner_core::job_outputs::{JobOutputs, OutputsError};
use runner_core::state::Conclusion;

use super::frame::Frame;
use super::protocol::JobResult;
use super::step_runner::StepRunner;
use crate::records::JobEnd;

/// Longest address of an environment, in bytes.
const MAX_URL: usize = 2048;

impl StepRunner<'_> {
    /// The report of a job whose steps have ended; `reason` is why it failed.
    pub(super) fn report(&self, frame: &Frame, reason: Option<String>) -> JobResult {
        let contexts = self.contexts(frame, &[]);
        let scope = ExprScope::new(&contexts);
        let (outputs, too_large) = match self.outputs(&scope) {
            Ok(outputs) => (outputs, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let failed = frame.failed || too_large.is_some();
        let conclusion = match (failed, self.is_cancelled()) {
            (_, true) => Conclusion::Cancelled,
            (true, false) => Conclusion::Failure,
            (false, false) => Conclusion::Success,
        };
        JobResult {
            conclusion,
            end: JobEnd::Usual,
            reason: reason.or(too_large),
            outputs,
            url: self.environment_url(&scope),
            refused: false,
            tests: None,
            under_way: None,
        }
    }

    /// The report of a job that cannot begin its steps: somebody ended it, or this is why.
    pub(super) async fn cannot_begin(&self, end: JobEnd, reason: String) -> JobResult {
        self.log.error(0, &reason).await;
        match self.is_cancelled() {
            true => JobResult::cancelled("cancelled before its first step"),
            false => JobResult::failed(end, reason),
        }
    }

    /// What the job gives to those that need it.
    fn outputs(&self, scope: &ExprScope<'_>) -> Result<Vec<(String, String)>, OutputsError> {
        let job = &self.request.plan.jobs[self.request.job].job;
        let mut outputs = JobOutputs::default();
        for (name, value) in &job.outputs {
            let value = value.text(scope).unwrap_or_default();
            // An output that holds a secret is not handed on.
            let is_open = self.secrets.mask(&value) == value;
            outputs.take(name, if is_open { value } else { String::new() })?;
        }
        Ok(outputs.into_pairs())
    }

    /// Where people find what was deployed: an address that a browser may be sent to, without a
    /// secret in it.
    fn environment_url(&self, scope: &ExprScope<'_>) -> Option<String> {
        let job = &self.request.plan.jobs[self.request.job].job;
        let url = job.environment.as_ref()?.url.as_ref()?.text(scope).ok()?;
        let url = url.trim();
        let parsed = url::Url::parse(url).ok()?;
        let shown = matches!(parsed.scheme(), "http" | "https") && url.len() <= MAX_URL;
        (shown && self.secrets.mask(url) == url).then(|| url.to_owned())
    }
}
