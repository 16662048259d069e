//! The list of runs.

use maud::{Markup, html};
use runner_actors::RunRecord;

use super::frame::frame;
use super::text::{VisibleMarkup, badge, name, number, reference, render_duration, run_word, time};

/// The list of runs; where a token is wanted, with the way out.
pub(crate) fn list(runs: &[RunRecord], can_sign_out: bool) -> String {
    let main = html! {
        h1 { "Workflow runs" }
        @if runs.is_empty() {
            p {
                "No run yet. Point a webhook of your forge at " code { "/webhook" }
                " on this server, for pushes and pull requests."
            }
        } @else {
            ul class="runs" { @for run in runs { (row(run)) } }
        }
        script src="/assets/times.js" {}
    };
    frame("Workflow runs", None, &main, can_sign_out)
}

fn row(run: &RunRecord) -> Markup {
    let (kind, branch) = reference(&run.reference);
    html! {
        li {
            (badge(&run_word(run)))
            div {
                a class="name" href={ "/runs/" (VisibleMarkup(&run.id)) } { (VisibleMarkup(name(run))) }
                " "
                span class="number" { (number(run)) }
                p {
                    (VisibleMarkup(&run.repository)) " · "
                    span title=(kind) { (VisibleMarkup(&branch)) }
                    " · " (VisibleMarkup(&run.event))
                    @if !run.actor.is_empty() { " by " (VisibleMarkup(&run.actor)) }
                }
            }
            p class="when" {
                (time(run.created_at))
                @if !run.waits_for_turn() {
                    br;
                    (render_duration(run.started_at.unwrap_or(run.created_at), run.ended_at))
                }
            }
        }
    }
}
