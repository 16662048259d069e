//! Every place of a workflow at which expressions stand, with what is known there.

use super::reader::WorkflowReader;
use super::types::{Concurrency, Env, Job, JobWork, RunDefaults, Step, StepWork, Workflow};
use crate::expr::{Data, DataKey, Expr, ExprTemplate, IfCondition};
use crate::source_location::SourceLocation;

/// What a place makes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedKind {
    /// A text: lists and objects lose what they hold.
    Text,
    /// Names and values.
    Object,
    /// Whatever it is, it keeps its kind.
    Any,
}

/// A text with expressions.
pub(super) struct ExpressionSite<'w> {
    /// As written.
    pub(super) source: &'w str,
    /// Where.
    pub(super) place: SourceLocation,
    /// Its expressions.
    pub(super) expressions: Vec<&'w Expr>,
    /// Whether it is nothing but one expression.
    pub(super) alone: bool,
    /// What is made of its value.
    pub(super) expected: ExpectedKind,
    /// The job it stands in.
    pub(super) job: Option<&'w Job>,
    /// The steps of that job that have ended by then.
    pub(super) before: &'w [Step],
}

/// Goes through a workflow; the path in messages is that of the place.
pub(super) struct SiteVisitor<'r, 'a, 'w> {
    reader: &'r WorkflowReader<'a>,
    visit: &'r mut dyn FnMut(&ExpressionSite<'w>),
    job: Option<&'w Job>,
    before: &'w [Step],
}

