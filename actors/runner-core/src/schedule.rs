//! `schedule`: cron expressions of five fields (minute, hour, day, month, weekday).

use jiff::civil::DateTime;
use serde::Serialize;

/// When a workflow is started by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schedule {
    /// As written.
    pub cron: String,
    /// The IANA name of the time zone it is meant in; UTC when not given.
    pub timezone: Option<String>,
    #[serde(skip)]
    fields: [u64; 5],
}

/// A field's name, its least and greatest number, and its words.
struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    words: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field {
        name: "minute",
        least: 0,
        most: 59,
        words: &[],
    },
    Field {
        name: "hour",
        least: 0,
        most: 23,
        words: &[],
    },
    Field {
        name: "day of the month",
        least: 1,
        most: 31,
        words: &[],
    },
    Field {
        name: "month",
        least: 1,
        most: 12,
        words: &[
            "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
        ],
    },
    Field {
        name: "day of the week",
        least: 0,
        most: 6,
        words: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    },
];

impl Schedule {
    /// Reads a cron expression.
    ///
    /// # Errors
    /// Which field is wrong.
    pub fn parse(cron: &str, timezone: Option<String>) -> Result<Self, String> {
        let parts: Vec<&str> = cron.split_whitespace().collect();
        if parts.len() != FIELDS.len() {
            return Err(format!(
                "a schedule has 5 fields (minute, hour, day, month, weekday), this has {}",
                parts.len()
            ));
        }
        let mut fields = [0; 5];
        for ((bits, part), field) in fields.iter_mut().zip(&parts).zip(&FIELDS) {
            *bits = field.parse(part)?;
        }
        Ok(Self {
            cron: cron.to_owned(),
            timezone,
            fields,
        })
    }

    /// Whether it is due in the minute of `time` (in its time zone).
    pub fn matches(&self, time: DateTime) -> bool {
        let weekday = time.weekday().to_sunday_zero_offset();
        let now = [
            time.minute(),
            time.hour(),
            time.day(),
            time.month(),
            weekday,
        ];
        let has = |index: usize| self.fields[index] & (1 << now[index]) != 0;
        // Where both days are restricted, either will do: cron's old rule.
        let full = |index: usize| self.fields[index] == FIELDS[index].all();
        let day = match (full(2), full(4)) {
            (false, false) => has(2) || has(4),
            _ => has(2) && has(4),
        };
        has(0) && has(1) && has(3) && day
    }

    /// The first minute after `time` at which it is due, within the next five years.
    pub fn next_after(&self, time: DateTime) -> Option<DateTime> {
        let minute = jiff::Span::new().minutes(1);
        let mut at = time
            .with()
            .second(0)
            .subsec_nanosecond(0)
            .build()
            .ok()?
            .checked_add(minute)
            .ok()?;
        let last = time.checked_add(jiff::Span::new().years(5)).ok()?;
        while at <= last {
            if self.matches(at) {
                return Some(at);
            }
            // Whole days that cannot match are skipped.
            at = if self.day_matches(at) {
                at.checked_add(minute).ok()?
            } else {
                at.date().tomorrow().ok()?.at(0, 0, 0, 0)
            };
        }
        None
    }

    /// The shortest time between two of its minutes, in minutes; nothing when it is due once an
    /// hour at most.
    pub fn shortest_gap(&self) -> Option<u32> {
        let minutes: Vec<u32> = (0..60)
            .filter(|minute| self.fields[0] & (1 << minute) != 0)
            .collect();
        let (first, last) = (*minutes.first()?, *minutes.last()?);
        // Over the hour only where the next hour is due as well.
        let hours = self.fields[1];
        let over_the_hour = hours & (hours >> 1) != 0 || hours & 1 != 0 && hours >> 23 != 0;
        let wrapped = over_the_hour.then(|| first + 60 - last);
        let gaps = minutes.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.chain(wrapped).min().filter(|gap| *gap < 60)
    }

    fn day_matches(&self, at: DateTime) -> bool {
        let mut any_time = self.clone();
        any_time.fields[0] = FIELDS[0].all();
        any_time.fields[1] = FIELDS[1].all();
        any_time.matches(at)
    }
}

impl Field {
    fn all(&self) -> u64 {
        (self.least..=self.most).fold(0, |bits, number| bits | 1 << number)
    }

    fn parse(&self, text: &str) -> Result<u64, String> {
        text.split(',')
            .try_fold(0, |bits, part| Ok(bits | self.part(part)?))
    }

    /// `*`, `5`, `1-5`, each with `/step`.
    fn part(&self, text: &str) -> Result<u64, String> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => {
                let step = step
                    .parse()
                    .ok()
                    .filter(|step| *step > 0)
                    .ok_or_else(|| self.wrong(text))?;
                (range, Some(step))
            }
            None => (text, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (self.number(from)?, self.number(to)?),
            None if range == "*" => (self.least, self.most),
            None => {
                let number = self.number(range)?;
                (number, if step.is_some() { self.most } else { number })
            }
        };
        if from > to {
            return Err(self.wrong(text));
        }
        let numbers = (from..=to).step_by(step.unwrap_or(1));
        Ok(numbers.fold(0, |bits, number| bits | 1 << number))
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let word = self
            .words
            .iter()
            .position(|word| word.eq_ignore_ascii_case(text));
        if let Some(index) = word.and_then(|index| u32::try_from(index).ok()) {
            return Ok(index + self.least);
        }
        let number = text.parse().map_err(|_| self.wrong(text))?;
        // 7 is Sunday as well.
        let number = if self.most == 6 && number == 7 {
            0
        } else {
            number
        };
        if number < self.least || number > self.most {
            return Err(self.wrong(text));
        }
        Ok(number)
    }

    fn wrong(&self, text: &str) -> String {
        let Self {
            name, least, most, ..
        } = self;
        format!(
            "{} is not a {name} ({least} to {most})",
            config_core::quoted(text)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::datetime;

    fn next(cron: &str) -> Option<DateTime> {
        Schedule::parse(cron, None)
            .unwrap()
            .next_after(datetime(2026, 11, 21, 13, 7, 30, 0))
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
        ] {
            let error = Schedule::parse(cron, None).unwrap_err();
            assert!(error.contains(part), "{cron}: {error}");
        }
    }
}
