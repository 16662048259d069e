//! The log of one job.

use super::protocol::JobRequest;
use crate::clock::now_ms;
use crate::log::{LineKind, LogLine, Logs};

/// Writes lines of one job.
#[derive(Clone)]
pub(crate) struct LogWriter {
    logs: Logs,
    run: String,
    job: String,
}

impl LogWriter {
    /// The log of this job.
    pub(crate) fn new(request: &JobRequest, logs: Logs) -> Self {
        Self {
            logs,
            run: request.run.clone(),
            job: request.instance.name.clone(),
        }
    }

    pub(crate) async fn info(&self, step: u32, text: &str) {
        self.line(step, LineKind::Info, text).await;
    }

    pub(crate) async fn error(&self, step: u32, text: &str) {
        self.line(step, LineKind::Error, text).await;
    }

    pub(crate) async fn line(&self, step: u32, kind: LineKind, text: &str) {
        for text in text.lines().chain(text.is_empty().then_some("")) {
            let line = LogLine {
                at: now_ms(),
                job: self.job.clone(),
                step,
                kind,
                text: text.to_owned(),
            };
            self.logs.write(&self.run, line).await;
        }
    }

    /// Waits until all lines so far are in their file, and stored where other processes read them.
    pub(crate) async fn store(&self) {
        self.logs.store(&self.run, false).await;
    }
}
