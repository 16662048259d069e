//! Actions of the workspace that an earlier step has put there: read from the machine and planned
//! when their step runs.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use runner_core::plan::{DeferredAction, PlanInput, PlannedAction, StepKind, plan_deferred};
use runner_core::state::StepEnd;

use super::frame::StepResult;
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// Actions use each other at most 10 deep, each of two names.
const MAX_ROUNDS: usize = 24;

/// Files of the workspace: what was asked for and is there, or is not.
type WorkspaceFiles = HashMap<String, Option<Vec<u8>>>;

impl StepRunner<'_> {
    /// What a step does, where that is not what was planned: an action that the commit does not
    /// have, or that is another one in the workspace now.
    pub(super) async fn planned_anew(
        &mut self,
        work: &StepKind,
    ) -> Result<Option<StepKind>, StepResult> {
        let action = match work {
            StepKind::Deferred(action) => Some(action),
            StepKind::Composite(action) if self.is_another(&action.location, &action.directory) => {
                action.again.as_ref()
            }
            StepKind::Node(action) if self.is_another(&action.location, &action.directory) => {
                action.again.as_ref()
            }
            _ => None,
        };
        match action {
            Some(action) => self.plan_deferred(action).await.map(Some),
            None => Ok(None),
        }
    }

    /// The original of a native action, which the image of the machine could not do: from the store
    /// of actions.
    pub(super) async fn original(
        &mut self,
        action: &DeferredAction,
        absent: StepResult,
    ) -> Result<StepKind, StepResult> {
        let why = absent.reason.clone().unwrap_or_default();
        match self.plan_deferred(action).await {
            Ok(work) => {
                let text = format!("{why}: the original of {} does it", action.uses);
                self.log.info(self.current.number, &text).await;
                Ok(work)
            }
            Err(result) if result.end == StepEnd::Lost => Err(result),
            Err(result) => {
                let reason = result.reason.unwrap_or_default();
                let reason = format!("{why}; the original would do it, but {reason}");
                Err(StepResult::error(reason))
            }
        }
    }

    /// What the action does, as it lies in the workspace now; actions of the store that it uses are
    /// put into the machine.
    async fn plan_deferred(&mut self, action: &DeferredAction) -> Result<StepKind, StepResult> {
        let round = self.counters.next_deferred();
        let mut known = WorkspaceFiles::new();
        for _ in 0..MAX_ROUNDS {
            let (planned, asked) = self.plan_by(action, &known, round).await?;
            if !asked.is_empty() {
                for path in asked {
                    let bytes = self.workspace_file(&path).await;
                    known.insert(path, bytes);
                }
                continue;
            }
            let PlannedAction { work, notes, token } = planned.map_err(StepResult::error)?;
            if let Some(reason) = token
                && !self.has_token()
            {
                return Err(StepResult::error(reason));
            }
            for note in notes {
                self.log
                    .line(self.current.number, LineKind::Warning, &note)
                    .await;
            }
            self.put_actions_of(&work)
                .await
                .map_err(StepResult::error)?;
            return Ok(work);
        }
        Err(StepResult::error("actions use each other too deep"))
    }

    /// A plan by what is known of the workspace, and which files it asked for beyond that.
    async fn plan_by(
        &self,
        action: &DeferredAction,
        known: &WorkspaceFiles,
        round: usize,
    ) -> Result<(Result<PlannedAction, String>, BTreeSet<String>), StepResult> {
        let (store, contexts) = (
            self.request.stores.actions.clone(),
            self.request.contexts.clone(),
        );
        let event = Arc::clone(&self.request.event);
        let (action, known) = (action.clone(), known.clone());
        let planning = tokio::task::spawn_blocking(move || {
            let asked = RefCell::new(BTreeSet::new());
            let files = |path: &str| {
                let file = known.get(path).cloned();
                file.unwrap_or_else(|| {
                    asked.borrow_mut().insert(path.to_owned());
                    None
                })
            };
            let input = PlanInput {
                contexts: &contexts,
                files: &files,
                actions: &store.stored_for(&event.repository, event.untrusted),
            };
            let planned = plan_deferred(&action, input, round);
            (planned, asked.into_inner())
        });
        planning
            .await
            .map_err(|error| StepResult::error(error.to_string()))
    }

    /// A small file of the workspace; nothing where there is none.
    async fn workspace_file(&self, path: &str) -> Option<Vec<u8>> {
        let workspace = &self.folders.workspace;
        let (folder, path) = match path.strip_prefix("../") {
            Some(beside) => (workspace.rsplit_once('/')?.0, beside),
            None => (workspace.as_str(), path),
        };
        // A machine that is gone fails the step's own process.
        let files = self.fetch_small(&format!("{folder}/{path}")).await.ok()?;
        files.into_iter().next().map(|(_, bytes)| bytes)
    }
}
