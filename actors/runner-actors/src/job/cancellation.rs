//! What ends a process before its time: the cancellation of its job, where its condition does not
//! hold once the job is cancelled, as on GitHub.

use std::time::Duration;

use runner_core::expr::{ContextName, Contexts, ExprValue, StatusFlags};
use tokio::sync::watch;

use super::frame::StepResult;

/// What runs after a cancellation, or goes on in spite of it, gets no more time than this.
pub(super) const AFTER_CANCEL_TIMEOUT: Duration = Duration::from_secs(300);
/// What was begun with a limit of that time is ended by its limit.
const GRACE: Duration = Duration::from_secs(20);

/// Who asks for the end of a process.
#[derive(Clone)]
pub(crate) struct Cancellation {
    /// The job's.
    pub(super) job: watch::Receiver<bool>,
    /// That of just this step: it counts whatever the step's condition says.
    pub(super) own: Option<watch::Receiver<bool>>,
    /// It goes on when the job is cancelled, for a little while.
    pub(super) outlives: bool,
}

/// Somebody asked for the end of what was not done yet.
pub(super) struct Cancelled;

impl From<Cancelled> for StepResult {
    fn from(_: Cancelled) -> Self {
        Self::cancelled()
    }
}

impl From<Cancelled> for String {
    fn from(_: Cancelled) -> Self {
        "cancelled".to_owned()
    }
}

impl Cancellation {
    /// Waits until the process is to be ended.
    pub(super) async fn wait(&mut self) {
        let Self { job, own, outlives } = self;
        let own = async {
            match own {
                Some(own) => drop(own.wait_for(|cancelled| *cancelled).await),
                None => std::future::pending().await,
            }
        };
        let job = async {
            let _ = job.wait_for(|cancelled| *cancelled).await;
            if *outlives {
                tokio::time::sleep(AFTER_CANCEL_TIMEOUT + GRACE).await;
            }
        };
        tokio::select! {
            () = own => {}
            () = job => {}
        }
    }
}

/// What conditions see once the job is cancelled.
pub(super) fn once_cancelled(contexts: &Contexts) -> Contexts {
    let mut contexts = contexts.clone();
    if let ExprValue::Object(job) = contexts.get(ContextName::Job).clone() {
        let mut job = (*job).clone();
        job.set("status", ExprValue::text("cancelled"));
        contexts.set(ContextName::Job, ExprValue::Object(job.into()));
    }
    contexts.set_status(StatusFlags {
        success: false,
        failure: false,
        cancelled: true,
    });
    contexts
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn has_ended(cancellation: &mut Cancellation) -> bool {
        let little = Duration::from_millis(50);
        tokio::time::timeout(little, cancellation.wait())
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn i17_what_outlives_its_job_s_cancellation_is_ended_by_its_own() {
        let (end_job, job) = watch::channel(false);
        let (end_step, own) = watch::channel(false);
        let mut other = Cancellation {
            job,
            own: Some(own),
            outlives: false,
        };
        let mut cleanup = Cancellation {
            outlives: true,
            ..other.clone()
        };
        assert!(!has_ended(&mut other).await);
        end_job.send_replace(true);
        assert!(has_ended(&mut other).await);
        assert!(!has_ended(&mut cleanup).await);
        end_step.send_replace(true);
        assert!(has_ended(&mut cleanup).await);
    }
}
