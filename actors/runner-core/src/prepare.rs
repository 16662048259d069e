//! A step at the moment it starts: its expressions evaluated, its environment laid together.

use std::sync::Arc;

use crate::expr::{
    ContextName, Contexts, DataKey, EvalError, ExprScope, ExprTemplate, ExprValue, HashFiles,
    IfCondition, Object,
};
use crate::plan::{PlannedStep, StepKind};
use crate::shell::{self, ShellCommand, ShellError};
use crate::workflow::Env;

/// Why a step cannot start: it fails with that reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepPrepareError {
    /// An expression has no value.
    #[error("{what}: {error}")]
    Eval {
        /// Of what.
        what: &'static str,
        /// Why.
        error: EvalError,
    },
    /// The shell cannot be used.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// `env` is an expression that gives no object.
    #[error("env gives no object")]
    Env,
}

fn eval(what: &'static str) -> impl FnOnce(EvalError) -> StepPrepareError {
    move |error| StepPrepareError::Eval { what, error }
}

/// A script that is ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedRun {
    /// The script, its expressions replaced.
    pub script: String,
    /// The shell.
    pub shell: ShellCommand,
    /// The directory, relative to the workspace; empty is the workspace.
    pub working_directory: String,
}

/// Names and values of an `env`, in order.
///
/// # Errors
/// When an expression has no value.
pub fn env_values(
    env: &Env,
    scope: &ExprScope<'_>,
) -> Result<Vec<(String, String)>, StepPrepareError> {
    match env {
        Env::Map(entries) => {
            let mut all = Vec::with_capacity(entries.len());
            for (name, value) in entries {
                match name {
                    DataKey::Insert => all.extend(entries_of(value, scope)?),
                    DataKey::Text(name) => {
                        let name = name.text(scope).map_err(eval("env"))?;
                        all.push((name, value.text(scope).map_err(eval("env"))?));
                    }
                }
            }
            Ok(all)
        }
        Env::Expr(template) => entries_of(template, scope),
    }
}

/// The variables of an expression that gives an object.
fn entries_of(
    template: &ExprTemplate,
    scope: &ExprScope<'_>,
) -> Result<Vec<(String, String)>, StepPrepareError> {
    match template.value(scope).map_err(eval("env"))? {
        ExprValue::Object(object) => Ok(object
            .iter()
            .map(|(name, value)| (name.to_owned(), value.as_text().to_string()))
            .collect()),
        ExprValue::Null => Ok(Vec::new()),
        _ => Err(StepPrepareError::Env),
    }
}

/// Contexts with more variables in `env`: later ones win.
#[must_use]
pub fn with_env(contexts: &Contexts, more: &[(String, String)]) -> Contexts {
    let mut env = match contexts.get(ContextName::Env) {
        ExprValue::Object(object) => (**object).clone(),
        _ => Object::default(),
    };
    more.iter()
        .for_each(|(name, value)| env.set(name, ExprValue::text(value)));
    contexts
        .clone()
        .with(ContextName::Env, ExprValue::Object(Arc::new(env)))
}

/// Whether a step runs: its `if`, else whether nothing failed before it.
///
/// # Errors
/// When the condition has no value.
pub fn runs(
    step: &PlannedStep,
    contexts: &Contexts,
    hash_files: Option<HashFiles<'_>>,
) -> Result<bool, StepPrepareError> {
    let scope = ExprScope {
        contexts,
        hash_files,
    };
    IfCondition::holds_or_success(step.condition.as_ref(), &scope).map_err(eval("if"))
}

/// Whether `continue-on-error` forgives a failure.
///
/// # Errors
/// When it has no value, or one that is neither true nor false: a text is none of them on GitHub
/// either, but where the file says so itself.
pub fn is_forgiven(template: &ExprTemplate, scope: &ExprScope<'_>) -> Result<bool, EvalError> {
    let what = "continue-on-error";
    match template.fixed() {
        Some(_) => template.bool(what, scope),
        None => template.strict_bool(what, scope),
    }
}

/// Makes a script ready. `contexts` holds the step's own `env` already (see [`with_env`]);
/// `defaults` are the shell and directory of the job and workflow, `usual_shell` is for those that
/// name none, where it is not the usual one of machines.
///
/// # Errors
/// When an expression has no value, or the shell is not known.
pub fn run(
    script: &ExprTemplate,
    shell: Option<&ExprTemplate>,
    working_directory: Option<&ExprTemplate>,
    defaults: (Option<&ExprTemplate>, Option<&ExprTemplate>),
    usual_shell: Option<&str>,
    scope: &ExprScope<'_>,
) -> Result<PreparedRun, StepPrepareError> {
    let text = |what, template: Option<&ExprTemplate>| {
        template
            .map(|template| template.text(scope))
            .transpose()
            .map_err(eval(what))
    };
    let shell = text("shell", shell.or(defaults.0))?;
    let directory = text("working-directory", working_directory.or(defaults.1))?;
    let script = script.text(scope).map_err(eval("run"))?;
    let shell = shell::resolve(shell.as_deref().or(usual_shell))?;
    Ok(PreparedRun {
        script: shell.framed(script),
        shell,
        working_directory: directory.unwrap_or_default(),
    })
}

/// The inputs of an action as texts.
///
/// # Errors
/// When an expression has no value.
pub fn inputs(
    with: &[(String, ExprTemplate)],
    scope: &ExprScope<'_>,
) -> Result<Vec<(String, String)>, StepPrepareError> {
    with.iter()
        .map(|(name, value)| Ok((name.clone(), value.text(scope).map_err(eval("with"))?)))
        .collect()
}

/// The name a step is shown by: its own, else what it does.
pub fn name(step: &PlannedStep, scope: &ExprScope<'_>) -> String {
    if let Some(name) = &step.name {
        return name.text(scope).unwrap_or_else(|_| name.source.to_string());
    }
    default_name(step)
}

/// What a step without a name is called: `Run` and its first line, or its action.
pub fn default_name(step: &PlannedStep) -> String {
    let first_line = |text: &str| {
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned()
    };
    match &step.work {
        StepKind::Run { script, .. } => format!("Run {}", first_line(&script.source)),
        StepKind::Native { uses, .. } | StepKind::Refused { uses } => format!("Run {uses}"),
        StepKind::Composite(action) => format!("Run {}", action.uses),
        StepKind::Node(action) => format!("Run {}", action.uses),
        StepKind::Docker(action) => format!("Run {}", action.uses),
        StepKind::Deferred(action) => format!("Run {}", action.uses),
        StepKind::Wait(_) => "Wait for steps in the background".to_owned(),
        StepKind::WaitAll => "Wait for all steps in the background".to_owned(),
        StepKind::Cancel(_) => "Cancel a step in the background".to_owned(),
    }
}

/// The entry of `steps` for a step that has ended.
pub fn step_result(
    outcome: crate::state::Conclusion,
    conclusion: crate::state::Conclusion,
    outputs: &[(String, String)],
) -> ExprValue {
    ExprValue::object([
        ("outcome", outcome.as_str().into()),
        ("conclusion", conclusion.as_str().into()),
        ("outputs", outputs_by_name(outputs)),
    ])
}

/// Outputs, whose names ignore case: of two that differ in nothing else the last one counts.
fn outputs_by_name(outputs: &[(String, String)]) -> ExprValue {
    let mut last: Vec<(&str, &str)> = Vec::new();
    for (name, value) in outputs {
        match last
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, known)) => *known = value,
            None => last.push((name, value)),
        }
    }
    ExprValue::object(last)
}
