//! The path of a call, as nobody reads it otherwise.

use super::refusal::{CallRefusal, refuse};

/// Endpoints that name what may hold a slash, right behind themselves.
const WITH_NAMES: [&str; 11] = [
    "archive", "branches", "commits", "compare", "contents", "labels", "media", "raw", "tags",
    "tarball", "zipball",
];
/// Longest path of a call.
const MAX_PATH: usize = 4096;

/// The parts of a path; what a server could read in two ways is refused.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, CallRefusal> {
    let wrong = |reason: &str| refuse(format!("the path of the call {reason}"));
    if path.len() > MAX_PATH {
        return wrong("is too long");
    }
    let Some(rest) = path.strip_prefix('/') else {
        return wrong("begins with no slash");
    };
    let odd = |byte: u8| byte <= b' ' || byte >= 0x7f || b"\\;?#".contains(&byte);
    if rest.bytes().any(odd) {
        return wrong("has characters that must be written as %XX");
    }
    if rest.ends_with('/') {
        return wrong("ends with a slash");
    }
    let parts: Vec<&str> = rest.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        if part.is_empty() {
            return wrong("has two slashes in a row");
        }
        // Owner, name and what comes first behind them are written plainly.
        if at < 5 && at != 4 && part.contains('%') {
            return wrong("names its repository or endpoint with %XX");
        }
        let decoded = decoded(part);
        if decoded
            .bytes()
            .any(|byte| byte < b' ' || byte == b'\\' || byte == 0x7f)
        {
            return wrong("holds control characters");
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if escapes(part).any(plain) {
            return wrong("writes plain characters as %XX");
        }
        if at == 4 && part.contains('%') && !may_be_escaped(parts[3], part) {
            return wrong("names its endpoint with %XX");
        }
        if decoded.split('/').any(|inner| matches!(inner, "." | "..")) {
            return wrong("holds `.` or `..`");
        }
        // Decoded once more by somebody, it would be another path.
        if has_escape(&decoded) {
            return wrong("is written with %XX twice");
        }
    }
    Ok(parts)
}

/// Whether what stands behind an endpoint may be written with `%XX`.
fn may_be_escaped(endpoint: &str, part: &str) -> bool {
    let is_one_name = !part.to_ascii_lowercase().contains("%2f");
    WITH_NAMES.contains(&endpoint) || endpoint == "environments" && is_one_name
}

/// The text with each `%XX` taken as its byte.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let escape = (*first == b'%').then(|| more.get(..2)).flatten();
        let escape = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The bytes that are written as `%XX`.
fn escapes(text: &str) -> impl Iterator<Item = u8> {
    text.split('%').skip(1).filter_map(|rest| {
        let digits = rest.get(..2)?;
        u8::from_str_radix(digits, 16).ok()
    })
}

fn has_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit))
}
