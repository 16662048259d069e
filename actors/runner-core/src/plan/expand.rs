//! A job to its copies, once the contexts its matrix is made of are known.

use super::matrix::{Combination, named_combinations};
use super::types::{ConcurrencyGroup, InstanceEnvironment, JobInstance};
use crate::expr::{
    ContextName, Contexts, Data, EvalError, Expr, ExprScope, ExprTemplate, ExprValue,
};
use crate::truncation::truncate_name;
use crate::workflow::{Concurrency, ConcurrencyQueue, Job, JobEnvironment, JobWork, wrong_name};

/// Minutes after which a job is ended when it does not say (GitHub's default).
pub const DEFAULT_TIMEOUT_MINUTES: f64 = 360.0;

/// Longer names of copies are cut.
const MAX_NAME: usize = 100;

/// Why the copies of a job cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// An expression has no value.
    #[error("{what}: {error}")]
    Eval {
        /// Of what.
        what: &'static str,
        /// Why.
        error: EvalError,
    },
    /// The matrix is none.
    #[error("{0}")]
    Matrix(String),
    /// `runs-on` gives no labels.
    #[error("runs-on gives no label")]
    NoLabels,
    /// The environment has no usable name.
    #[error("{0}")]
    Environment(String),
    /// `max-parallel` is no number.
    #[error("max-parallel is {0}, expected a number")]
    MaxParallel(String),
}

impl ExpandError {
    fn at_field(what: &'static str) -> impl FnOnce(EvalError) -> Self {
        move |error| Self::Eval { what, error }
    }
}

/// The copies of a job. `contexts` holds github, needs, vars and inputs.
///
/// # Errors
/// When its matrix or one of its settings has no usable value: the job fails with that reason.
pub fn expand(job: &Job, contexts: &Contexts) -> Result<Vec<JobInstance>, ExpandError> {
    let scope = ExprScope::new(contexts);
    let matrix = job
        .strategy
        .as_ref()
        .and_then(|strategy| strategy.matrix.as_ref());
    let is_computed = job.strategy.as_ref().is_some_and(|it| it.is_computed);
    let value = matrix.map(|matrix| matrix.value(&scope)).transpose();
    let all = match value.map_err(ExpandError::at_field("matrix"))? {
        // A strategy whose value has no matrix.
        Some(ExprValue::Null) if is_computed => vec![no_matrix()],
        Some(value) => named_combinations(&value).map_err(ExpandError::Matrix)?,
        None => vec![no_matrix()],
    };
    let all = match all.is_empty() {
        true => vec![no_matrix()],
        false => all,
    };
    let total = all.len();
    all.into_iter()
        .enumerate()
        .map(|(index, combination)| instance(job, contexts, combination, index, total))
        .collect()
}

/// Of a job that has one copy.
fn no_matrix() -> Combination {
    Combination {
        values: ExprValue::object::<&str, ExprValue>([]),
        suffix: String::new(),
    }
}

/// Calls `visit` with every expression that a job's copies are made of.
pub(super) fn made_of<'j>(job: &'j Job, visit: &mut dyn FnMut(&'j Expr)) {
    let strategy = job.strategy.as_ref();
    if let Some(matrix) = strategy.and_then(|strategy| strategy.matrix.as_ref()) {
        matrix.expressions(visit);
    }
    if let JobWork::Steps { runs_on, .. } = &job.work {
        runs_on.expressions(visit);
    }
    let group = job.concurrency.as_ref();
    let environment = job.environment.as_ref();
    let texts = [
        job.name.as_ref(),
        environment.map(|environment| &environment.name),
        environment.and_then(|environment| environment.deployment.as_ref()),
        job.timeout_minutes.as_ref(),
        job.continue_on_error.as_ref(),
        strategy.and_then(|strategy| strategy.fail_fast.as_ref()),
        strategy.and_then(|strategy| strategy.max_parallel.as_ref()),
        group.map(|group| &group.group),
        group.and_then(|group| group.cancel_in_progress.as_ref()),
    ];
    let texts = texts.into_iter().flatten();
    texts.for_each(|text| text.expressions().for_each(&mut *visit));
}

