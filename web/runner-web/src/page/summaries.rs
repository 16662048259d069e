//! What steps wrote to their summaries: on the page of their run, and the rest on pages of their
//! own.

use maud::{Markup, html};
use runner_actors::{RunRecord, SummaryPage, SummaryPlace};

use super::frame::frame;
use super::text::{VisibleMarkup, name, number};

/// Those that the record shows, and the way to the others.
pub(super) fn summaries_of(run: &RunRecord) -> Markup {
    html! {
        @for job in &run.jobs {
            @for summary in job.steps.iter().filter_map(|step| step.summary.as_deref()) {
                (summary_of(&job.name, summary))
            }
        }
        @if let Some(place) = SummaryPlace::left_out(run) { (more(&run.id, place)) }
    }
}

/// A page of them alone.
pub(crate) fn summaries(run: &RunRecord, page: &SummaryPage, can_sign_out: bool) -> String {
    let main = html! {
        h1 { "Summaries of " (VisibleMarkup(name(run))) " " span class="number" { (number(run)) } }
        @for one in &page.summaries { (summary_of(&one.job, &one.text)) }
        @if let Some(place) = page.next { (more(&run.id, place)) }
        p { a href={ "/runs/" (VisibleMarkup(&run.id)) } { "The run" } }
    };
    let title = format!("Summaries of {} {}", name(run), number(run));
    frame(&title, None, &main, can_sign_out)
}

fn summary_of(job: &str, text: &str) -> Markup {
    html! {
        @if !text.is_empty() {
            h2 { "Summary of " (VisibleMarkup(job)) }
            div class="summary" { (super::markdown::markup(text)) }
        }
    }
}

fn more(run: &str, place: SummaryPlace) -> Markup {
    html! {
        p { a href={ "/runs/" (VisibleMarkup(run)) "/summaries?cursor=" (place.to_string()) } { "More summaries" } }
    }
}
