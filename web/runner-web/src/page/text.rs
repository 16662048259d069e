//! Pieces of text as the pages show them.

use maud::{Markup, Render, html};
use runner_actors::RunRecord;

/// Text of strangers: nothing in it is markup, and what would not be seen is made visible.
#[derive(Clone, Copy)]
pub(super) struct VisibleMarkup<'a>(pub(super) &'a str);

impl Render for VisibleMarkup<'_> {
    fn render_to(&self, page: &mut String) {
        page.push_str(&edge_web::visible::markup(self.0));
    }
}

/// A value's word in the API: `timed_out`.
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// How far a run is, for people: one that waits for its turn does not ask for a machine yet.
pub(super) fn run_word(run: &RunRecord) -> String {
    match run.waits_for_turn() {
        true => "waiting".to_owned(),
        false => word(&run.state),
    }
}

/// A state as a label; its word is one of ours.
pub(super) fn badge(word: &str) -> Markup {
    html! { span class={ "state " (word) } { (word.replace('_', " ")) } }
}

/// What a run is called.
pub(super) fn name(run: &RunRecord) -> &str {
    let name = run.name.as_deref().or(run.workflow_file.as_deref());
    name.unwrap_or("Run")
}

/// `#7`, and which attempt of it, once they are known.
pub(super) fn number(run: &RunRecord) -> String {
    match (run.number, run.attempt) {
        (0, _) => String::new(),
        (number, 1) => format!("#{number}"),
        (number, attempt) => format!("#{number}, attempt {attempt}"),
    }
}

/// A reference as people name it, with what it is.
pub(super) fn reference(reference: &str) -> (&'static str, String) {
    if let Some(branch) = reference.strip_prefix("refs/heads/") {
        return ("Branch", branch.to_owned());
    }
    if let Some(tag) = reference.strip_prefix("refs/tags/") {
        return ("Tag", tag.to_owned());
    }
    let pull = reference
        .strip_prefix("refs/pull/")
        .and_then(|rest| rest.split('/').next());
    match pull {
        Some(number) => ("Pull request", format!("#{number}")),
        None => ("Reference", reference.to_owned()),
    }
}

/// From one time to another; while there is no end, it goes on, and the page's script counts.
pub(super) fn render_duration(from: u64, to: Option<u64>) -> Markup {
    html! {
        @match to {
            Some(to) => (duration(to.saturating_sub(from))),
            None => span data-since=(from) { "under way" },
        }
    }
}

/// `0.4 s`, `12 s`, `3 min 5 s`, `2 h 0 min`.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=9 => format!("{:.1} s", ms as f64 / 1000.0),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A time; the page's script shows it in the reader's zone.
pub(super) fn time(ms: u64) -> Markup {
    let (day, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC");
    html! { time data-ms=(ms) { (text) } }
}

/// The date of a day since 1970-01-01, by the Gregorian calendar (Hinnant's algorithm).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_wrote_is_text() {
        assert_eq!(
            VisibleMarkup("<b title='x'>&\u{1b}").render().0,
            "&lt;b title=&#39;x&#39;&gt;&amp;&lt;U+001B&gt;"
        );
    }

    #[test]
    fn times_and_durations_are_readable_without_a_script() {
        let shown = |ms| time(ms).0.replace("</time>", "");
        assert!(shown(951_827_696_000).ends_with("2000-02-29 12:34:56 UTC"));
        assert!(shown(1_795_343_708_123).ends_with("2026-11-22 10:35:08 UTC"));
        let durations = [400, 12_999, 185_000, 7_200_000].map(duration);
        assert_eq!(durations, ["0.4 s", "12 s", "3 min 5 s", "2 h 0 min"]);
    }

    #[test]
    fn references_are_named_as_people_do() {
        for (reference_, what, name) in [
            ("refs/heads/a/b", "Branch", "a/b"),
            ("refs/tags/v1", "Tag", "v1"),
            ("refs/pull/7/head", "Pull request", "#7"),
        ] {
            assert_eq!(reference(reference_), (what, name.to_owned()));
        }
    }
}
