//! A job of a run's page: its state, its steps, and what they said.

use runner_actors::{JobRecord, StepRecord};

use super::log::{Part, RunLog};
use super::text::{badge, escaped, took, word};

/// A copy of a job; `index` is that of its record.
pub(super) fn job(
    job: &JobRecord,
    index: usize,
    log: &RunLog,
    with_lines: bool,
    run_ended: bool,
) -> String {
    let lines = |step: u32, id: &str| {
        if with_lines {
            log.part(&job.name, step, id)
        } else {
            Part::default()
        }
    };
    let id = format!("j{index}");
    let before = StepRecord {
        name: "Set up job".to_owned(),
        ..StepRecord::default()
    };
    let has_steps = !job.steps.is_empty();
    let first = (log.has(&job.name, 0) || !run_ended && !has_steps)
        .then(|| part(job, &before, &id, &lines, !has_steps));
    let steps = job.steps.iter().map(|step| {
        let open = is_open(step, job);
        part(job, step, &id, &lines, open)
    });
    let steps: String = first.into_iter().chain(steps).collect();
    format!(
        "<section class=\"job\" id=\"{id}\" data-job=\"{name}\"><div class=\"job-head\" id=\"{id}-head\">{head}</div><div class=\"steps\">{steps}</div></section>",
        name = escaped(&job.name),
        head = head(job, run_ended),
    )
}

/// A job that has not begun to wait for a machine.
pub(super) fn waiting(key: &str) -> String {
    format!(
        "<section class=\"job\" id=\"w-{id}\"><div class=\"job-head\"><h2>{badge} {name}</h2></div></section>",
        id = escaped(key),
        name = escaped(key),
        badge = badge("waiting"),
    )
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

fn head(job: &JobRecord, run_ended: bool) -> String {
    let state = state(job);
    let took = job
        .started_at
        .map(|from| format!(" <span class=\"took\">{}</span>", took(from, job.ended_at)));
    let mut about: Vec<String> = Vec::new();
    match &job.isolation {
        Some(isolation) => about.push(escaped(isolation)),
        None if job.conclusion.is_none() && !run_ended => {
            about.push("waiting for a machine".to_owned());
        }
        None => {}
    }
    about.extend(job.vm.as_deref().map(escaped));
    let about = if about.is_empty() {
        String::new()
    } else {
        format!("<p class=\"about\">{}</p>", about.join(" · "))
    };
    let reason = reason(job)
        .map(|reason| format!("<p class=\"reason of-{state}\">{}</p>", escaped(reason)))
        .unwrap_or_default();
    format!(
        "<h2>{badge} {name}{took}</h2>{about}{reason}",
        badge = badge(&state),
        name = escaped(&job.name),
        took = took.unwrap_or_default(),
    )
}

/// Running and failed steps are what people come for.
fn is_open(step: &StepRecord, job: &JobRecord) -> bool {
    match step.end {
        None => job.conclusion.is_none(),
        Some(end) => end.outcome() == runner_core::state::Conclusion::Failure,
    }
}

fn part(
    job: &JobRecord,
    step: &StepRecord,
    id: &str,
    lines: &dyn Fn(u32, &str) -> Part,
    open: bool,
) -> String {
    let id = format!("{id}s{}", step.number);
    let lines = lines(step.number, &id).markup();
    let open = if open { " open" } else { "" };
    format!(
        "<details class=\"step\" id=\"{id}\" data-step=\"{number}\"{open}><summary id=\"{id}-head\">{head}</summary>{lines}</details>",
        number = step.number,
        head = step_head(step, job),
    )
}

fn step_head(step: &StepRecord, job: &JobRecord) -> String {
    if step.number == 0 {
        return format!("<span class=\"title\">{}</span>", escaped(&step.name));
    }
    let state = match step.end {
        None if job.conclusion.is_some() => "lost",
        None => "running",
        Some(_) if step.forgiven => "forgiven",
        Some(end) => end.outcome().as_str(),
    };
    let took = match (step.ended_at, job.conclusion) {
        (None, Some(_)) => String::new(),
        _ if state == "skipped" => String::new(),
        (ended, _) => format!(
            "<span class=\"took\">{}</span>",
            took(step.started_at, ended)
        ),
    };
    let reason = step.reason.as_deref().map_or_else(String::new, |reason| {
        format!(" <span class=\"why of-{state}\">{}</span>", escaped(reason))
    });
    format!(
        "{}<span class=\"title\">{}{reason}</span>{took}",
        badge(state),
        escaped(&step.name)
    )
}
