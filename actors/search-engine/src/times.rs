//! Times as text.

/// Seconds since the Unix epoch as RFC 3339 in UTC; times outside of the years jiff knows are the
/// nearest one inside.
#[must_use]
pub fn rfc3339(seconds: i64) -> String {
    let (least, most) = (
        jiff::Timestamp::MIN.as_second(),
        jiff::Timestamp::MAX.as_second(),
    );
    let timestamp = jiff::Timestamp::from_second(seconds.clamp(least, most));
    timestamp.map_or_else(|_| String::new(), |time| time.to_string())
}

/// Seconds since the Unix epoch of a date as people write it at the head of a text, with a time or
/// without: `2026-11-28`, `2026-11-28 09:30`, `2026-11-28T09:30:00+01:00`. Without a zone it is
/// UTC.
pub(crate) fn written_date(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_second());
    }
    let time = text.parse::<jiff::civil::DateTime>().ok().or_else(|| {
        let date = text.parse::<jiff::civil::Date>().ok()?;
        Some(date.at(0, 0, 0, 0))
    })?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(time.timestamp().as_second())
}

/// When a text was last changed: by its own word, unless that is later than its file, which it
/// cannot be by more than a day (of zones).
pub(crate) fn believed(written: Option<i64>, file: i64) -> i64 {
    const DAY: i64 = 86_400;
    written
        .filter(|written| *written > 0 && (file <= 0 || *written <= file.saturating_add(DAY)))
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::{believed, rfc3339, written_date};

    #[test]
    fn i16_dates_of_texts_are_read_and_believed_within_reason() {
        for (text, seconds) in [
            ("2026-11-21", Some(1_795_219_200)),
            (" 2026-11-21T00:00:00Z", Some(1_795_219_200)),
            ("2026-11-21 01:00", Some(1_795_222_800)),
            ("2026-11-21T01:00:00+01:00", Some(1_795_219_200)),
            ("21 November", None),
            ("{{date}}", None),
            ("", None),
        ] {
            assert_eq!(written_date(text), seconds, "{text}");
        }
        assert_eq!(believed(Some(5), 1_000), 5);
        assert_eq!(believed(Some(10_000_000), 1_000), 1_000);
        assert_eq!(believed(Some(-5), 1_000), 1_000);
        assert_eq!(believed(None, 7), 7);
        assert_eq!(believed(Some(9), 0), 9);
    }

    #[test]
    fn seconds_become_utc_text() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_795_219_200), "2026-11-21T00:00:00Z");
        assert!(rfc3339(i64::MAX).starts_with("9999-"));
        assert!(rfc3339(i64::MIN).starts_with("-009999-"));
    }
}
