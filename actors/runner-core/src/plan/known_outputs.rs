//! References to outputs that an action or a called workflow does not declare: they are always
//! empty.

use config_core::quoted;

use super::types::PlanFinding;
use crate::expr::{Chain, ContextName, Data, Expr, ExprTemplate};
use crate::source_location::SourceLocation;
use crate::workflow::{Env, Job, JobWork, Step, StepWork};

/// Declared outputs of steps, or of jobs that call workflows, by id.
#[derive(Debug, Default)]
pub(super) struct KnownOutputs {
    /// Of jobs, by `needs`; else of steps.
    of_needs: bool,
    /// The id in small letters, what it uses, and its outputs.
    known: Vec<(String, String, Vec<String>)>,
}

impl KnownOutputs {
    /// Of jobs that are needed.
    pub(super) fn of_needs() -> Self {
        Self {
            of_needs: true,
            known: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, id: &str, uses: &str, outputs: Vec<String>) {
        self.known
            .push((id.to_lowercase(), uses.to_owned(), outputs));
    }

    /// What the job's expressions ask for and is not declared.
    pub(super) fn missing(&self, job: &Job, file: &str) -> Vec<PlanFinding> {
        let mut found = Vec::new();
        if self.known.is_empty() {
            return found;
        }
        each_expression(job, &mut |place, expr| {
            expr.chains(&mut |chain| {
                if let Some((message, help)) = self.why_missing(chain) {
                    found.push(PlanFinding {
                        file: file.to_owned(),
                        place,
                        message,
                        help,
                    });
                }
            });
        });
        found
    }

    fn why_missing(&self, chain: &Chain<'_>) -> Option<(String, String)> {
        let context = if self.of_needs {
            ContextName::Needs
        } else {
            ContextName::Steps
        };
        let is_output = chain.name(1)?.eq_ignore_ascii_case("outputs");
        if chain.context != context || !is_output {
            return None;
        }
        let id = chain.name(0)?.to_lowercase();
        let (_, uses, outputs) = self.known.iter().find(|(known, ..)| *known == id)?;
        let name = chain.name(2)?;
        if outputs
            .iter()
            .any(|output| output.eq_ignore_ascii_case(name))
        {
            return None;
        }
        let help = match outputs.as_slice() {
            [] => "it has none: this is always empty".to_owned(),
            outputs => format!("there are: {}", outputs.join(", ")),
        };
        Some((format!("{uses} has no output {}", quoted(name)), help))
    }
}

type Visit<'v> = &'v mut dyn FnMut(SourceLocation, &Expr);

fn each_expression(job: &Job, visit: Visit<'_>) {
    templates([job.name.as_ref()], visit);
    if let Some(condition) = &job.condition {
        visit(condition.place, condition.expr());
    }
    env(&job.env, visit);
    if let Some(matrix) = job.strategy.as_ref().and_then(|it| it.matrix.as_ref()) {
        data(matrix, visit);
    }
    match &job.work {
        JobWork::Steps { runs_on, steps } => {
            data(runs_on, visit);
            steps.iter().for_each(|step| of_step(step, visit));
        }
        JobWork::Call { with, .. } => templates(with.iter().map(|(_, value)| Some(value)), visit),
    }
    templates(job.outputs.iter().map(|(_, value)| Some(value)), visit);
}

fn of_step(step: &Step, visit: Visit<'_>) {
    templates([step.name.as_ref()], visit);
    if let Some(condition) = &step.condition {
        visit(condition.place, condition.expr());
    }
    env(&step.env, visit);
    match &step.work {
        StepWork::Run {
            script,
            working_directory,
            ..
        } => templates([Some(script), working_directory.as_ref()], visit),
        StepWork::Uses { with, .. } => templates(with.iter().map(|(_, value)| Some(value)), visit),
        StepWork::Wait(_) | StepWork::Cancel(_) => {}
    }
}

fn templates<'t>(all: impl IntoIterator<Item = Option<&'t ExprTemplate>>, visit: Visit<'_>) {
    for template in all.into_iter().flatten() {
        template
            .expressions()
            .for_each(|expr| visit(template.place, expr));
    }
}

fn env(env: &Env, visit: Visit<'_>) {
    match env {
        Env::Map(entries) => templates(entries.iter().map(|(_, value)| Some(value)), visit),
        Env::Expr(template) => templates([Some(template)], visit),
    }
}

fn data(value: &Data, visit: Visit<'_>) {
    match value {
        Data::Scalar(template) => templates([Some(template)], visit),
        Data::List(values) => values.iter().for_each(|value| data(value, visit)),
        Data::Map(entries) => entries.iter().for_each(|(_, value)| data(value, visit)),
        Data::Computed(entries) => entries.iter().for_each(|(_, value)| data(value, visit)),
    }
}
