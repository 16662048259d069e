//! One poll of a project: what both of its parts need.

use std::collections::BTreeSet;
use std::time::Duration;

use forge_core::{CommentId, ForgeEvent, Repository};
use http_clients::forge::{ForgeClient, ForgeError};
use orchestrator_core::Millis;
use orchestrator_core::config::Project;
use supervision::ChildRef;

use crate::intake::Intake;
use crate::ledger::{self, Ledger};
use crate::messages::AdmitFound;

/// The longest that intake takes for an event.
const ADMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The comments that the last poll of a project has read; it saves writes, and nothing depends on
/// it.
#[derive(Debug, Default)]
pub(super) struct SeenComments(pub(super) BTreeSet<CommentId>);

/// One poll of a project.
pub(super) struct ProjectPoll<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) intake: &'a ChildRef<Intake>,
    pub(super) client: ForgeClient,
}

/// Why a poll did not get to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum PollError {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("the intake does not answer: {0}")]
    Intake(#[from] supervision::AskError),
}

impl ProjectPoll<'_> {
    /// Everything before this time was read and admitted.
    pub(super) async fn advance(&self, project: &Project, at: Millis) -> Result<(), PollError> {
        let key = project.id.clone();
        let written = self
            .ledger
            .write(move |txn| ledger::advance_cursor(txn, &key, at));
        Ok(written.await?)
    }

    /// Admits what the forge said when it was asked at `asked_at`.
    pub(super) async fn admit(&self, event: ForgeEvent, asked_at: Millis) -> Result<(), PollError> {
        let event = Box::new(event);
        self.intake
            .ask_within(AdmitFound { event, asked_at }, ADMIT_TIMEOUT)
            .await??;
        Ok(())
    }
}

pub(super) fn repository(project: &Project) -> Repository {
    Repository {
        name: project.repository.clone(),
        clone_url: None,
        html_url: None,
        default_branch: None,
    }
}
