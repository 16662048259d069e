//! When a token of a VM manager ends: what its owner can read of it without the key.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::UnixMs;

/// From so long before its end a token is to be replaced; one that holds for less than twice this
/// time, from half of it on.
const NOTICE: Duration = Duration::from_secs(14 * 86_400);

/// What a token says of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTimes {
    /// When it was made, where it says so.
    pub made: Option<UnixMs>,
    /// When it ends.
    pub end: UnixMs,
}

#[derive(Deserialize)]
struct Claims {
    /// In seconds since 1970, as the other one.
    exp: u64,
    iat: Option<u64>,
}

impl TokenTimes {
    /// Those of a token; `None` where it says nothing, as one that is no JSON Web Token.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        let claims = token.split('.').nth(1)?;
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        let claims: Claims = serde_json::from_slice(&claims).ok()?;
        let at = |seconds: u64| UnixMs(seconds.saturating_mul(1000));
        Some(Self {
            made: claims.iat.map(at),
            end: at(claims.exp),
        })
    }

    /// What is to be said of it now; nothing while its end is far away.
    #[must_use]
    pub fn notice(self, now: UnixMs) -> Option<String> {
        let (left, end) = (self.end.since(now), self.end);
        let lifetime = self.made.map(|made| end.since(made));
        if left > lifetime.map_or(NOTICE, |all| NOTICE.min(all / 2)) {
            return None;
        }
        let when = match left.as_secs() / 3600 {
            _ if left.is_zero() => "has ended".to_owned(),
            hours if hours < 48 => format!("ends in {hours} h"),
            hours => format!("ends in {} days", hours / 24),
        };
        Some(format!(
            "its token {when} ({end}): make another one there with `vm-manager token`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn i18_a_token_says_when_it_ends_to_whoever_has_it() {
        let of = |claims: &str| {
            let claims = URL_SAFE_NO_PAD.encode(claims);
            TokenTimes::parse(&format!("e30.{claims}.c2ln"))
        };
        let times = of(r#"{"sub":"runner","iat":1795266000,"exp":1795266300}"#);
        let expected = TokenTimes {
            made: Some(UnixMs(1_795_266_000_000)),
            end: UnixMs(1_795_266_300_000),
        };
        assert_eq!(times, Some(expected));
        for (text, what) in [("{}", "no end"), ("7", "no claims"), ("{", "no JSON")] {
            assert_eq!(of(text), None, "{what}");
        }
        assert_eq!(TokenTimes::parse("secret"), None);
        assert_eq!(TokenTimes::parse("a.b"), None);
    }

    #[test]
    fn i18_a_token_that_ends_within_14_days_is_told_of() {
        let end = UnixMs(1_795_266_300_000);
        let before = |ms: u64, lifetime: Option<u64>| {
            let made = lifetime.map(|lifetime| UnixMs(end.0 - lifetime));
            TokenTimes { made, end }.notice(UnixMs(end.0 - ms))
        };
        for lifetime in [None, Some(365 * DAY), Some(30 * DAY)] {
            assert_eq!(before(14 * DAY + 1, lifetime), None);
            assert_eq!(
                before(5 * DAY, lifetime).as_deref(),
                Some(
                    "its token ends in 5 days (2026-11-21T13:05:00.000Z): make another one there \
                     with `vm-manager token`"
                )
            );
        }
        // One that was made for some days only is no news at once.
        assert_eq!(before(5 * DAY, Some(8 * DAY)), None);
        let last_day = before(DAY, Some(8 * DAY));
        assert!(last_day.is_some_and(|text| text.contains("ends in 24 h")));
        let late = TokenTimes { made: None, end }.notice(UnixMs(end.0 + DAY));
        assert!(late.is_some_and(|text| text.contains("has ended")));
    }
}
