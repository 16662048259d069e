//! Actions of the workspace that are planned when their step runs: another repository that was
//! checked out, or what a step has written.

use std::cell::Cell;

use super::input::PlanInput;
use super::native::action_name;
use super::steps::StepPlanner;
use super::types::{DeferredAction, StepKind};
use crate::actions::WithOriginal;
use crate::limits::{MAX_CALLED_BYTES, MAX_STEPS};
use crate::workflow::Need;

/// A deferred action, planned.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAction {
    /// What its step does.
    pub work: StepKind,
    /// What is different from elsewhere, or missing, and no reason to fail it.
    pub notes: Vec<String>,
    /// It asks for the forge's token: why there may be none.
    pub token: Option<String>,
}

/// Plans an action of the workspace. `files` of `input` gives what lies there now; `round` counts
/// the deferred actions of the job, from 1.
///
/// # Errors
/// Why its step fails, for people.
pub fn plan_deferred(
    action: &DeferredAction,
    input: PlanInput<'_>,
    round: usize,
) -> Result<PlannedAction, String> {
    let budget = Cell::new(MAX_CALLED_BYTES);
    let mut refusals = Vec::new();
    let original = WithOriginal {
        source: input.actions,
        name: action_name(&action.uses),
    };
    let input = match action.original {
        true => PlanInput {
            actions: &original,
            ..input
        },
        false => input,
    };
    let mut planner = StepPlanner::new(input, &budget, &action.file, &mut refusals);
    planner.dialect = action.dialect;
    planner.depth = action.depth;
    planner.is_of_machine = true;
    planner.locked.clone_from(&action.locked);
    // Each has numbers of its own for what it keeps between its stages.
    planner.first_slot = round.saturating_mul(MAX_STEPS + 1);
    let work = planner.uses(&action.uses, action.place, &action.with);
    let work = work.map_err(|error| error.to_string())?;
    let notes = planner.notes;
    let token = refusals.iter().find(|it| it.need == Need::ForgeToken);
    let token = token.map(|refusal| refusal.reason.clone());
    let wrong = refusals.iter().find(|it| it.need != Need::ForgeToken);
    match wrong {
        Some(refusal) => Err(match refusal.need {
            Need::OwnFiles => format!(
                "there is no action.yml (or action.yaml) in {} of the workspace; is a checkout missing before it?",
                action.uses
            ),
            _ => format!("{}: {}", refusal.feature, refusal.reason),
        }),
        None => Ok(PlannedAction { work, notes, token }),
    }
}
