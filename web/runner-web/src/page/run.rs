//! The page of one run.

use std::fmt::Write as _;

use runner_actors::{JobRecord, RunRecord, Stored};

use super::frame;
use super::job::{job, waiting};
use super::log::{Part, RunLog, class};
use super::text::{badge, escaped, name, number, reference, time, took, word};

/// What a run's page is made of.
pub(crate) struct RunPage<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) artifacts: &'a [Stored],
    pub(crate) log: &'a RunLog,
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
        with_lines,
        can_sign_out,
    } = page;
    let ended = run.state.is_terminal();
    let own = if *with_lines {
        log.part("", 0, "run")
    } else {
        Part::default()
    };
    let main = format!(
        "<div id=\"head\">{head}</div><div id=\"notes\">{notes}</div><div id=\"jobs\">{jobs}</div><div id=\"more\">{summaries}{artifacts}</div>\
         <details class=\"step\" id=\"own\"{open}><summary><span class=\"title\">Log of the run itself</span></summary>{own}</details>\
         {cut}<p><a href=\"/runs/{id}/log\">Raw log</a> (JSON Lines)</p>\
         <script src=\"/assets/times.js\"></script><script src=\"/assets/run.js\" data-run=\"{id}\" data-ended=\"{ended}\" data-from=\"{from}\"></script>",
        head = head(run),
        notes = notes(run, log),
        jobs = jobs(run, log, *with_lines),
        own = own.markup(),
        summaries = summaries(run),
        artifacts = artifact_list(&run.id, artifacts),
        open = if run.jobs.is_empty() { " open" } else { "" },
        cut = if log.is_cut {
            "<p class=\"reason\">The log has more lines than a page shows: the raw log has them all.</p>"
        } else {
            ""
        },
        id = escaped(&run.id),
        from = log.bytes,
    );
    let again = if ended {
        ""
    } else {
        "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>"
    };
    let title = format!("{} {} · {}", name(run), number(run), run.repository);
    frame(&title, again, &main, *can_sign_out)
}

fn head(run: &RunRecord) -> String {
    let badge = badge(&word(&run.state));
    let mut head = format!(
        "<h1>{badge} {} <span class=\"number\">{}</span></h1>{}<dl class=\"facts\">",
        escaped(name(run)),
        number(run),
        action(run),
    );
    for (what, value) in facts(run) {
        let _ = write!(head, "<div><dt>{what}</dt><dd>{value}</dd></div>");
    }
    head.push_str("</dl>");
    if let Some(reason) = own_reason(run) {
        let _ = write!(
            head,
            "<pre class=\"reason of-{}\">{}</pre>",
            word(&run.state),
            escaped(reason)
        );
    }
    head
}

/// What is known of a run, as names and markup.
fn facts(run: &RunRecord) -> Vec<(&'static str, String)> {
    let (what, branch) = reference(&run.reference);
    let event = match &run.action {
        Some(action) => format!("{} ({})", escaped(&run.event), escaped(action)),
        None => escaped(&run.event),
    };
    let mut facts = vec![("Repository", linked(run, "", &run.repository))];
    facts.extend(
        run.workflow_file
            .as_ref()
            .map(|file| ("Workflow file", escaped(file).replace('/', "/<wbr>"))),
    );
    facts.push(("Event", event));
    facts.push((what, escaped(&branch)));
    let sha = run.sha.get(..12).unwrap_or(&run.sha);
    facts.push(("Commit", linked(run, &format!("/commit/{}", run.sha), sha)));
    if !run.actor.is_empty() {
        facts.push(("Actor", escaped(&run.actor)));
    }
    let from = run.started_at.unwrap_or(run.created_at);
    facts.push(("Started", time(from)));
    facts.push(("Duration", took(from, run.ended_at)));
    for (what, other) in [
        ("Former attempt", &run.repeats),
        ("Next attempt", &run.repeated_by),
    ] {
        facts.extend(other.as_ref().map(|id| {
            let id = escaped(id);
            (what, format!("<a href=\"/runs/{id}\">{id}</a>"))
        }));
    }
    facts
}

