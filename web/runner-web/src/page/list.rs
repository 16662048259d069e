//! The list of runs.

use std::fmt::Write as _;

use runner_actors::RunRecord;

use super::frame;
use super::text::{badge, escaped, name, number, reference, time, took, word};

/// The list of runs; where a token is wanted, with the way out.
pub(crate) fn list(runs: &[RunRecord], can_sign_out: bool) -> String {
    let body = if runs.is_empty() {
        "<p>No run yet. Point a webhook of your forge at <code>/webhook</code> on this server, for pushes and pull requests.</p>".to_owned()
    } else {
        let rows: String = runs.iter().map(row).collect();
        format!("<ul class=\"runs\">{rows}</ul>")
    };
    let main = format!("<h1>Workflow runs</h1>{body}<script src=\"/assets/times.js\"></script>");
    frame("Workflow runs", "", &main, can_sign_out)
}

fn row(run: &RunRecord) -> String {
    let (what, branch) = reference(&run.reference);
    let mut row = format!(
        "<li>{badge}<div><a class=\"name\" href=\"/runs/{id}\">{name}</a> <span class=\"number\">{number}</span>\
         <p>{repository} · <span title=\"{what}\">{branch}</span> · {event}",
        badge = badge(&word(&run.state)),
        id = escaped(&run.id),
        name = escaped(name(run)),
        number = number(run),
        repository = escaped(&run.repository),
        branch = escaped(&branch),
        event = escaped(&run.event),
    );
    if !run.actor.is_empty() {
        let _ = write!(row, " by {}", escaped(&run.actor));
    }
    let _ = write!(
        row,
        "</p></div><p class=\"when\">{}<br>{}</p></li>",
        time(run.created_at),
        took(run.started_at.unwrap_or(run.created_at), run.ended_at),
    );
    row
}
