//! The page of one run.

use maud::{Markup, Render, html};
use runner_actors::{Artifact, EnvironmentGate, JobRecord, RunRecord, RunTests};

use super::frame::frame;
use super::job::{JobView, job, waiting};
use super::log::{RunLogLines, SectionMarkup, class};
use super::summaries::summaries_of;
use super::tests::tests as tests_of;
use super::text::{
    VisibleMarkup, badge, name, number, reference, render_duration, run_word, time, word,
};

/// What a run's page is made of.
pub(crate) struct RunPage<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) artifacts: &'a [Artifact],
    pub(crate) log: &'a RunLogLines,
    pub(crate) tests: &'a RunTests,
    /// Without lines for the script of a page that has them.
    pub(crate) with_lines: bool,
    /// Where a token is wanted, there is a way out.
    pub(crate) can_sign_out: bool,
}

/// The page of one run.
pub(crate) fn run(page: &RunPage<'_>) -> String {
    let RunPage {
        run,
        artifacts,
        log,
        tests,
        with_lines,
        can_sign_out,
    } = page;
    let ended = run.state.is_terminal();
    let own = if *with_lines {
        log.section("", 0, "run")
    } else {
        SectionMarkup::default()
    };
    let main = html! {
        div id="head" { (head(run, *can_sign_out)) }
        div id="notes" { (notes(run, log)) }
        div id="jobs" { (jobs(run, log, *with_lines)) }
        div id="tested" { (tests_of(&run.id, tests)) }
        div id="more" { (summaries_of(run)) (artifact_list(&run.id, artifacts)) }
        details class="step" id="own" open[run.jobs.is_empty()] {
            summary { span class="title" { "Log of the run itself" } }
            (own.markup())
        }
        @if log.is_cut {
            p class="reason" { "The log has more lines than a page shows: the raw log has them all." }
        }
        p {
            a href={ "/ui/runs/" (VisibleMarkup(&run.id)) } { "Open in the web application" }
            ": the graph of jobs, a search in the log, a comparison. "
            a href={ "/runs/" (VisibleMarkup(&run.id)) "/log" } { "Raw log" } " (JSON Lines)"
        }
        script src="/assets/times.js" {}
        script src="/assets/run.js" data-run=(VisibleMarkup(&run.id)) data-ended=(ended.to_string()) data-from=(log.bytes) {}
    };
    let refresh = html! { noscript { meta http-equiv="refresh" content="10"; } };
    let title = format!("{} {} · {}", name(run), number(run), run.repository);
    frame(&title, (!ended).then_some(refresh), &main, *can_sign_out)
}

fn head(run: &RunRecord, may_review: bool) -> Markup {
    let state = run_word(run);
    html! {
        h1 {
            (badge(&state)) " " (VisibleMarkup(name(run))) " "
            span class="number" { (number(run)) }
        }
        @if may_review { (review(run)) }
        (action(run))
        dl class="facts" {
            @for (name, value) in facts(run) { div { dt { (name) } dd { (value) } } }
        }
        @if let Some(reason) = own_reason(run) {
            pre class={ "reason of-" (state) } { (VisibleMarkup(reason)) }
        }
    }
}

/// What is known of a run, as names and markup.
fn facts(run: &RunRecord) -> Vec<(&'static str, Markup)> {
    let (kind, branch) = reference(&run.reference);
    let event = html! {
        (VisibleMarkup(&run.event))
        @if let Some(action) = &run.action { " (" (VisibleMarkup(action)) ")" }
    };
    let mut facts = vec![("Repository", linked(run, "", &run.repository))];
    facts.extend(run.workflow_file.as_ref().map(|file| {
        let parts = file.split('/').enumerate();
        let file = html! {
            @for (index, part) in parts {
                @if index > 0 { "/" wbr; }
                (VisibleMarkup(part))
            }
        };
        ("Workflow file", file)
    }));
    facts.push(("Event", event));
    facts.push((kind, VisibleMarkup(&branch).render()));
    let sha = run.sha.get(..12).unwrap_or(&run.sha);
    facts.push(("Commit", linked(run, &format!("/commit/{}", run.sha), sha)));
    if !run.actor.is_empty() {
        facts.push(("Actor", VisibleMarkup(&run.actor).render()));
    }
    for gate in &run.environments {
        facts.push(("Environment", environment(gate)));
    }
    let from = run.started_at.unwrap_or(run.created_at);
    if run.waits_for_turn() {
        facts.push(("Waiting since", time(from)));
    } else {
        facts.push(("Started", time(from)));
        facts.push(("Duration", render_duration(from, run.ended_at)));
    }
    for (name, other) in [
        ("Former attempt", &run.repeats),
        ("Next attempt", &run.repeated_by),
    ] {
        facts.extend(other.as_ref().map(|id| {
            let id = VisibleMarkup(id);
            (name, html! { a href={ "/runs/" (id) } { (id) } })
        }));
    }
    facts
}

/// An environment that jobs wait or waited for, and what was said.
fn environment(gate: &EnvironmentGate) -> Markup {
    let review = gate.review.as_ref();
    html! {
        (VisibleMarkup(&gate.name))
        @match review {
            Some(review) => {
                ": " (word(&review.verdict))
                @if let Some(by) = &review.by { " by " (VisibleMarkup(by)) }
                @if let Some(comment) = &review.comment { " (" (VisibleMarkup(comment)) ")" }
            }
            None if gate.is_pending() => ": waits",
            None => {}
        }
    }
}

