//! Request ids: taken over from the client when well-formed, else a new UUID version 7.

use std::cell::Cell;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::http::header::{HeaderName, HeaderValue};
use bytes::Bytes;
use uuid::Uuid;

/// The header that carries the id, both ways.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id taken over from a client, in bytes.
const MAX_LEN: usize = 128;

/// The id of one request: in the answer, in the log, in every problem.
///
/// A handler finds it in the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Takes a client's id over if it has 1 to 128 characters of `A-Z a-z 0-9 . _ -`: nothing that
    /// could break a log line or a header.
    pub fn accept(value: &HeaderValue) -> Option<Self> {
        let bytes = value.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let fits = (1..=MAX_LEN).contains(&bytes.len()) && bytes.iter().all(plain);
        fits.then(|| Self(value.clone()))
    }

    /// A new UUID version 7 (RFC 9562): sorts by time, unique in practice, not a secret.
    pub fn generate() -> Self {
        let mut text = [0_u8; uuid::fmt::Hyphenated::LENGTH];
        next_uuid().hyphenated().encode_lower(&mut text);
        let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(&text));
        Self(value.expect("hexadecimal digits and hyphens are a valid header value"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The id as a header value; a cheap clone.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

thread_local! {
    /// Random bits of the ids of this thread; seeded once by the operating system, then stepped.
    static RANDOM: Cell<u128> = Cell::new(Uuid::new_v4().as_u128());
}

/// A UUID version 7 without a system call for its random part: ids are made for every request.
fn next_uuid() -> Uuid {
    let millis = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    let random = RANDOM.with(|cell| {
        // A Weyl sequence: an odd step visits all 2^128 values, so no id of a thread repeats.
        let next = cell
            .get()
            .wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        cell.set(next);
        next
    });
    let mut bytes = [0_u8; 10];
    bytes.copy_from_slice(&mix(random).to_be_bytes()[..10]);
    uuid::Builder::from_unix_timestamp_millis(u64::try_from(millis).unwrap_or(0), &bytes)
        .into_uuid()
}

/// Spreads the step over all bits (the finaliser of SplitMix64, on both halves).
fn mix(value: u128) -> u128 {
    let half = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(z ^ (z >> 31))
    };
    (half((value >> 64) as u64) << 64) | half(value as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn new_ids_are_distinct_version_seven_uuids() {
        let ids: HashSet<String> = (0..10_000)
            .map(|_| RequestId::generate().to_string())
            .collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert_eq!(Uuid::parse_str(&id).unwrap().get_version_num(), 7, "{id}");
        }
    }

    #[test]
    fn only_plain_ids_are_taken_over() {
        let long = "a".repeat(129);
        for bad in ["", "a b", "a\tb", "a;b", "<x>", "é", long.as_str()] {
            let value = HeaderValue::from_bytes(bad.as_bytes()).unwrap();
            assert_eq!(RequestId::accept(&value), None, "{bad:?}");
        }
        let value = HeaderValue::from_static("job-7_a.B");
        assert_eq!(RequestId::accept(&value).unwrap().as_str(), "job-7_a.B");
    }
}
