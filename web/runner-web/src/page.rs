//! Pages for people: the list of runs, and one run with its live log. Everything shown is escaped; nothing is loaded from elsewhere.

use std::fmt::Write as _;

use actix_web::HttpResponse;
use edge_web::STRICT_CSP;
use runner_actors::{JobRecord, RunRecord, StepRecord, Stored};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/run.js");

/// A page's answer, with a policy that lets nothing in.
pub(crate) fn html(body: String) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header(("content-security-policy", STRICT_CSP))
        .insert_header(("x-content-type-options", "nosniff"))
        .insert_header(("referrer-policy", "no-referrer"))
        .body(body)
}

/// One of the page's own files.
pub(crate) fn asset(name: &str) -> Option<HttpResponse> {
    let (kind, text) = match name {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "run.js" => ("text/javascript; charset=utf-8", SCRIPT),
        _ => return None,
    };
    Some(
        HttpResponse::Ok()
            .content_type(kind)
            .insert_header(("x-content-type-options", "nosniff"))
            .body(text),
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn frame(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <link rel=\"stylesheet\" href=\"/assets/style.css\"></head><body><header><a href=\"/runs\">Workflow runs</a></header><main>{main}</main></body></html>\n",
        title = escaped(title)
    )
}

fn word<T: serde::Serialize>(value: &T) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The list of runs.
pub(crate) fn list(runs: &[RunRecord]) -> String {
    let mut rows = String::new();
    for run in runs {
        let state = word(&run.state);
        let name = run
            .name
            .as_deref()
            .or(run.workflow_file.as_deref())
            .unwrap_or("—");
        let _ = write!(
            rows,
            "<tr><td><span class=\"state {state}\">{state}</span></td><td><a href=\"/runs/{id}\">{name}</a></td><td>{repository}</td><td>{event}</td><td><code>{sha}</code></td><td><time data-ms=\"{at}\"></time></td></tr>",
            id = escaped(&run.id),
            name = escaped(name),
            repository = escaped(&run.repository),
            event = escaped(&run.event),
            sha = escaped(run.sha.get(..12).unwrap_or(&run.sha)),
            at = run.created_at,
        );
    }
    let body = if rows.is_empty() {
        "<p>No run yet. Point a webhook of your forge at <code>/webhook</code> on this server, for pushes and pull requests.</p>".to_owned()
    } else {
        format!(
            "<table><thead><tr><th>State</th><th>Run</th><th>Repository</th><th>Event</th><th>Commit</th><th>Begun</th></tr></thead><tbody>{rows}</tbody></table>"
        )
    };
    frame(
        "Workflow runs",
        &format!("<h1>Workflow runs</h1>{body}<script src=\"/assets/run.js\"></script>"),
    )
}

/// One run.
pub(crate) fn run(run: &RunRecord, artifacts: &[Stored]) -> String {
    let state = word(&run.state);
    let name = run
        .name
        .as_deref()
        .or(run.workflow_file.as_deref())
        .unwrap_or("Run");
    let mut main = format!(
        "<h1>{name}</h1><p><span class=\"state {state}\" id=\"state\">{state}</span> {repository} · {event} · <code>{sha}</code> · <time data-ms=\"{at}\"></time></p>",
        name = escaped(name),
        repository = escaped(&run.repository),
        event = escaped(&run.event),
        sha = escaped(&run.sha),
        at = run.created_at,
    );
    if let Some(reason) = &run.reason {
        let _ = write!(main, "<pre class=\"reason\">{}</pre>", escaped(reason));
    }
    for record in &run.jobs {
        main.push_str(&job(record));
    }
    if !artifacts.is_empty() {
        main.push_str("<h2>Artifacts</h2><ul>");
        for stored in artifacts {
            let path: String =
                url::form_urlencoded::byte_serialize(stored.name.as_bytes()).collect();
            let _ = write!(
                main,
                "<li><a href=\"/runs/{}/artifacts/{}\">{}</a> ({} bytes)</li>",
                escaped(&run.id),
                escaped(&path.replace('+', "%20")),
                escaped(&stored.name),
                stored.bytes
            );
        }
        main.push_str("</ul>");
    }
    let _ = write!(
        main,
        "<h2>Log</h2><pre id=\"log\" data-run=\"{}\" data-ended=\"{}\" tabindex=\"0\" aria-live=\"off\"></pre><script src=\"/assets/run.js\"></script>",
        escaped(&run.id),
        run.state.is_terminal()
    );
    frame(name, &main)
}

fn job(job: &JobRecord) -> String {
    let state = job
        .conclusion
        .map_or_else(|| "running".to_owned(), |conclusion| word(&conclusion));
    let isolation = job.isolation.as_deref().unwrap_or("no machine yet");
    let reason = job
        .reason
        .as_deref()
        .map(|reason| format!(" — {}", escaped(reason)))
        .unwrap_or_default();
    let steps: String = job.steps.iter().map(step).collect();
    format!(
        "<section><h2>{} <span class=\"state {state}\">{state}</span></h2><p>{} {}{reason}</p><ol>{steps}</ol></section>",
        escaped(&job.name),
        escaped(isolation),
        job.vm.as_deref().map(escaped).unwrap_or_default(),
    )
}

fn step(step: &StepRecord) -> String {
    let state = match step.end {
        None => "running",
        Some(_) if step.forgiven => "forgiven",
        Some(end) => end.outcome().as_str(),
    };
    let reason = step
        .reason
        .as_deref()
        .map(|reason| format!(" — {}", escaped(reason)))
        .unwrap_or_default();
    let took = step.ended_at.map(|end| {
        format!(
            " {:.1} s",
            end.saturating_sub(step.started_at) as f64 / 1000.0
        )
    });
    let summary = step
        .summary
        .as_deref()
        .map(|text| format!("<pre>{}</pre>", escaped(text)))
        .unwrap_or_default();
    format!(
        "<li><span class=\"state {state}\">{state}</span> {}{}{reason}{summary}</li>",
        escaped(&step.name),
        took.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_wrote_is_text() {
        assert_eq!(
            escaped("<b title='x'>&\u{1b}"),
            "&lt;b title=&#39;x&#39;&gt;&amp;\u{fffd}"
        );
    }
}
