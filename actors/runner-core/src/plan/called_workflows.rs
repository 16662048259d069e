//! Called workflows of a run: entered with inputs and secrets, left with outputs.

use std::sync::Arc;

use super::plan_state::{PlanState, conclusion_of};
use super::types::PlannedJob;
use super::workflow_inputs::typed;
use crate::context::input_default;
use crate::expr::{ContextName, Contexts, ExprScope, ExprValue, Object, StatusFlags};
use crate::job_outputs::{JobOutputs, OutputsError};
use crate::limits::MAX_RUN_OUTPUTS_BYTES;
use crate::state::Conclusion;
use crate::workflow::CallSecrets;

impl PlanState {
    /// Gives a called workflow its inputs and secrets: `contexts` are those of the copy that calls.
    pub(super) fn start_called_workflow(
        &mut self,
        workflow: usize,
        with: &[(String, crate::expr::ExprTemplate)],
        secrets: &CallSecrets,
        contexts: &Contexts,
    ) -> Result<(), String> {
        let scope = ExprScope::new(contexts);
        let plan = self.plan.clone();
        let call = plan.workflows[workflow]
            .workflow
            .on
            .workflow_call
            .clone()
            .unwrap_or_default();
        let mut inputs = Object::default();
        for spec in &call.inputs {
            let given = with
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&spec.name))
                .map(|(_, value)| value);
            let value = match (given, &spec.default) {
                (Some(given), _) => Some(given.value(&scope).map_err(|error| error.to_string())),
                (None, Some(default)) => Some(input_default(default, &inputs, contexts)),
                (None, None) => None,
            };
            let value = value.transpose().map_err(|error| {
                format!("the input {}: {error}", config_core::quoted(&spec.name))
            })?;
            inputs.set(&spec.name, typed(value, &spec.kind, &spec.name)?);
        }
        let secrets = match secrets {
            CallSecrets::Inherit => contexts.get(ContextName::Secrets).clone(),
            CallSecrets::Only(given) => {
                let mut object = Object::default();
                for (name, template) in given {
                    let value = template.value(&scope).map_err(|error| {
                        format!("the secret {}: {error}", config_core::quoted(name))
                    })?;
                    object.set(name, value);
                }
                ExprValue::Object(Arc::new(object))
            }
        };
        self.entered[workflow] = Some((ExprValue::Object(Arc::new(inputs)), secrets));
        Ok(())
    }

    /// How a called workflow ended and what `jobs` is for its outputs, once every job of it has
    /// ended.
    pub(super) fn ended_workflow(&self, workflow: usize) -> Option<(Conclusion, ExprValue)> {
        let mut all = Vec::new();
        let mut jobs = Object::default();
        for at in self.jobs_of(workflow) {
            let conclusion = conclusion_of(&self.jobs[at])?;
            all.push(conclusion);
            jobs.set(self.plan.jobs[at].id(), self.result_of(at, conclusion));
        }
        Some((Conclusion::of_all(all), ExprValue::Object(Arc::new(jobs))))
    }

    /// Hands the outputs of a called workflow to the job that calls it. Of a matrix the last one
    /// that says something counts.
    pub(super) fn finish_called_workflow(
        &mut self,
        caller: usize,
        workflow: usize,
        jobs: ExprValue,
    ) -> Result<(), String> {
        let plan = self.plan.clone();
        let mut contexts = self.contexts_of(&plan.jobs[caller]);
        if let Some((inputs, _)) = &self.entered[workflow] {
            contexts.set(ContextName::Inputs, inputs.clone());
        }
        contexts.set(ContextName::Jobs, jobs);
        let call = plan.workflows[workflow].workflow.on.workflow_call.as_ref();
        let mut outputs = JobOutputs::default();
        for (name, template) in call.iter().flat_map(|call| &call.outputs) {
            let value = template.text(&ExprScope::new(&contexts));
            let value = value.map_err(|error| format!("the output {name}: {error}"))?;
            outputs
                .take(name, value)
                .map_err(|error| error.to_string())?;
        }
        self.called_outputs += outputs.bytes();
        if self.called_outputs > MAX_RUN_OUTPUTS_BYTES {
            return Err(OutputsError::OfRun.to_string());
        }
        for (name, value) in outputs.into_pairs() {
            if !value.is_empty() || self.outputs[caller].get(&name).is_none() {
                self.outputs[caller].set(&name, ExprValue::text(value));
            }
        }
        Ok(())
    }

    /// What a job's expressions see before it starts: its workflow's inputs and secrets, `needs`,
    /// and how it went so far.
    pub fn contexts_of(&self, job: &PlannedJob) -> Contexts {
        let mut contexts = self.base.clone();
        if let Some((inputs, secrets)) = &self.entered[job.workflow] {
            contexts.set(ContextName::Inputs, inputs.clone());
            contexts.set(ContextName::Secrets, secrets.clone());
        }
        let mut needs = Object::default();
        for need in self.needed(job) {
            if let Some(conclusion) = conclusion_of(&self.jobs[need]) {
                needs.set(self.plan.jobs[need].id(), self.result_of(need, conclusion));
            }
        }
        contexts.set(ContextName::Needs, ExprValue::Object(Arc::new(needs)));
        contexts.set_status(self.status_before(job));
        contexts
    }

    /// Over all jobs it needs, directly or not: one that failed or was skipped counts for the whole
    /// chain.
    fn status_before(&self, job: &PlannedJob) -> StatusFlags {
        if self.cancelled {
            return StatusFlags::CANCELLED;
        }
        let mut seen = vec![false; self.jobs.len()];
        let mut left: Vec<usize> = self.needed(job).collect();
        let mut status = StatusFlags::SUCCESS;
        while let Some(need) = left.pop() {
            if std::mem::replace(&mut seen[need], true) {
                continue;
            }
            match conclusion_of(&self.jobs[need]) {
                Some(Conclusion::Failure) => status.failure = true,
                Some(Conclusion::Success) | None => {}
                Some(Conclusion::Cancelled | Conclusion::Skipped) => status.success = false,
            }
            left.extend(self.needed(&self.plan.jobs[need]));
        }
        status.success &= !status.failure;
        status
    }
}
