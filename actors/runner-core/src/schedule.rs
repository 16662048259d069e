//! `schedule`: cron expressions of five fields (minute, hour, day, month, weekday), in GitHub's
//! dialect: numbers, names, `*`, lists, ranges and steps. Gitea and Forgejo have words for the
//! usual ones beside (`@daily`, `@every 2h`), and a time zone in front (`TZ=UTC 0 4 * * *`).

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use serde::Serialize;

/// When a workflow is started by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schedule {
    /// As written.
    pub cron: String,
    /// The IANA name of the time zone it is meant in; UTC when not given.
    pub timezone: Option<String>,
    #[serde(skip)]
    times: Times,
    /// Whether any date matches; nobody looks for the next 31 February.
    #[serde(skip)]
    is_ever_due: bool,
}

/// When it is due.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Times {
    At(Box<Cron>),
    /// Every so many minutes, counted from 1970 on.
    Every(i64),
}

/// What Gitea and Forgejo have words for.
const WORDS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Whether it is written as only Gitea and Forgejo read it.
#[must_use]
pub fn is_of_forges(cron: &str) -> bool {
    let cron = cron.trim_start();
    ["@", "TZ=", "CRON_TZ="]
        .iter()
        .any(|start| cron.starts_with(start))
}

/// A time zone in front, and the rest.
fn with_zone(cron: &str) -> (Option<&str>, &str) {
    let cron = cron.trim();
    let named = ["TZ=", "CRON_TZ="];
    let zone = named.iter().find_map(|start| cron.strip_prefix(start));
    match zone.and_then(|rest| rest.split_once(char::is_whitespace)) {
        Some((zone, rest)) => (Some(zone), rest.trim()),
        None => (None, cron),
    }
}

/// `1h30m`: minutes, one at least.
fn minutes_of(text: &str) -> Option<i64> {
    let mut seconds = 0_i64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].chars().next()?;
        let factor = match unit {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.checked_mul(factor)?)?;
        rest = &rest[digits + 1..];
    }
    let minutes = seconds / 60;
    // A century is for ever.
    (1..=52_560_000).contains(&minutes).then_some(minutes)
}

/// A field's name, what it may hold, and whether names of three letters are among it.
struct Field {
    name: &'static str,
    range: &'static str,
    has_names: bool,
}

const FIELDS: [Field; 5] = [
    Field::new("minute", "0 to 59", false),
    Field::new("hour", "0 to 23", false),
    Field::new("day of the month", "1 to 31", false),
    Field::new("month", "1 to 12", true),
    Field::new("day of the week", "0 to 6", true),
];

/// From where gaps are looked for: any day will do.
const GAPS_FROM: Date = date(2026, 3, 1);
/// Its first day; a year with a 29 February.
const LEAP_YEAR: Date = date(2028, 1, 1);

impl Schedule {
    /// Reads a cron expression.
    ///
    /// # Errors
    /// Which field is wrong.
    pub fn parse(cron: &str, timezone: Option<String>) -> Result<Self, String> {
        let (zone, times) = with_zone(cron);
        let timezone = timezone.or_else(|| zone.map(str::to_owned));
        if let Some(every) = times.strip_prefix("@every ") {
            let minutes = minutes_of(every).ok_or_else(|| {
                let every = config_core::quoted(every);
                format!("{every} is no duration of a minute or more (`90m`, `1h30m`)")
            })?;
            return Ok(Self {
                cron: cron.to_owned(),
                timezone,
                times: Times::Every(minutes),
                is_ever_due: true,
            });
        }
        let word = WORDS.iter().find(|(word, _)| *word == times);
        if word.is_none() && times.starts_with('@') {
            let words = WORDS.map(|(word, _)| word).join(", ");
            let times = config_core::quoted(times);
            return Err(format!(
                "{times} is no schedule: there are {words} and @every"
            ));
        }
        let times = word.map_or(times, |(_, fields)| fields);
        let parts: Vec<&str> = times.split_whitespace().collect();
        if parts.len() != FIELDS.len() {
            return Err(format!(
                "a schedule has 5 fields (minute, hour, day, month, weekday), this has {}",
                parts.len()
            ));
        }
        for (index, (part, field)) in parts.iter().zip(&FIELDS).enumerate() {
            field.check(index, part)?;
        }
        let times = read(&parts.join(" ")).map_err(|error| error.to_string())?;
        let days = format!("* * {} {} {}", parts[2], parts[3], parts[4]);
        Ok(Self {
            cron: cron.to_owned(),
            timezone,
            times: Times::At(Box::new(times)),
            is_ever_due: matches_a_day(&days),
        })
    }

