//! A point in time as the manager stores and shows it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since 1970-01-01 UTC. In JSON it is RFC 3339 text in UTC with milliseconds, as in
/// `2026-11-21T13:05:00.250Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// This much later; stays at the greatest value instead of overflowing.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(ms))
    }

    /// The time from `earlier` until this; zero when `earlier` is the later one, as after a clock
    /// that was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for UnixMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(ms) {
            Ok(timestamp) => write!(f, "{timestamp:.3}"),
            // Past the year 9999: no calendar shows it.
            Err(_) => write!(f, "{:.3}", jiff::Timestamp::MAX),
        }
    }
}

impl utoipa::PartialSchema for UnixMs {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for UnixMs {}

impl Serialize for UnixMs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UnixMs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(|error| {
            de::Error::custom(format!("not a time of RFC 3339: {text:?}: {error}"))
        })?;
        u64::try_from(timestamp.as_millisecond())
            .map(Self)
            .map_err(|_| de::Error::custom(format!("a time before 1970: {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_milliseconds() {
        let time = UnixMs(1_795_266_300_250);
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, "\"2026-11-21T13:05:00.250Z\"");
        assert_eq!(serde_json::from_str::<UnixMs>(&json).unwrap(), time);
        assert_eq!(UnixMs(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert!(UnixMs(u64::MAX).to_string().starts_with("9999-12-30"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["\"yesterday\"", "\"1969-12-31T23:59:59Z\"", "17"] {
            assert!(serde_json::from_str::<UnixMs>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arithmetic_neither_overflows_nor_goes_below_zero() {
        assert_eq!(UnixMs(u64::MAX).plus(Duration::MAX), UnixMs(u64::MAX));
        assert_eq!(UnixMs(5).since(UnixMs(9)), Duration::ZERO);
        assert_eq!(UnixMs(5).plus(Duration::from_secs(1)), UnixMs(1005));
    }
}
