//! What `hashFiles` of a step asks for, before the step is evaluated: the files lie in the machine.

use std::collections::BTreeSet;

use crate::expr::{Contexts, DataKey, Expr, ExprScope, ExprTemplate, Function};
use crate::plan::{PlannedStep, StepKind};
use crate::workflow::Env;

/// The patterns of each `hashFiles` in a step; one whose patterns have no value yet is left out.
#[must_use]
pub fn hashed_patterns(step: &PlannedStep, contexts: &Contexts) -> BTreeSet<Vec<String>> {
    let scope = ExprScope::new(contexts);
    let mut found = BTreeSet::new();
    let mut look = |expr: &Expr| {
        if let Expr::Call(Function::HashFiles, arguments) = expr {
            let patterns = arguments.iter().map(|argument| argument.eval(&scope));
            let patterns = patterns.map(|value| Ok(value?.as_text().to_string()));
            found.extend(patterns.collect::<Result<Vec<_>, crate::expr::EvalError>>());
        }
    };
    if let Some(condition) = &step.condition {
        condition.expr().walk(&mut look);
    }
    for template in templates(step) {
        for expr in template.expressions() {
            expr.walk(&mut look);
        }
    }
    found
}

/// Every text of a step that is evaluated when it runs.
fn templates(step: &PlannedStep) -> Vec<&ExprTemplate> {
    let mut all: Vec<&ExprTemplate> = Vec::new();
    match &step.env {
        Env::Map(pairs) => {
            for (name, value) in pairs {
                all.extend(match name {
                    DataKey::Text(name) => Some(name),
                    DataKey::Insert => None,
                });
                all.push(value);
            }
        }
        Env::Expr(template) => all.push(template),
    }
    all.extend(&step.continue_on_error);
    all.extend(&step.timeout_minutes);
    match &step.work {
        StepKind::Run {
            script,
            shell,
            working_directory,
        } => {
            all.push(script);
            all.extend(shell);
            all.extend(working_directory);
        }
        StepKind::Native { with, .. } => all.extend(with.iter().map(|(_, value)| value)),
        StepKind::Composite(action) => all.extend(input_values(&action.inputs)),
        StepKind::Node(action) => all.extend(input_values(&action.inputs)),
        StepKind::Docker(action) => all.extend(input_values(&action.inputs)),
        StepKind::Deferred(action) => all.extend(action.with.iter().map(|(_, value)| value)),
        _ => {}
    }
    all
}

fn input_values(inputs: &[(String, Option<ExprTemplate>)]) -> impl Iterator<Item = &ExprTemplate> {
    inputs.iter().filter_map(|(_, value)| value.as_ref())
}