    /// Whether any date matches it.
    pub fn is_ever_due(&self) -> bool {
        self.is_ever_due
    }

    /// The first time after `time` at which it is due, in the zone of `time`. A time that a change
    /// to summer time skips is due right after the change, one that comes twice is due once.
    pub fn next_after(&self, time: &Zoned) -> Option<Zoned> {
        if !self.is_ever_due {
            return None;
        }
        match &self.times {
            Times::At(cron) => cron.find_next_occurrence(time, false).ok(),
            Times::Every(minutes) => {
                let step = minutes * 60;
                let passed = time.timestamp().as_second().div_euclid(step);
                let next = Timestamp::from_second((passed + 1).checked_mul(step)?).ok()?;
                Some(next.to_zoned(time.time_zone().clone()))
            }
        }
    }

    /// The shortest time between two of its minutes, in minutes; nothing when it is due once an
    /// hour at most.
    pub fn shortest_gap(&self) -> Option<i64> {
        let cron = match &self.times {
            Times::At(cron) => cron,
            Times::Every(minutes) => return Some(*minutes).filter(|gap| *gap < 60),
        };
        let first = self.next_after(&GAPS_FROM.to_zoned(TimeZone::UTC).ok()?)?;
        let last = first.checked_add(25.hours()).ok()?;
        let minute = |time: &Zoned| time.timestamp().as_second() / 60;
        let mut times = vec![minute(&first)];
        let later = cron.iter_after(first);
        times.extend(
            later
                .take_while(|time| *time <= last)
                .map(|time| minute(&time)),
        );
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.min().filter(|gap| *gap < 60)
    }
}

impl Field {
    const fn new(name: &'static str, range: &'static str, has_names: bool) -> Self {
        Self {
            name,
            range,
            has_names,
        }
    }

    /// Reads the field alone, so that what is wrong has a name; what GitHub does not know (`L`,
    /// `#`, `?`) is wrong too.
    fn check(&self, index: usize, text: &str) -> Result<(), String> {
        let mut alone = ["*"; FIELDS.len()];
        alone[index] = text;
        let words = text.split(|c: char| !c.is_ascii_alphabetic());
        let known = text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "*,-/".contains(c))
            && !text.split(',').any(|part| part.starts_with('/'))
            && words.into_iter().all(|word| match word.len() {
                0 => true,
                3 => self.has_names,
                _ => false,
            });
        if known && read(&alone.join(" ")).is_ok() {
            return Ok(());
        }
        let text = config_core::quoted(text);
        Err(format!("{text} is not a {} ({})", self.name, self.range))
    }
}

/// Whether one of a leap year's days matches. Where weekdays are named as well, either will do, and
/// each comes.
fn matches_a_day(days: &str) -> bool {
    let Ok(cron) = read(days) else { return false };
    let mut dates = LEAP_YEAR.series(1.day()).take(366);
    dates.any(|day| {
        let start = day.to_zoned(TimeZone::UTC);
        start.is_ok_and(|start| cron.is_time_matching(&start).unwrap_or(false))
    })
}

