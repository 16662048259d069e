//! Host names and ports in texts.

/// Longest host name, in bytes (RFC 1035).
const MAX_NAME: usize = 253;

/// A host name in lower case without the dot of the root, or `None` when it is none. What ends in a
/// number is none: resolvers read `127.1` and `0x7f000001` as addresses.
pub(super) fn host_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let labels = || text.split('.');
    let plain = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = labels().next_back().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .get(..2)
            .is_some_and(|head| head.eq_ignore_ascii_case("0x"));
    (text.len() <= MAX_NAME && labels().all(plain) && !numeric).then(|| text.to_ascii_lowercase())
}

pub(super) fn port_number(text: &str) -> Option<u16> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0)
}
