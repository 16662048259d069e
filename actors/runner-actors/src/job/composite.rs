//! Composite actions: what their steps see, and what the action gives.

use std::sync::Arc;

use runner_core::env_file;
use runner_core::expr::{ContextName, Contexts, ExprScope, ExprValue, Object};
use runner_core::job_folders::JobFolders;
use runner_core::plan::{Composite, StoredLocation};
use runner_core::state::{Conclusion, StepEnd};

use super::frame::{Frame, StepResult, set};
use super::step_limit;
use super::step_runner::StepRunner;

impl StepRunner<'_> {
    /// The steps of a composite action; a lost machine ends them.
    pub(super) async fn composite(
        &mut self,
        action: &Composite,
        outer: &Frame,
        scope: &ExprScope<'_>,
        own: Vec<(String, String)>,
        depth: usize,
    ) -> StepResult {
        let mut frame = match inner_frame(action, outer, scope, (own, &self.folders)) {
            Ok(frame) => frame,
            Err(wrong) => return wrong,
        };
        let mut failure: Option<StepResult> = None;
        let mut summary = None;
        for step in &action.steps {
            if self.is_overdue() {
                failure = Some(step_limit::timed_out());
                frame.failed = true;
                break;
            }
            let mut result = Box::pin(self.step(step, &mut frame, depth + 1)).await;
            env_file::add_summary(&mut summary, result.summary.take());
            if result.end == StepEnd::Lost {
                return result;
            }
            let has_failed = frame.failed && result.end.outcome() == Conclusion::Failure;
            if has_failed && failure.as_ref().is_none_or(|first| first.reason.is_none()) {
                failure = Some(result);
            }
        }
        let contexts = self.contexts(&frame, &[]);
        StepResult {
            summary,
            ..result(action, &contexts, failure.filter(|_| frame.failed))
        }
    }
}

/// What the steps of an action see: its inputs, and variables of the step that uses it.
pub(super) fn inner_frame(
    action: &Composite,
    outer: &Frame,
    scope: &ExprScope<'_>,
    (own, folders): (Vec<(String, String)>, &JobFolders),
) -> Result<Frame, StepResult> {
    let mut inputs = Object::default();
    for (name, value) in &action.inputs {
        let text = match value.as_ref().map(|value| value.text(scope)).transpose() {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return Err(StepResult::error(format!("input {name}: {error}"))),
        };
        inputs.set(name, ExprValue::text(text));
    }
    let path = folders.to_step_path(&action.location.path(&action.directory));
    let stored = action.location.stored();
    let mut contexts = outer.contexts.clone();
    contexts.set(ContextName::Inputs, ExprValue::Object(Arc::new(inputs)));
    if let ExprValue::Object(github) = contexts.get(ContextName::Github).clone() {
        let mut github = (*github).clone();
        github.set("action_path", ExprValue::text(&path));
        let of = |part: fn(&StoredLocation) -> &String| stored.map(part).map_or("", |text| text);
        github.set("action_repository", of(|at| &at.repository).into());
        github.set("action_ref", of(|at| &at.reference).into());
        contexts.set(ContextName::Github, ExprValue::Object(Arc::new(github)));
    }
    let mut env = outer.env.clone();
    own.into_iter().for_each(|pair| set(&mut env, pair));
    Ok(Frame {
        contexts,
        steps: Object::default(),
        env,
        failed: false,
        job_failed: outer.failed || outer.job_failed,
        action_path: Some(path),
        action: stored.cloned(),
    })
}

/// The action's result after its steps: its outputs, and the first failure.
pub(super) fn result(
    action: &Composite,
    contexts: &Contexts,
    failure: Option<StepResult>,
) -> StepResult {
    let scope = ExprScope::new(contexts);
    let outputs = action
        .outputs
        .iter()
        .map(|(name, value)| (name.clone(), value.text(&scope).unwrap_or_default()));
    let outputs = outputs.collect();
    match failure {
        Some(failure) => StepResult { outputs, ..failure },
        None => StepResult::success(outputs),
    }
}
