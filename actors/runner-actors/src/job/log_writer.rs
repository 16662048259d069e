//! The log of one job.

use super::protocol::JobRequest;
use super::secrets::JobSecrets;
use crate::clock::now_ms;
use crate::log::{LineKind, LogLine, Logs};

/// Writes lines of one job. What the runner says itself is masked here, whatever it is about: a
/// cache's key and an artifact's name may hold a secret too.
#[derive(Clone)]
pub(crate) struct LogWriter {
    logs: Logs,
    run: String,
    job: String,
    secrets: JobSecrets,
    step_max: u64,
}

impl LogWriter {
    /// The log of this job, whose secrets are taken out from the start.
    pub(crate) fn new(request: &JobRequest, logs: Logs) -> Self {
        let secrets = JobSecrets::default();
        for secret in &request.secrets {
            secrets.add(secret);
        }
        Self {
            logs,
            run: request.run.clone(),
            job: request.instance.name.clone(),
            secrets,
            step_max: request.log_step_max,
        }
    }

    /// Bytes that are kept of the beginning of a step's output.
    pub(super) fn step_max(&self) -> u64 {
        self.step_max
    }

    /// What is masked, for whoever learns of more and for the output of steps.
    pub(super) fn secrets(&self) -> &JobSecrets {
        &self.secrets
    }

    pub(crate) async fn info(&self, step: u32, text: &str) {
        self.line(step, LineKind::Info, text).await;
    }

    pub(crate) async fn error(&self, step: u32, text: &str) {
        self.line(step, LineKind::Error, text).await;
    }

    /// Writes a text, one line for each of it.
    pub(crate) async fn line(&self, step: u32, kind: LineKind, text: &str) {
        let text = self.secrets.mask(text);
        for text in text.lines().chain(text.is_empty().then_some("")) {
            self.masked_line(step, kind, text).await;
        }
    }

    /// Writes a line of a stream that masks by itself.
    pub(super) async fn masked_line(&self, step: u32, kind: LineKind, text: &str) {
        let line = LogLine {
            at: now_ms(),
            job: self.job.clone(),
            step,
            kind,
            text: text.to_owned(),
        };
        self.logs.write(&self.run, line).await;
    }

    /// Waits until all lines so far are in their file, and stored where other processes read them.
    pub(crate) async fn store(&self) {
        self.logs.store(&self.run, false).await;
    }
}
