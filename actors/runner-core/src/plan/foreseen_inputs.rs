//! The inputs of a workflow, as far as they are known before a run: what a caller gives as a
//! constant, and the defaults.

use std::sync::Arc;

use super::types::{CalledWorkflow, Instances, PlannedJob, PlannedWork};
use super::workflow_inputs::typed;
use crate::expr::{ContextName, Contexts, Expr, ExprScope, ExprTemplate, ExprValue, Object};
use crate::workflow::{InputSpec, Workflow};

/// How sure a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    /// Whoever starts the run may choose another.
    Likely,
    /// It is this in every run.
    Sure,
}

/// Inputs with their values; those that are not known are absent.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownInputs {
    known: Vec<(String, ExprValue, Confidence)>,
    /// Whether it has others.
    has_more: bool,
}

impl KnownInputs {
    /// Those of a workflow that nothing in the plan calls: their defaults are likely.
    pub(super) fn by_default(workflow: &Workflow, contexts: &Contexts) -> Self {
        let on = &workflow.on;
        let call = on.workflow_call.iter().flat_map(|call| &call.inputs);
        let mut inputs = Self::default();
        for spec in call.chain(on.workflow_dispatch.iter().flatten()) {
            if inputs.find(&spec.name).is_some() {
                continue;
            }
            let default = inputs.default_of(spec, contexts);
            match default.filter(|_| !spec.required || spec.default.is_some()) {
                Some((value, _)) => inputs.add(&spec.name, value, Confidence::Likely),
                None => inputs.has_more = true,
            }
        }
        inputs
    }

    /// Those that a job gives the workflow that it calls; `outer` are those of its own workflow.
    pub(super) fn of_call(
        called: &CalledWorkflow,
        caller: &PlannedJob,
        outer: &Self,
        contexts: &Contexts,
    ) -> Self {
        let mut contexts = contexts.clone().with(ContextName::Inputs, outer.values());
        let mut own: &[ContextName] = &[];
        if let Instances::Known(copies) = &caller.instances
            && let Some(copy) = copies.get(called.copy)
        {
            contexts.set(ContextName::Matrix, copy.matrix.clone());
            own = &[ContextName::Matrix];
        }
        let PlannedWork::Call { with, .. } = &caller.work else {
            return Self::default();
        };
        let given_as = |template: &ExprTemplate| {
            let expressions = template.expressions().map(|expr| outer.sureness(expr, own));
            let sureness = expressions.min().unwrap_or(Some(Confidence::Sure))?;
            let value = template.value(&ExprScope::new(&contexts)).ok()?;
            Some((value, sureness))
        };
        let mut inputs = Self::default();
        let call = called.workflow.on.workflow_call.iter();
        for spec in call.flat_map(|call| &call.inputs) {
            let mut given = with.iter();
            let given = given.find(|(name, _)| name.eq_ignore_ascii_case(&spec.name));
            let found = match given {
                Some((_, template)) => given_as(template).and_then(|(value, sureness)| {
                    let value = typed(Some(value), &spec.kind, &spec.name).ok()?;
                    Some((value, sureness))
                }),
                None => inputs.default_of(spec, &contexts),
            };
            match found {
                Some((value, sureness)) => inputs.add(&spec.name, value, sureness),
                None => inputs.has_more = true,
            }
        }
        inputs
    }

    /// The same without what is only likely.
    pub(super) fn sure_ones(&self) -> Self {
        let known = self.known.iter().cloned();
        let known: Vec<_> = known.filter(|(_, _, it)| *it == Confidence::Sure).collect();
        Self {
            has_more: self.has_more || known.len() < self.known.len(),
            known,
        }
    }

    /// The context `inputs`.
    pub(super) fn values(&self) -> ExprValue {
        let mut object = Object::default();
        for (name, value, _) in &self.known {
            object.set(name, value.clone());
        }
        ExprValue::Object(Arc::new(object))
    }

    /// How sure the value of an expression is that refers to nothing but inputs, the event, and
    /// contexts that the caller has; `None` where it is not known.
    pub(super) fn sureness(&self, expr: &Expr, others: &[ContextName]) -> Option<Confidence> {
        let mut sureness = Some(Confidence::Sure);
        expr.chains(&mut |chain| {
            let found = match chain.context {
                ContextName::Inputs => match chain.name(0) {
                    Some(name) => self.find(name),
                    None if self.has_more => None,
                    None => self.known.iter().map(|(_, _, it)| *it).min(),
                },
                // Of the example, a push to `main`.
                ContextName::Github => Some(Confidence::Likely),
                context => others.contains(&context).then_some(Confidence::Sure),
            };
            sureness = sureness.and_then(|before| Some(before.min(found?)));
        });
        sureness
    }

    fn find(&self, name: &str) -> Option<Confidence> {
        let mut known = self.known.iter();
        let found = known.find(|(known, ..)| known.eq_ignore_ascii_case(name));
        found.map(|(_, _, sureness)| *sureness)
    }

    fn add(&mut self, name: &str, value: ExprValue, sureness: Confidence) {
        self.known.push((name.to_owned(), value, sureness));
    }

    /// What an input is that nobody gives.
    fn default_of(&self, spec: &InputSpec, contexts: &Contexts) -> Option<(ExprValue, Confidence)> {
        let Some(template) = &spec.default else {
            let value = typed(None, &spec.kind, &spec.name).ok()?;
            return Some((value, Confidence::Sure));
        };
        let expressions = template.expressions().map(|expr| self.sureness(expr, &[]));
        let sureness = expressions.min().unwrap_or(Some(Confidence::Sure))?;
        let contexts = contexts.clone().with(ContextName::Inputs, self.values());
        let value = template.value(&ExprScope::new(&contexts)).ok()?;
        let value = typed(Some(value), &spec.kind, &spec.name).ok()?;
        Some((value, sureness))
    }
}
