//! Cron expressions with a time zone.

use config_core::ValueError;
use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Millis;

/// A schedule that can be asked when it is due.
#[derive(Debug, Clone)]
pub struct DueTimes {
    cron: Cron,
    zone: TimeZone,
}

impl DueTimes {
    /// Reads a cron expression of five or six fields (seconds first), or `@daily` and the like.
    ///
    /// # Errors
    /// What is wrong with it; also when no date can ever match (30 February).
    pub fn parse(expression: &str, zone: TimeZone) -> Result<Self, ValueError> {
        let help = "for example `*/15 * * * *` or `30 6 * * MON-FRI`";
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(expression).map_err(|error| {
            let reason = lower(reason(&error).trim_end_matches('.'));
            ValueError::new(format!("the schedule is not valid: {reason}")).help(help)
        })?;
        let due = Self { cron, zone };
        if due.next_after(0).is_none() {
            return Err(ValueError::new("the schedule is never due").help(help));
        }
        Ok(due)
    }

    /// The first due time after `after`, in whole seconds.
    ///
    /// A wall-clock time that a change to summer time skips is due right after the change; one that
    /// a change back repeats is due once.
    pub fn next_after(&self, after: Millis) -> Option<Millis> {
        let after = i64::try_from(after).ok()?;
        let start = Timestamp::from_millisecond(after).ok()?;
        let start = start.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&start, false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok()
    }

    /// The last due time at or before `at`.
    pub fn last_until(&self, at: Millis) -> Option<Millis> {
        let at = Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
        let at = at.to_zoned(self.zone.clone());
        let last = self.cron.find_previous_occurrence(&at, true).ok()?;
        u64::try_from(last.timestamp().as_millisecond()).ok()
    }
}

impl PartialEq for DueTimes {
    fn eq(&self, other: &Self) -> bool {
        self.cron.pattern.to_string() == other.cron.pattern.to_string() && self.zone == other.zone
    }
}

fn reason(error: &CronError) -> &str {
    match error {
        CronError::ComponentError(reason)
        | CronError::InvalidPattern(reason)
        | CronError::IllegalCharacters(reason) => reason,
        _ => "no date matches it",
    }
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        let timestamp: Timestamp = text.parse().expect("a timestamp");
        timestamp.as_millisecond().unsigned_abs()
    }

    fn due(expression: &str, zone: &str) -> DueTimes {
        DueTimes::parse(expression, TimeZone::get(zone).expect("a zone")).expect("a schedule")
    }

    #[test]
    fn due_times_follow_the_zone() {
        let daily = due("30 6 * * *", "Europe/Berlin");
        assert_eq!(
            daily.next_after(at("2026-07-01T00:00:00Z")),
            Some(at("2026-07-01T04:30:00Z"))
        );
        assert_eq!(
            daily.next_after(at("2026-12-01T00:00:00Z")),
            Some(at("2026-12-01T05:30:00Z"))
        );
        assert_eq!(
            daily.last_until(at("2026-12-01T05:30:00Z")),
            Some(at("2026-12-01T05:30:00Z"))
        );
    }

    #[test]
    fn f09_daylight_saving_neither_skips_nor_doubles() {
        // Berlin: 2026-03-29 02:00 → 03:00, 2026-10-25 03:00 → 02:00.
        let daily = due("30 2 * * *", "Europe/Berlin");
        let days = |from: &str, to: &str| {
            let (mut at_now, end, mut times) = (at(from), at(to), 0);
            while let Some(next) = daily.next_after(at_now).filter(|next| *next < end) {
                (at_now, times) = (next, times + 1);
            }
            times
        };
        assert_eq!(days("2026-03-27T12:00:00Z", "2026-03-31T12:00:00Z"), 4);
        assert_eq!(days("2026-10-23T12:00:00Z", "2026-10-27T12:00:00Z"), 4);
    }

    #[test]
    fn wrong_schedules_are_explained() {
        for wrong in ["", "* * * *", "61 * * * *", "0 0 30 2 *", "every day"] {
            assert!(
                DueTimes::parse(wrong, TimeZone::UTC).is_err(),
                "{wrong:?} is no schedule"
            );
        }
    }
}
