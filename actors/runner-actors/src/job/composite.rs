//! Composite actions of the repository: steps with inputs, steps and failures of their own.

use std::sync::Arc;

use runner_core::context::WORKSPACE;
use runner_core::expr::{Context, Object, Scope, Value};
use runner_core::plan::Composite;
use runner_core::state::{Conclusion, StepEnd};

use super::steps::{Frame, Runner, StepResult, set};

impl Runner<'_> {
    pub(super) async fn composite(
        &mut self,
        action: &Composite,
        outer: &Frame,
        scope: &Scope<'_>,
        own: Vec<(String, String)>,
        depth: usize,
    ) -> StepResult {
        let mut inputs = Object::default();
        for (name, value) in &action.inputs {
            let text = match value.as_ref().map(|value| value.text(scope)).transpose() {
                Ok(text) => text.unwrap_or_default(),
                Err(error) => return StepResult::error(format!("input {name}: {error}")),
            };
            inputs.set(name, Value::text(text));
        }
        let path = format!("{WORKSPACE}/{}", action.folder.trim_start_matches("./"));
        let mut contexts = outer.contexts.clone();
        contexts.set(Context::Inputs, Value::Object(Arc::new(inputs)));
        if let Value::Object(github) = contexts.get(Context::Github).clone() {
            let mut github = (*github).clone();
            github.set("action_path", Value::text(&path));
            contexts.set(Context::Github, Value::Object(Arc::new(github)));
        }
        let mut env = outer.env.clone();
        own.into_iter().for_each(|pair| set(&mut env, pair));
        let mut frame = Frame {
            contexts,
            steps: Object::default(),
            env,
            failed: false,
            action_path: Some(path),
        };
        let mut last = StepResult::success(Vec::new());
        for step in &action.steps {
            let result = self.step(step, &mut frame, depth + 1).await;
            let is_lost = result.end == StepEnd::Lost;
            if is_lost
                || (frame.failed
                    && last.reason.is_none()
                    && result.end.outcome() == Conclusion::Failure)
            {
                last = result;
            }
            if is_lost {
                return last;
            }
        }
        let contexts = self.contexts(&frame, &[]);
        let scope = Scope::new(&contexts);
        let outputs = action
            .outputs
            .iter()
            .map(|(name, value)| (name.clone(), value.text(&scope).unwrap_or_default()));
        let outputs = outputs.collect();
        if frame.failed {
            StepResult { outputs, ..last }
        } else {
            StepResult::success(outputs)
        }
    }
}