/// What is odd about a job's copies in every run, since nothing of what they are made of depends on
/// the run: that it fails before it starts, or that all of its matrix is excluded.
pub fn odd_copies(job: &Job) -> Option<String> {
    const OF_THE_RUN: [ContextName; 4] = [
        ContextName::Github,
        ContextName::Needs,
        ContextName::Inputs,
        ContextName::Vars,
    ];
    let strategy = job.strategy.as_ref();
    let matrix = strategy.and_then(|strategy| strategy.matrix.as_ref());
    let mut depends = false;
    made_of(job, &mut |expr| {
        depends |= OF_THE_RUN.iter().any(|context| expr.refers_to(*context));
    });
    // A matrix that is one text is a template's placeholder.
    let placeholder = matches!(matrix, Some(Data::Scalar(text)) if text.fixed().is_some());
    if placeholder || depends {
        return None;
    }
    let contexts = Contexts::default();
    if let Err(error) = expand(job, &contexts) {
        return Some(format!("would fail: {error}"));
    }
    let matrix = matrix?.value(&ExprScope::new(&contexts)).ok()?;
    let all = named_combinations(&matrix).ok()?;
    all.is_empty().then(|| {
        "has one copy without a matrix: `exclude` leaves none of the combinations".to_owned()
    })
}

fn instance(
    job: &Job,
    contexts: &Contexts,
    combination: Combination,
    index: usize,
    total: usize,
) -> Result<JobInstance, ExpandError> {
    let strategy = job.strategy.as_ref();
    let outer = ExprScope::new(contexts);
    let fail_fast = strategy.and_then(|strategy| strategy.fail_fast.as_ref());
    let is_given = |text: &&ExprTemplate| !matches!(text.value(&outer), Ok(ExprValue::Null));
    let fail_fast = flag(fail_fast.filter(is_given), true, "fail-fast", &outer)?;
    let max_parallel = match strategy.and_then(|strategy| strategy.max_parallel.as_ref()) {
        Some(template) => most_at_once(template, &outer)?,
        None => None,
    };
    let mut instance = JobInstance {
        name: String::new(),
        matrix: combination.values.clone(),
        index,
        total,
        runs_on: Vec::new(),
        machine_group: None,
        fail_fast,
        max_parallel,
        timeout_minutes: DEFAULT_TIMEOUT_MINUTES,
        continue_on_error: false,
        concurrency: None,
        environment: None,
    };
    let inner = contexts
        .clone()
        .with(ContextName::Matrix, combination.values)
        .with(ContextName::Strategy, instance.strategy());
    let scope = ExprScope::new(&inner);
    instance.name = name(job, &combination.suffix, &scope)?;
    if let JobWork::Steps { runs_on, .. } = &job.work {
        let value = runs_on
            .value(&scope)
            .map_err(ExpandError::at_field("runs-on"))?;
        instance.machine_group = group(&value);
        instance.runs_on = match labels(&value) {
            Err(ExpandError::NoLabels) if instance.machine_group.is_some() => Vec::new(),
            labels => labels?,
        };
    }
    if let Some(minutes) = &job.timeout_minutes {
        instance.timeout_minutes = minutes
            .positive("timeout-minutes", &scope)
            .map_err(ExpandError::at_field("timeout-minutes"))?;
    }
    instance.continue_on_error = flag(
        job.continue_on_error.as_ref(),
        false,
        "continue-on-error",
        &scope,
    )?;
    if let Some(named) = &job.environment {
        instance.environment = environment(named, &scope)?;
    }
    if let Some(group) = &job.concurrency {
        instance.concurrency =
            Some(concurrency(group, &scope).map_err(ExpandError::at_field("concurrency"))?);
    }
    Ok(instance)
}

