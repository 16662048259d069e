//! A job of a run's page: its state, its steps, and what they said.

use maud::{Markup, html};
use runner_actors::{JobRecord, LostAttempt, StepRecord};

use super::log::{RunLogLines, SectionMarkup};
use super::text::{VisibleMarkup, badge, render_duration, word};

/// How a job is shown.
#[derive(Clone, Copy)]
pub(super) struct JobView<'a> {
    pub(super) log: &'a RunLogLines,
    /// With the lines of its steps.
    pub(super) with_lines: bool,
    pub(super) run_ended: bool,
    /// The run, where its jobs can be run again.
    pub(super) repeatable: Option<&'a str>,
}

/// A copy of a job; `index` is that of its record.
pub(super) fn job(job: &JobRecord, index: usize, view: JobView<'_>) -> Markup {
    let id = format!("j{index}");
    let setup = StepRecord {
        name: "Set up job".to_owned(),
        ..StepRecord::default()
    };
    let has_steps = !job.steps.is_empty();
    let has_setup = view.log.has_output(&job.name, 0) || !view.run_ended && !has_steps;
    html! {
        section class="job" id=(id) data-job=(VisibleMarkup(&job.name)) {
            div class="job-head" id={ (id) "-head" } { (head(job, view)) }
            div class="steps" {
                @if has_setup { (step_details(job, &setup, &id, view, !has_steps)) }
                @for step in &job.steps {
                    (step_details(job, step, &id, view, is_open(step, job)))
                }
            }
        }
    }
}

/// A job that has not begun to wait for a machine.
pub(super) fn waiting(key: &str) -> Markup {
    html! {
        section class="job" id={ "w-" (VisibleMarkup(key)) } {
            div class="job-head" { h2 { (badge("waiting")) " " (VisibleMarkup(key)) } }
        }
    }
}

/// The state of a job: what is refused here has failed, and says so.
pub(super) fn state(job: &JobRecord) -> String {
    match job.conclusion {
        None if job.started_at.is_some() => "running".to_owned(),
        None => "waiting".to_owned(),
        Some(_) if is_refused(job) => "refused".to_owned(),
        Some(_) if job.end != runner_actors::JobEnd::Usual => word(&job.end),
        Some(conclusion) => word(&conclusion),
    }
}

fn is_refused(job: &JobRecord) -> bool {
    let reason = job.reason.as_deref();
    reason.is_some_and(|reason| reason.starts_with("refused:"))
}

/// Why a job ended as it did, when none of its steps says so.
pub(super) fn reason(job: &JobRecord) -> Option<&str> {
    let reason = job.reason.as_deref()?;
    let said = |step: &StepRecord| step.reason.as_deref() == Some(reason);
    let reason = reason.strip_prefix("refused:").map_or(reason, str::trim);
    (!job.steps.iter().any(said)).then_some(reason)
}

fn head(job: &JobRecord, view: JobView<'_>) -> Markup {
    let state = state(job);
    // One that waits for something else says so by its reason.
    let is_waiting = job.isolation.is_none() && job.conclusion.is_none() && job.reason.is_none();
    let is_waiting = is_waiting && !view.run_ended;
    let waiting = is_waiting.then_some("waiting for a machine");
    let isolation = job.isolation.as_deref().or(waiting);
    let about: Vec<&str> = isolation.into_iter().chain(job.vm.as_deref()).collect();
    html! {
        h2 {
            (badge(&state)) " " (VisibleMarkup(&job.name))
            @if let Some(from) = job.started_at {
                " " span class="took" { (render_duration(from, job.ended_at)) }
            }
        }
        @if let Some(run) = view.repeatable { (rerun(job, run)) }
        @if !about.is_empty() { p class="about" { (VisibleMarkup(&about.join(" · "))) } }
        @if let Some(reason) = reason(job) {
            p class={ "reason of-" (state) } { (VisibleMarkup(reason)) }
        }
        @if !job.lost.is_empty() { (lost_attempts(&job.lost)) }
    }
}

/// A job that has ended is run again with what needs it.
fn rerun(job: &JobRecord, run: &str) -> Markup {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("job", &job.name)
        .finish();
    html! {
        form class="action" method="post" action={ "/runs/" (VisibleMarkup(run)) "/rerun?" (query) } {
            button { "Re-run job" }
        }
    }
}

/// Attempts that were lost, after each of which the job ran again.
fn lost_attempts(lost: &[LostAttempt]) -> Markup {
    html! {
        ol class="attempts" {
            @for attempt in lost {
                li class="about" {
                    (badge("lost")) " " (VisibleMarkup(&attempt.reason))
                    @if let Some(step) = &attempt.step { " · at " (VisibleMarkup(step)) }
                    @if let Some(vm) = &attempt.vm { " · " (VisibleMarkup(vm)) }
                    @if let Some(from) = attempt.started_at {
                        " · " (render_duration(from, Some(attempt.ended_at)))
                    }
                }
            }
        }
    }
}

/// Running and failed steps are what people come for.
fn is_open(step: &StepRecord, job: &JobRecord) -> bool {
    match step.end {
        None => job.conclusion.is_none(),
        Some(end) => end.outcome() == runner_core::state::Conclusion::Failure,
    }
}

fn step_details(
    job: &JobRecord,
    step: &StepRecord,
    job_id: &str,
    view: JobView<'_>,
    open: bool,
) -> Markup {
    let id = format!("{job_id}s{}", step.number);
    let lines = if view.with_lines {
        view.log.section(&job.name, step.number, &id)
    } else {
        SectionMarkup::default()
    };
    html! {
        details class="step" id=(id) data-step=(step.number) open[open] {
            summary id={ (id) "-head" } { (step_head(step, job)) }
            (lines.markup())
        }
    }
}

fn step_head(step: &StepRecord, job: &JobRecord) -> Markup {
    if step.number == 0 {
        return html! { span class="title" { (VisibleMarkup(&step.name)) } };
    }
    let state = match step.end {
        None if job.conclusion.is_some() => "lost",
        None => "running",
        Some(_) if step.forgiven => "forgiven",
        Some(end) => end.outcome().as_str(),
    };
    let is_over = step.ended_at.is_none() && job.conclusion.is_some();
    html! {
        (badge(state))
        span class="title" {
            (VisibleMarkup(&step.name))
            @if let Some(reason) = &step.reason {
                " " span class={ "why of-" (state) } { (VisibleMarkup(reason)) }
            }
        }
        @if !is_over && state != "skipped" {
            span class="took" { (render_duration(step.started_at, step.ended_at)) }
        }
    }
}
