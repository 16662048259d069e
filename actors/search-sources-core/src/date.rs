//! Dates as other programs write them, to seconds since the Unix epoch.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// RFC 3339 (`2026-11-21T10:00:00Z`, with an offset or fractions).
pub(crate) fn rfc3339(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// Taskwarrior's `20261121T100000Z`.
pub(crate) fn compact(text: &str) -> Option<i64> {
    let time = text.strip_suffix('Z')?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", time).ok()?;
    let zoned = time.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

/// A day, `2026-11-21`: its first second in UTC.
pub(crate) fn day(text: &str) -> Option<i64> {
    let date: Date = text.parse().ok()?;
    let zoned = date.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(rfc3339("1970-01-02T00:00:00Z"), Some(86_400));
        assert_eq!(rfc3339("1970-01-01T02:00:00.5+01:00"), Some(3_600));
        assert_eq!(compact("19700102T000001Z"), Some(86_401));
        assert_eq!(day("1970-01-02"), Some(86_400));
        for wrong in ["", "20261321T000000Z", "2026-13-01", "yesterday"] {
            assert_eq!(
                (rfc3339(wrong), compact(wrong), day(wrong)),
                (None, None, None)
            );
        }
    }
}
