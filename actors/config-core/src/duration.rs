//! Durations with a unit.

use std::time::Duration;

use crate::suggest::quoted;
use crate::value_error::ValueError;

/// Units in milliseconds, largest first, in the order they may follow each other.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads `300s`, `250ms`, `1h30m`, `2d`: whole numbers with units, the larger unit first.
///
/// # Errors
/// Not a number, no unit or an unknown one, units out of order, more than 2^64 milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let wrong = || ValueError::new(format!("{} is not a duration", quoted(text)));
    let mut rest = text.trim();
    let mut milliseconds: u64 = 0;
    let mut next_unit = 0;
    if rest.is_empty() {
        return Err(wrong().help("for example `300s`, `250ms` or `1h30m`"));
    }
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (unit, after) = split(after, |c| c.is_alphabetic());
        if number.is_empty() {
            return Err(wrong().help("for example `300s`, `250ms` or `1h30m`"));
        }
        if unit.is_empty() {
            return Err(wrong().help(format!("give a unit, for example `{number}s`")));
        }
        let Some(index) = UNITS.iter().position(|(name, _)| *name == unit) else {
            return Err(wrong().help("units: d, h, m (minutes), s, ms"));
        };
        if index < next_unit {
            return Err(wrong().help("the larger unit stands first, each once"));
        }
        next_unit = index + 1;
        let added = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(UNITS[index].1));
        let sum = added.and_then(|added| milliseconds.checked_add(added));
        milliseconds =
            sum.ok_or_else(|| ValueError::new(format!("{} is too long", quoted(text))))?;
        rest = after.trim_start();
    }
    Ok(Duration::from_millis(milliseconds))
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c: char| !belongs(c)).unwrap_or(text.len()))
}

/// Writes a duration the way [`parse_duration`] reads it; below a millisecond nothing is written.
pub fn format_duration(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, size) in UNITS {
        if left >= size {
            text.push_str(&format!("{}{unit}", left / size));
            left %= size;
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, milliseconds, shown) in [
            ("300s", 300_000, "5m"),
            ("250ms", 250, "250ms"),
            ("1h30m", 5_400_000, "1h30m"),
            ("1h 30m", 5_400_000, "1h30m"),
            ("2d", 172_800_000, "2d"),
            ("0s", 0, "0s"),
        ] {
            let duration = Duration::from_millis(milliseconds);
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
            assert_eq!(format_duration(duration), shown);
        }
    }

    #[test]
    fn wrong_durations_are_explained() {
        for (text, message) in [
            (
                "",
                "`` is not a duration (for example `300s`, `250ms` or `1h30m`)",
            ),
            (
                "-1s",
                "`-1s` is not a duration (for example `300s`, `250ms` or `1h30m`)",
            ),
            (
                "300",
                "`300` is not a duration (give a unit, for example `300s`)",
            ),
            (
                "5 weeks",
                "`5 weeks` is not a duration (give a unit, for example `5s`)",
            ),
            (
                "5weeks",
                "`5weeks` is not a duration (units: d, h, m (minutes), s, ms)",
            ),
            (
                "5m1h",
                "`5m1h` is not a duration (the larger unit stands first, each once)",
            ),
            (
                "99999999999999999999s",
                "`99999999999999999999s` is too long",
            ),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), message);
        }
    }
}
