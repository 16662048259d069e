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

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn seconds_become_utc_text() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_795_219_200), "2026-11-21T00:00:00Z");
        assert!(rfc3339(i64::MAX).starts_with("9999-"));
        assert!(rfc3339(i64::MIN).starts_with("-009999-"));
    }
}