fn read(cron: &str) -> Result<Cron, croner::errors::CronError> {
    CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        // `5/15`: from 5 on.
        .sloppy_ranges(true)
        .build()
        .parse(cron)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::{DateTime, datetime};

    fn next(cron: &str) -> Option<DateTime> {
        let now = datetime(2026, 11, 21, 13, 7, 30, 0);
        let now = now.to_zoned(TimeZone::UTC).unwrap();
        let schedule = Schedule::parse(cron, None).unwrap();
        schedule.next_after(&now).map(|next| next.datetime())
    }

    #[test]
    fn a_time_that_comes_twice_is_due_once() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let schedule = Schedule::parse("30 2 * * *", None).unwrap();
        let mut at = date(2026, 10, 24).to_zoned(zone).unwrap();
        let mut days = Vec::new();
        for _ in 0..3 {
            at = schedule.next_after(&at).unwrap();
            days.push((at.day(), at.hour(), at.minute()));
        }
        assert_eq!(days, [(24, 2, 30), (25, 2, 30), (26, 2, 30)]);
    }

    #[test]
    fn the_next_time_is_found() {
        for (cron, expected) in [
            ("*/15 * * * *", datetime(2026, 11, 21, 13, 15, 0, 0)),
            ("0 4 * * *", datetime(2026, 11, 22, 4, 0, 0, 0)),
            ("30 5 * * 1,3", datetime(2026, 11, 23, 5, 30, 0, 0)),
            ("0 0 1 JAN *", datetime(2027, 1, 1, 0, 0, 0, 0)),
            ("0 0 29 2 *", datetime(2028, 2, 29, 0, 0, 0, 0)),
            ("0 0 13 * 5", datetime(2026, 11, 27, 0, 0, 0, 0)),
            ("7 13 * * 7", datetime(2026, 11, 22, 13, 7, 0, 0)),
            ("2/20 14 * * *", datetime(2026, 11, 21, 14, 2, 0, 0)),
            ("@daily", datetime(2026, 11, 22, 0, 0, 0, 0)),
            ("@hourly", datetime(2026, 11, 21, 14, 0, 0, 0)),
            ("@every 1h30m", datetime(2026, 11, 21, 13, 30, 0, 0)),
        ] {
            assert_eq!(next(cron), Some(expected), "{cron}");
        }
        assert_eq!(next("0 0 31 2 *"), None);
    }

    #[test]
    fn the_shortest_gap_is_found() {
        for (cron, expected) in [
            ("*/15 * * * *", Some(15)),
            ("* * * * *", Some(1)),
            ("0,4 1 * * *", Some(4)),
            ("1,59 * * * *", Some(2)),
            ("1,59 3 * * *", Some(58)),
            ("0 4 * * *", None),
            ("7 * * * *", None),
            ("2,58 23,0 * * *", Some(4)),
        ] {
            let schedule = Schedule::parse(cron, None).unwrap();
            assert_eq!(schedule.shortest_gap(), expected, "{cron}");
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        for (cron, part) in [
            ("* * * *", "5 fields"),
            ("60 * * * *", "`60` is not a minute"),
            ("* 5-3 * * *", "not a hour"),
            ("* * 0 * *", "day of the month"),
            ("* * * FOO *", "`FOO` is not a month"),
            ("*/0 * * * *", "not a minute"),
            ("* * L * *", "`L` is not a day of the month"),
            ("* * * * 5#2", "`5#2` is not a day of the week"),
            ("MON * * * *", "`MON` is not a minute"),
            ("* * * * MONDAY", "`MONDAY` is not a day of the week"),
            ("? * * * *", "`?` is not a minute"),
            ("/5 * * * *", "`/5` is not a minute"),
            ("@dayly", "`@dayly` is no schedule"),
            ("@every 5s", "`5s` is no duration"),
        ] {
            let error = Schedule::parse(cron, None).unwrap_err();
            assert!(error.contains(part), "{cron}: {error}");
        }
    }
}