/// A link below the repository's page, when its address is one that a browser may be sent to.
fn linked(run: &RunRecord, path: &str, text: &str) -> Markup {
    let page = run
        .repository_url
        .as_deref()
        .and_then(|page| url::Url::parse(page).ok());
    match page.filter(|page| matches!(page.scheme(), "http" | "https")) {
        Some(page) => {
            let page = page.as_str().trim_end_matches('/');
            html! {
                a href={ (VisibleMarkup(page)) (VisibleMarkup(path)) } rel="noreferrer" { (VisibleMarkup(text)) }
            }
        }
        None => VisibleMarkup(text).render(),
    }
}

/// What can be done: a run that goes on can be ended, an ended one run again, unless that was done.
fn action(run: &RunRecord) -> Markup {
    let (action, label) = match (&run.repeated_by, run.state.is_terminal()) {
        (_, false) => ("cancel", "Cancel"),
        (None, true) => ("rerun", "Re-run"),
        (Some(_), true) => return Markup::default(),
    };
    html! {
        form class="action" method="post" action={ "/runs/" (VisibleMarkup(&run.id)) "/" (action) } {
            button { (label) }
        }
    }
}

/// A run that waits for somebody can be approved or rejected; who may is known by the token.
fn review(run: &RunRecord) -> Markup {
    let mut gates = run.environments.iter();
    let asks = run.awaits_approval()
        || gates.any(|gate| gate.for_approval && gate.is_pending() && gate.review.is_none());
    if !asks || run.state.is_terminal() {
        return Markup::default();
    }
    html! {
        @for (action, label) in [("approve", "Approve"), ("reject", "Reject")] {
            form class="action" method="post" action={ "/runs/" (VisibleMarkup(&run.id)) "/" (action) } {
                button { (label) }
            }
        }
    }
}

/// Why the run ended as it did, unless one of its jobs says so.
fn own_reason(run: &RunRecord) -> Option<&str> {
    let reason = run.reason.as_deref()?;
    let of_job = run.jobs.iter().any(|job| {
        let said = job.reason.as_deref().unwrap_or("failed");
        job.reason.as_deref() == Some(reason) || reason == format!("{}: {said}", job.name)
    });
    (!of_job).then_some(reason)
}

/// Jobs in the order of the workflow's file; those that have not begun too, while they may.
fn jobs(run: &RunRecord, log: &RunLogLines, with_lines: bool) -> Markup {
    let run_ended = run.state.is_terminal();
    let view = JobView {
        log,
        with_lines,
        run_ended,
        repeatable: (run_ended && run.repeated_by.is_none() && !run.plan.is_empty())
            .then_some(run.id.as_str()),
    };
    let position = |key: &str| run.job_order.iter().position(|known| known == key);
    let mut all: Vec<((usize, usize), Markup)> = Vec::new();
    for (index, record) in run.jobs.iter().enumerate() {
        let position = position(&record.key).unwrap_or(usize::MAX);
        all.push(((position, record.instance), job(record, index, view)));
    }
    for (position, key) in run.job_order.iter().enumerate().filter(|_| !run_ended) {
        if !run.jobs.iter().any(|job| job.key == *key) {
            all.push(((position, 0), waiting(key)));
        }
    }
    all.sort_by_key(|(position, _)| *position);
    html! { @for (_, job) in all { (job) } }
}

/// Notices, warnings and errors of steps, with links to their lines. The ends of steps are shown
/// with the steps.
fn notes(run: &RunRecord, log: &RunLogLines) -> Markup {
    let jobs = run.jobs.iter().enumerate();
    let rows: Vec<Markup> = jobs
        .flat_map(|(index, job)| notes_of(index, job, log))
        .collect();
    html! {
        @if !rows.is_empty() {
            h2 { "Annotations" }
            ul class="notes" { @for row in rows { (row) } }
        }
    }
}

fn notes_of(index: usize, job: &JobRecord, log: &RunLogLines) -> Vec<Markup> {
    let mut rows = Vec::new();
    for step in &job.steps {
        for (line, kind, text) in log.notes(&job.name, step.number) {
            if step.reason.as_deref() == Some(text) {
                continue;
            }
            let anchor = format!("#j{index}s{}-{line}", step.number);
            rows.push(html! {
                li class=(class(kind)) {
                    a href=(anchor) { (VisibleMarkup(&job.name)) ", " (VisibleMarkup(&step.name)) }
                    " " (super::ansi::markup(text))
                }
            });
        }
    }
    rows
}

fn artifact_list(run: &str, artifacts: &[Artifact]) -> Markup {
    html! {
        @if !artifacts.is_empty() {
            h2 { "Artifacts" }
            ul {
                @for artifact in artifacts {
                    li {
                        a href={ "/runs/" (VisibleMarkup(run)) "/artifacts/" (VisibleMarkup(&in_path(&artifact.name))) } {
                            (VisibleMarkup(&artifact.name))
                        }
                        " (" (config_core::ByteSize::new(artifact.bytes).to_string()) ")"
                    }
                }
            }
        }
    }
}

/// A name as a part of a path.
fn in_path(name: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    encoded.replace('+', "%20")
}
