//! The path of a call, as nobody reads it otherwise.

use percent_encoding::percent_decode_str;

use super::refusal::{CallRefusal, refuse};

/// Endpoints that name what may hold a slash, right behind themselves.
const WITH_NAMES: [&str; 11] = [
    "archive", "branches", "commits", "compare", "contents", "labels", "media", "raw", "tags",
    "tarball", "zipball",
];
/// Longest path of a call.
pub(super) const MAX_PATH: usize = 4096;

/// The parts of a path; what a server could read in two ways is refused.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, CallRefusal> {
    let wrong = |reason: &str| refuse(of_path(reason));
    if path.len() > MAX_PATH {
        return wrong("is too long");
    }
    let Some(rest) = path.strip_prefix('/') else {
        return wrong("begins with no slash");
    };
    if has_odd_bytes(rest) {
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
        let decoded = part_decoded(part).map_err(|reason| CallRefusal(of_path(reason)))?;
        if at == 4 && part.contains('%') && !may_be_escaped(parts[3], part) {
            return wrong("names its endpoint with %XX");
        }
        check_names(&decoded).map_err(|reason| CallRefusal(of_path(reason)))?;
    }
    Ok(parts)
}

pub(super) fn of_path(reason: &str) -> String {
    format!("the path of the call {reason}")
}

/// A part of a path, decoded, where everybody decodes it alike.
pub(super) fn part_decoded(part: &str) -> Result<String, &'static str> {
    let decoded = decoded(part);
    if decoded
        .bytes()
        .any(|byte| byte < b' ' || byte == b'\\' || byte == 0x7f)
    {
        return Err("holds control characters");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if escapes(part).any(plain) {
        return Err("writes plain characters as %XX");
    }
    Ok(decoded)
}

/// Whether a decoded part names what everybody finds in the same place.
pub(super) fn check_names(decoded: &str) -> Result<(), &'static str> {
    if decoded.split('/').any(|inner| matches!(inner, "." | "..")) {
        return Err("holds `.` or `..`");
    }
    // Decoded once more by somebody, it would be another path.
    match has_escape(decoded) {
        true => Err("is written with %XX twice"),
        false => Ok(()),
    }
}

/// Whether a path has bytes that must be written as `%XX`.
pub(super) fn has_odd_bytes(path: &str) -> bool {
    let odd = |byte: u8| byte <= b' ' || byte >= 0x7f || b"\\;?#".contains(&byte);
    path.bytes().any(odd)
}

/// Whether what stands behind an endpoint may be written with `%XX`.
fn may_be_escaped(endpoint: &str, part: &str) -> bool {
    let is_one_name = !part.to_ascii_lowercase().contains("%2f");
    WITH_NAMES.contains(&endpoint) || endpoint == "environments" && is_one_name
}

/// The text with each `%XX` taken as its byte.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The bytes that are written as `%XX`.
fn escapes(text: &str) -> impl Iterator<Item = u8> {
    text.split('%').skip(1).filter_map(|rest| {
        let digits = rest.as_bytes().get(..2)?;
        let digits: [u8; 1] = hex::decode(digits).ok()?.try_into().ok()?;
        Some(digits[0])
    })
}

fn has_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_only_two_hexadecimal_digits_are_an_escape() {
        for (text, expected) in [
            ("a%2Fb%2fc", "a/b/c"),
            ("%+5", "%+5"),
            ("%-1%", "%-1%"),
            ("%4", "%4"),
            ("%\u{e4}1", "%\u{e4}1"),
            ("%41", "A"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
        assert_eq!(escapes("%+5%41%4").collect::<Vec<_>>(), [b'A']);
    }
}
