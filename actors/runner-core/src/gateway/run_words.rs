//! Where a run, a job and a step are, in the words of GitHub's API, and what lists of runs are
//! asked for.

use crate::state::{Conclusion, RunState};

/// `status` and `conclusion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusWords {
    /// `queued`, `in_progress`, `waiting`, `completed`.
    pub status: &'static str,
    /// How it ended.
    pub conclusion: Option<&'static str>,
}

impl StatusWords {
    /// It has not ended.
    #[must_use]
    pub fn open(status: &'static str) -> Self {
        Self {
            status,
            conclusion: None,
        }
    }

    /// It has.
    #[must_use]
    pub fn completed(conclusion: &'static str) -> Self {
        Self {
            status: "completed",
            conclusion: Some(conclusion),
        }
    }

    /// Of a run; `has_begun`: a job of it has, `is_skipped`: each of its jobs was.
    #[must_use]
    pub fn of_run(state: RunState, has_begun: bool, is_skipped: bool) -> Self {
        match state {
            RunState::Running => Self::open("in_progress"),
            RunState::Waiting => Self::open("waiting"),
            RunState::Planned | RunState::Allocating if has_begun => Self::open("in_progress"),
            RunState::Received | RunState::Parsing | RunState::Planned | RunState::Allocating => {
                Self::open("queued")
            }
            RunState::Succeeded if is_skipped => Self::completed("skipped"),
            RunState::Succeeded => Self::completed("success"),
            RunState::Failed | RunState::Lost => Self::completed("failure"),
            RunState::Cancelled => Self::completed("cancelled"),
            RunState::TimedOut => Self::completed("timed_out"),
            RunState::Refused => Self::completed("startup_failure"),
            RunState::Ignored => Self::completed("skipped"),
        }
    }

    /// Of a job or step.
    #[must_use]
    pub fn of_part(
        conclusion: Option<Conclusion>,
        timed_out: bool,
        open: impl FnOnce() -> &'static str,
    ) -> Self {
        match conclusion {
            None => Self::open(open()),
            Some(Conclusion::Failure) if timed_out => Self::completed("timed_out"),
            Some(conclusion) => Self::completed(conclusion.as_str()),
        }
    }

    /// Whether a list that is asked for this word has it: it names both.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.status == word || self.conclusion == Some(word)
    }
}

/// When runs were made, as `created` of a search says it: `2026-11-30`, `>=2026-11-30T02:00:00Z`,
/// `2026-11-01..2026-11-30`, `*..2026-11-30`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CreatedFilter {
    /// Milliseconds since the Unix epoch; not before.
    from: Option<i64>,
    /// Before.
    until: Option<i64>,
}

/// A time, and how many milliseconds it means.
type Span = (i64, i64);

impl CreatedFilter {
    /// `None`: it is no such text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (from, until) = if let Some((from, until)) = text.split_once("..") {
            let side = |text: &str| match text {
                "*" | "" => Some(None),
                text => Some(Some(span(text)?)),
            };
            let (from, until) = (side(from)?, side(until)?);
            (
                from.map(|(at, _)| at),
                until.map(|(at, length)| at + length),
            )
        } else if let Some(rest) = text.strip_prefix(">=") {
            (Some(span(rest)?.0), None)
        } else if let Some(rest) = text.strip_prefix("<=") {
            let (at, length) = span(rest)?;
            (None, Some(at + length))
        } else if let Some(rest) = text.strip_prefix('>') {
            let (at, length) = span(rest)?;
            (Some(at + length), None)
        } else if let Some(rest) = text.strip_prefix('<') {
            (None, Some(span(rest)?.0))
        } else {
            let (at, length) = span(text)?;
            (Some(at), Some(at + length))
        };
        Some(Self { from, until })
    }

    /// Whether a run is within it that was made then, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn contains(&self, at_ms: u64) -> bool {
        let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// What a date or a time means; a date is one of Greenwich.
fn span(text: &str) -> Option<Span> {
    const DAY: i64 = 86_400_000;
    const SECOND: i64 = 1_000;
    // A plus of a zone that was not written as %2B.
    let text = text.trim().replace(' ', "+");
    if let Ok(date) = text.parse::<jiff::civil::Date>()
        && text.len() == 10
    {
        let begin = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        return Some((begin.timestamp().as_millisecond(), DAY));
    }
    let at: jiff::Timestamp = text.parse().ok()?;
    Some((at.as_millisecond(), SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_runs_are_called_as_github_calls_them() {
        use RunState as State;
        for (state, has_begun, expected) in [
            (State::Received, false, ("queued", None)),
            (State::Parsing, false, ("queued", None)),
            (State::Planned, false, ("queued", None)),
            (State::Allocating, false, ("queued", None)),
            (State::Allocating, true, ("in_progress", None)),
            (State::Running, true, ("in_progress", None)),
            (State::Waiting, false, ("waiting", None)),
            (State::Succeeded, true, ("completed", Some("success"))),
            (State::Failed, true, ("completed", Some("failure"))),
            (State::Lost, true, ("completed", Some("failure"))),
            (State::Cancelled, false, ("completed", Some("cancelled"))),
            (State::TimedOut, true, ("completed", Some("timed_out"))),
            (
                State::Refused,
                false,
                ("completed", Some("startup_failure")),
            ),
        ] {
            let words = StatusWords::of_run(state, has_begun, false);
            assert_eq!((words.status, words.conclusion), expected, "{state:?}");
        }
        let skipped = StatusWords::of_run(State::Succeeded, false, true);
        assert!(skipped.is("skipped") && skipped.is("completed") && !skipped.is("success"));
        for state in State::ALL {
            let words = StatusWords::of_run(state, true, false);
            assert_eq!(words.conclusion.is_some(), state.is_terminal(), "{state:?}");
        }
        let late = StatusWords::of_part(Some(Conclusion::Failure), true, || "queued");
        assert!(late.is("timed_out"));
        assert!(StatusWords::of_part(None, false, || "waiting").is("waiting"));
    }

    #[test]
    fn i17_times_are_read_as_searches_have_them() {
        let at = |text: &str| {
            let at: jiff::Timestamp = text.parse().unwrap();
            u64::try_from(at.as_millisecond()).unwrap()
        };
        let noon = at("2026-11-15T12:00:00.500Z");
        for (text, expected) in [
            ("2026-11-15", Some(true)),
            ("2026-11-14", Some(false)),
            (">2026-11-14", Some(true)),
            (">2026-11-15", Some(false)),
            (">=2026-11-15", Some(true)),
            ("<2026-11-15", Some(false)),
            ("<=2026-11-15", Some(true)),
            ("2026-11-01..2026-11-15", Some(true)),
            ("2026-11-16..*", Some(false)),
            ("*..2026-11-16", Some(true)),
            (">=2026-11-15T13:00:00+01:00", Some(true)),
            // As it comes where the plus was not written as %2B.
            (">=2026-11-15T13:00:00 01:00", Some(true)),
            ("2026-11-15T12:00:00Z", Some(true)),
            ("yesterday", None),
            ("", None),
            (">", None),
            ("99999-99-99", None),
        ] {
            let found = CreatedFilter::parse(text).map(|filter| filter.contains(noon));
            assert_eq!(found, expected, "{text}");
        }
    }
}