/// The environment that a job names; nothing where its name comes to nothing.
fn environment(
    named: &JobEnvironment,
    scope: &ExprScope<'_>,
) -> Result<Option<InstanceEnvironment>, ExpandError> {
    let name = named.name.text(scope);
    let name = name.map_err(ExpandError::at_field("environment"))?;
    let name = name.trim().to_owned();
    if name.is_empty() {
        return Ok(None);
    }
    if let Some(wrong) = wrong_name(&name) {
        return Err(ExpandError::Environment(wrong));
    }
    let deployment = flag(named.deployment.as_ref(), true, "deployment", scope)?;
    Ok(Some(InstanceEnvironment { name, deployment }))
}

/// The name as written with its values, else the id with the matrix's values behind it, cut where
/// GitHub cuts it.
fn name(job: &Job, suffix: &str, scope: &ExprScope<'_>) -> Result<String, ExpandError> {
    let stem = match &job.name {
        Some(name) if name.fixed().is_none() => {
            let name = name.text(scope).map_err(ExpandError::at_field("name"))?;
            return Ok(truncate_name(&name));
        }
        Some(name) => name.source.to_string(),
        None => job.id.to_string(),
    };
    let name = format!("{stem}{suffix}");
    if name.chars().count() <= MAX_NAME {
        return Ok(name);
    }
    let kept: String = name.chars().take(MAX_NAME - 3).collect();
    Ok(format!("{kept}..."))
}

/// The `group` of a mapping.
pub(super) fn group(value: &ExprValue) -> Option<String> {
    let group = value.get("group")?.as_text();
    let group = group.trim();
    (!group.is_empty()).then(|| group.to_owned())
}

/// The labels a `runs-on` gives.
pub(super) fn labels(value: &ExprValue) -> Result<Vec<String>, ExpandError> {
    let mut labels: Vec<String> = match value {
        ExprValue::List(values) => values
            .iter()
            .map(|value| value.as_text().to_string())
            .collect(),
        ExprValue::Object(_) => value
            .get("labels")
            .map(self::labels)
            .transpose()?
            .unwrap_or_default(),
        primitive => vec![primitive.as_text().to_string()],
    };
    labels.retain(|label| !label.trim().is_empty());
    if labels.is_empty() {
        Err(ExpandError::NoLabels)
    } else {
        Ok(labels)
    }
}

fn flag(
    template: Option<&ExprTemplate>,
    default: bool,
    what: &'static str,
    scope: &ExprScope<'_>,
) -> Result<bool, ExpandError> {
    let value = template
        .map(|template| template.bool(what, scope))
        .transpose();
    Ok(value
        .map_err(ExpandError::at_field(what))?
        .unwrap_or(default))
}

/// How many copies run at once: without its fraction, and no limit below 1, as on GitHub.
fn most_at_once(
    template: &ExprTemplate,
    scope: &ExprScope<'_>,
) -> Result<Option<usize>, ExpandError> {
    let value = template
        .value(scope)
        .map_err(ExpandError::at_field("max-parallel"))?;
    let number = value.number();
    if !number.is_finite() {
        let shown = config_core::quoted(&value.as_text());
        return Err(ExpandError::MaxParallel(shown));
    }
    // Checked: no fraction, positive, small.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let most = number.trunc().clamp(0.0, 1e6) as usize;
    Ok((most > 0).then_some(most))
}

/// A concurrency group with its expressions evaluated.
///
/// # Errors
/// When an expression has no value.
pub fn concurrency(
    concurrency: &Concurrency,
    scope: &ExprScope<'_>,
) -> Result<ConcurrencyGroup, EvalError> {
    let cancel = concurrency.cancel_in_progress.as_ref();
    let queue = concurrency.queue;
    Ok(ConcurrencyGroup {
        queue,
        name: concurrency.group.text(scope)?,
        cancel_in_progress: cancel.map_or(Ok(false), |template| {
            template.bool("cancel-in-progress", scope)
        })?
            // Both are a mistake where they are written; a value that comes to it ends nothing.
            && queue == ConcurrencyQueue::Single,
    })
}
