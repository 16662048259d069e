//! What jobs may ask of the coordinator: the same as people by the runner's own API.

use store::{Store, StoreError};
use supervision::{AskError, ChildRef};

use crate::coordinator::RunCoordinator;
use crate::dispatch;
use crate::job_services::{
    BackendAnswer, GatewayRefusal, JobDispatch, JobRepeat, RunControl, WorkflowFile,
};
use crate::messages::{CancelRun, DispatchFailure, DispatchWorkflow, RepeatError, RepeatRun};
use crate::repositories::Repositories;

/// Who causes what a job starts, as on GitHub.
const ACTOR: &str = "github-actions[bot]";

/// The coordinator, for jobs.
pub(crate) struct JobRunControl {
    pub(crate) coordinator: ChildRef<RunCoordinator>,
    pub(crate) store: Store,
    pub(crate) repositories: Repositories,
}

fn refused(status: u16, message: impl Into<String>) -> GatewayRefusal {
    GatewayRefusal {
        status,
        message: message.into(),
    }
}

fn of_ask(error: &AskError) -> GatewayRefusal {
    tracing::warn!(event = "run.job_not_answered", %error, "what a job asks of runs is not answered");
    refused(503, "the runner does not answer now; try again")
}

fn of_store(error: &StoreError) -> GatewayRefusal {
    tracing::warn!(event = "run.job_not_answered", %error, "what a job asks of runs is not answered");
    refused(503, "the runs cannot be read or stored now; try again")
}

fn of_dispatch(error: &DispatchFailure, reference: Option<&str>) -> GatewayRefusal {
    match (error, reference) {
        (DispatchFailure::Branch, Some(name)) => refused(
            422,
            format!("No ref found for: {}", config_core::quoted(name)),
        ),
        (
            DispatchFailure::Repository | DispatchFailure::Branch | DispatchFailure::Workflow(_),
            _,
        ) => refused(404, format!("Not Found: {error}")),
        (DispatchFailure::Inputs(_), _) => refused(422, error.to_string()),
        (DispatchFailure::Unreachable(_), _) => refused(503, error.to_string()),
    }
}

fn of_repeat(error: &RepeatError) -> GatewayRefusal {
    match error {
        RepeatError::Unknown | RepeatError::UnknownJob(..) => {
            refused(404, format!("Not Found: {error}"))
        }
        _ => refused(403, error.to_string()),
    }
}

impl RunControl for JobRunControl {
    fn dispatch(&self, asked: JobDispatch) -> BackendAnswer<'_, String> {
        Box::pin(async move {
            let reference = asked.reference.clone();
            let message = DispatchWorkflow {
                repository: asked.repository,
                branch: Some(asked.reference),
                workflow: asked.file,
                inputs: asked.inputs,
                actor: ACTOR.to_owned(),
                keep: false,
                snapshots: false,
            };
            let stored = self.coordinator.ask(message).await;
            let stored = stored.map_err(|error| of_ask(&error))?;
            let stored = stored.map_err(|error| of_store(&error))?;
            stored.map_err(|error| of_dispatch(&error, Some(&reference)))
        })
    }

    fn repeat(&self, asked: JobRepeat) -> BackendAnswer<'_, String> {
        Box::pin(async move {
            let message = RepeatRun {
                run: asked.run,
                failed_only: asked.failed_only,
                job: asked.job,
                keep: false,
                snapshots: false,
                from_step: None,
            };
            let stored = self.coordinator.ask(message).await;
            let stored = stored.map_err(|error| of_ask(&error))?;
            let stored = stored.map_err(|error| of_store(&error))?;
            stored.map_err(|error| of_repeat(&error))
        })
    }

    fn cancel(&self, run: String, reason: String) -> BackendAnswer<'_, bool> {
        Box::pin(async move {
            let asked = self.coordinator.ask(CancelRun { run, reason }).await;
            asked.map_err(|error| of_ask(&error))
        })
    }

    fn workflows(&self, repository: String) -> BackendAnswer<'_, Vec<WorkflowFile>> {
        Box::pin(async move {
            let listed = dispatch::workflows(&self.store, self.repositories.clone(), &repository);
            let listed = listed.await.map_err(|error| of_store(&error))?;
            listed.map_err(|error| of_dispatch(&error, None))
        })
    }
}
