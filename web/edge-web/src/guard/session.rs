//! The session of a browser: a cookie that stands for the API token, since a page's links and streams carry no header.
//!
//! The cookie is its end and a MAC over it, keyed by the token: nothing is kept on the server, a restart ends no session, and
//! another token ends them all.

use actix_web::dev::RequestHead;
use actix_web::http::header;

use super::ApiToken;

/// How long a session lasts.
pub(crate) const SESSION_S: u64 = 12 * 3600;

const PURPOSE: &str = "orrery 2026-11 browser session";

/// The value of a session's cookie that ends at `ends_s`, in seconds since the Unix epoch; `None` while there is no token.
pub(crate) fn issue(token: &ApiToken, name: &str, ends_s: u64) -> Option<String> {
    Some(format!("{ends_s}.{}", mac(token, name, ends_s)?.to_hex()))
}

/// Whether a cookie's value was issued for this token and has not ended.
pub(crate) fn holds(token: &ApiToken, name: &str, value: &str, now_s: u64) -> bool {
    let parts = value.split_once('.').and_then(|(ends, mac)| {
        let mac = blake3::Hash::from_hex(mac).ok()?;
        Some((ends.parse::<u64>().ok()?, mac))
    });
    // `blake3::Hash` compares in constant time.
    parts.is_some_and(|(ends, given)| ends > now_s && mac(token, name, ends) == Some(given))
}

/// The values of the cookies of this name.
pub(crate) fn cookies<'h>(head: &'h RequestHead, name: &str) -> Vec<&'h str> {
    let headers = head.headers().get_all(header::COOKIE);
    let pairs = headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'));
    pairs
        .filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        .collect()
}

fn mac(token: &ApiToken, name: &str, ends_s: u64) -> Option<blake3::Hash> {
    let key = blake3::derive_key(PURPOSE, token.hash()?.as_bytes());
    let text = format!("{name}\n{ends_s}");
    Some(blake3::keyed_hash(&key, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_of_one_token_one_program_and_ends() {
        let token = ApiToken::new("one").unwrap();
        let value = issue(&token, "runner", 1000).unwrap();
        assert!(holds(&token, "runner", &value, 999));
        assert!(!holds(&token, "runner", &value, 1000), "it has ended");
        assert!(!holds(&token, "other", &value, 999));
        let changed = ApiToken::new("two").unwrap();
        assert!(!holds(&changed, "runner", &value, 999));
        let longer = value.replace("1000.", "9000.");
        for wrong in ["", ".", "1000", "1000.", longer.as_str(), "x.y"] {
            assert!(!holds(&token, "runner", wrong, 999), "{wrong}");
        }
    }
}