impl<'r, 'a, 'w> SiteVisitor<'r, 'a, 'w> {
    /// Calls `visit` for every place.
    pub(super) fn workflow(
        reader: &'r WorkflowReader<'a>,
        workflow: &'w Workflow,
        visit: &'r mut dyn FnMut(&ExpressionSite<'w>),
    ) {
        let mut visitor = Self {
            reader,
            visit,
            job: None,
            before: &[],
        };
        visitor.texts([workflow.run_name.as_ref()]);
        visitor.env(&workflow.env);
        visitor.defaults(&workflow.defaults);
        visitor.concurrency(workflow.concurrency.as_ref());
        if let Some(call) = &workflow.on.workflow_call {
            call.outputs
                .iter()
                .for_each(|(_, value)| visitor.text(value));
            let defaults = call
                .inputs
                .iter()
                .filter_map(|input| input.default.as_ref());
            defaults.for_each(|default| visitor.template(default, ExpectedKind::Any));
        }
        for job in &workflow.jobs {
            visitor.job = Some(job);
            reader.at_key("jobs", || reader.at_key(&job.id, || visitor.of_job(job)));
            visitor.before = &[];
        }
    }

    fn of_job(&mut self, job: &'w Job) {
        self.texts([job.name.as_ref()]);
        self.condition(job.condition.as_ref());
        if let Some(strategy) = &job.strategy {
            if let Some(matrix) = &strategy.matrix {
                self.data(matrix);
            }
            // Of one expression all of it has been seen.
            if !strategy.is_computed {
                self.settings([&strategy.fail_fast, &strategy.max_parallel]);
            }
        }
        self.env(&job.env);
        self.defaults(&job.defaults);
        self.concurrency(job.concurrency.as_ref());
        if let Some(environment) = &job.environment {
            self.text(&environment.name);
            self.settings([&environment.deployment]);
        }
        self.settings([&job.continue_on_error, &job.timeout_minutes]);
        match &job.work {
            JobWork::Call { with, secrets, .. } => {
                with.iter()
                    .for_each(|(_, value)| self.template(value, ExpectedKind::Any));
                if let super::CallSecrets::Only(secrets) = secrets {
                    secrets.iter().for_each(|(_, value)| self.text(value));
                }
            }
            JobWork::Steps { runs_on, steps } => {
                self.data(runs_on);
                let reader = self.reader;
                for (index, step) in steps.iter().enumerate() {
                    self.before = &steps[..index];
                    reader.at_key("steps", || {
                        reader.at_key(&index.to_string(), || self.step(step));
                    });
                }
                self.before = steps;
            }
        }
        self.texts([job.environment.as_ref().and_then(|it| it.url.as_ref())]);
        job.outputs.iter().for_each(|(_, value)| self.text(value));
    }

    fn step(&mut self, step: &'w Step) {
        self.texts([step.name.as_ref()]);
        self.condition(step.condition.as_ref());
        self.env(&step.env);
        self.settings([&step.continue_on_error, &step.timeout_minutes]);
        match &step.work {
            StepWork::Run {
                script,
                shell,
                working_directory,
            } => self.texts([Some(script), shell.as_ref(), working_directory.as_ref()]),
            StepWork::Uses { with, .. } => with.iter().for_each(|(_, value)| self.text(value)),
            StepWork::Wait(_) | StepWork::Cancel(_) => {}
        }
    }

    fn env(&mut self, env: &'w Env) {
        match env {
            Env::Map(entries) => entries.iter().for_each(|(name, value)| match name {
                DataKey::Insert => self.template(value, ExpectedKind::Object),
                DataKey::Text(name) => {
                    self.text(name);
                    self.text(value);
                }
            }),
            Env::Expr(template) => self.template(template, ExpectedKind::Object),
        }
    }

    fn defaults(&mut self, defaults: &'w RunDefaults) {
        self.texts([defaults.shell.as_ref(), defaults.working_directory.as_ref()]);
    }

    fn concurrency(&mut self, concurrency: Option<&'w Concurrency>) {
        if let Some(concurrency) = concurrency {
            self.text(&concurrency.group);
            self.settings([&concurrency.cancel_in_progress]);
        }
    }

    fn data(&mut self, data: &'w Data) {
        match data {
            Data::Scalar(template) => self.template(template, ExpectedKind::Any),
            Data::List(values) => values.iter().for_each(|value| self.data(value)),
            Data::Map(entries) => entries.iter().for_each(|(_, value)| self.data(value)),
            Data::Computed(entries) => {
                for (key, value) in entries {
                    if let DataKey::Text(key) = key {
                        self.template(key, ExpectedKind::Any);
                    }
                    self.data(value);
                }
            }
        }
    }

    fn texts<const N: usize>(&mut self, templates: [Option<&'w ExprTemplate>; N]) {
        templates
            .into_iter()
            .flatten()
            .for_each(|template| self.text(template));
    }

    /// Booleans and numbers.
    fn settings<const N: usize>(&mut self, templates: [&'w Option<ExprTemplate>; N]) {
        templates
            .into_iter()
            .flatten()
            .for_each(|template| self.template(template, ExpectedKind::Any));
    }

    fn text(&mut self, template: &'w ExprTemplate) {
        self.template(template, ExpectedKind::Text);
    }

    fn template(&mut self, template: &'w ExprTemplate, expected: ExpectedKind) {
        let expressions: Vec<&Expr> = template.expressions().collect();
        // A literal is no expression of the file.
        if template.source.contains("${{") && !expressions.is_empty() {
            let alone = template.is_one_expression();
            self.site(
                &template.source,
                template.place,
                expressions,
                alone,
                expected,
            );
        }
    }

    fn condition(&mut self, condition: Option<&'w IfCondition>) {
        if let Some(condition) = condition {
            let expressions = vec![condition.expr()];
            self.site(
                &condition.source,
                condition.place,
                expressions,
                true,
                ExpectedKind::Any,
            );
        }
    }

    fn site(
        &mut self,
        source: &'w str,
        place: SourceLocation,
        expressions: Vec<&'w Expr>,
        alone: bool,
        expected: ExpectedKind,
    ) {
        (self.visit)(&ExpressionSite {
            source,
            place,
            expressions,
            alone,
            expected,
            job: self.job,
            before: self.before,
        });
    }
}