/// A link below the repository's page, when its address is one that a browser may be sent to.
fn linked(run: &RunRecord, path: &str, text: &str) -> String {
    let page = run
        .repository_url
        .as_deref()
        .and_then(|page| url::Url::parse(page).ok());
    match page.filter(|page| matches!(page.scheme(), "http" | "https")) {
        Some(page) => format!(
            "<a href=\"{}{}\" rel=\"noreferrer\">{}</a>",
            escaped(page.as_str().trim_end_matches('/')),
            escaped(path),
            escaped(text)
        ),
        None => escaped(text),
    }
}

/// What can be done: a run that goes on can be ended, an ended one run again, unless that was done.
fn action(run: &RunRecord) -> String {
    let (what, label) = match (&run.repeated_by, run.state.is_terminal()) {
        (_, false) => ("cancel", "Cancel"),
        (None, true) => ("rerun", "Re-run"),
        (Some(_), true) => return String::new(),
    };
    format!(
        "<form class=\"action\" method=\"post\" action=\"/runs/{}/{what}\"><button>{label}</button></form>",
        escaped(&run.id)
    )
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
fn jobs(run: &RunRecord, log: &RunLog, with_lines: bool) -> String {
    let ended = run.state.is_terminal();
    let place = |key: &str| run.job_order.iter().position(|known| known == key);
    let mut all: Vec<((usize, usize), String)> = Vec::new();
    for (index, record) in run.jobs.iter().enumerate() {
        let place = place(&record.key).unwrap_or(usize::MAX);
        all.push((
            (place, record.instance),
            job(record, index, log, with_lines, ended),
        ));
    }
    for (place, key) in run.job_order.iter().enumerate().filter(|_| !ended) {
        if !run.jobs.iter().any(|job| job.key == *key) {
            all.push(((place, 0), waiting(key)));
        }
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, job)| job).collect()
}

/// Notices, warnings and errors of steps, with links to their lines. The ends of steps are shown with the steps.
fn notes(run: &RunRecord, log: &RunLog) -> String {
    let mut rows = String::new();
    for (index, job) in run.jobs.iter().enumerate() {
        rows.push_str(&notes_of(index, job, log));
    }
    if rows.is_empty() {
        return rows;
    }
    format!("<h2>Annotations</h2><ul class=\"notes\">{rows}</ul>")
}

fn notes_of(index: usize, job: &JobRecord, log: &RunLog) -> String {
    let mut rows = String::new();
    for step in &job.steps {
        for (line, kind, text) in log.notes(&job.name, step.number) {
            if step.reason.as_deref() == Some(text) {
                continue;
            }
            let _ = write!(
                rows,
                "<li class=\"{kind}\"><a href=\"#j{index}s{number}-{line}\">{job}, {step}</a> {text}</li>",
                kind = class(kind),
                number = step.number,
                job = escaped(&job.name),
                step = escaped(&step.name),
                text = super::ansi::markup(text),
            );
        }
    }
    rows
}

fn summaries(run: &RunRecord) -> String {
    let mut all = String::new();
    for job in &run.jobs {
        let written = job.steps.iter().filter_map(|step| step.summary.as_deref());
        for summary in written {
            let _ = write!(
                all,
                "<h2>Summary of {}</h2><div class=\"summary\">{}</div>",
                escaped(&job.name),
                super::markdown::markup(summary)
            );
        }
    }
    all
}

fn artifact_list(run: &str, artifacts: &[Stored]) -> String {
    if artifacts.is_empty() {
        return String::new();
    }
    let mut list = String::from("<h2>Artifacts</h2><ul>");
    for stored in artifacts {
        let path: String = url::form_urlencoded::byte_serialize(stored.name.as_bytes()).collect();
        let _ = write!(
            list,
            "<li><a href=\"/runs/{}/artifacts/{}\">{}</a> ({})</li>",
            escaped(run),
            escaped(&path.replace('+', "%20")),
            escaped(&stored.name),
            config_core::ByteSize::new(stored.bytes)
        );
    }
    list.push_str("</ul>");
    list
}
