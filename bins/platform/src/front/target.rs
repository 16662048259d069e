//! Which targets go through the front door, and how they are written on its other side.
//!
//! The path is taken as it came over the wire and is never decoded on its way: the guard of the
//! door, the table of routes and the product must not read three different paths in it. What could
//! be read in two ways is refused.

use actix_web::http::Uri;

/// Longest target that is passed on, in bytes.
const MAX_TARGET_BYTES: usize = 8 << 10;

/// What has an address of its own, or belongs to another house: webhooks are signed for the
/// product, and people sign in at the front door only.
const NOT_MOUNTED: [&str; 6] = [
    "/webhook",
    "/sign-in",
    "/sign-in.js",
    "/sign-out",
    "/ui",
    "/mcp",
];

/// Why a target is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetRefusal {
    /// The target names a server, or is no path.
    #[error("the front door takes paths, not whole addresses")]
    Absolute,
    /// It could mean another path than it says.
    #[error(
        "the path holds dot segments, empty segments, encoded separators or control characters"
    )]
    Ambiguous,
    /// It is longer than any address of a product.
    #[error("the address is longer than the front door takes")]
    TooLong,
    /// Nothing of the product stands there.
    #[error("nothing is served at this path")]
    NotMounted,
}

/// The target below `prefix` as the product is asked for it: path and query.
pub(crate) fn target(prefix: &str, uri: &Uri) -> Result<String, TargetRefusal> {
    if uri.scheme().is_some() || uri.authority().is_some() {
        return Err(TargetRefusal::Absolute);
    }
    let rest = uri.path().strip_prefix(prefix);
    let path = rest
        .filter(|rest| rest.starts_with('/'))
        .ok_or(TargetRefusal::NotMounted)?;
    let query = uri.query().map(|query| format!("?{query}"));
    let query = query.unwrap_or_default();
    if path.len() + query.len() > MAX_TARGET_BYTES {
        return Err(TargetRefusal::TooLong);
    }
    let decoded = decode(path.as_bytes()).ok_or(TargetRefusal::Ambiguous)?;
    // Whoever decodes twice on the other side must not find something new either.
    let twice = decode(&decoded).unwrap_or_else(|| decoded.clone());
    let separators = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'/').count();
    let is_plain = separators(path.as_bytes()) == separators(&decoded)
        && !has_odd_segments(&decoded)
        && !has_odd_segments(&twice);
    if !is_plain {
        return Err(TargetRefusal::Ambiguous);
    }
    let is_elsewhere = |own: &&str| {
        let rest = decoded.strip_prefix(own.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    if NOT_MOUNTED.iter().any(is_elsewhere) {
        return Err(TargetRefusal::NotMounted);
    }
    Ok(format!("{path}{query}"))
}

/// The bytes behind the percent signs; `None` where two digits are missing.
fn decode(path: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = path.iter().copied();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

/// Whether a path has segments that some servers leave out, go up by, or end a text at.
fn has_odd_segments(path: &[u8]) -> bool {
    let odd_byte = |byte: &u8| byte.is_ascii_control() || *byte == b'\\';
    let segments = path.split(|byte| *byte == b'/').skip(1);
    let count = segments.clone().count();
    let odd_segment = |(nth, segment): (usize, &[u8])| {
        // What follows a semicolon is a parameter to some.
        let name = segment.split(|byte| *byte == b';').next();
        let name = name.unwrap_or_default();
        matches!(name, b"." | b"..") || (segment.is_empty() && nth + 1 != count)
    };
    path.iter().any(odd_byte) || segments.enumerate().any(odd_segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, TargetRefusal> {
        target("/runner", &text.parse().expect("an address"))
    }

    #[test]
    fn t7_paths_of_the_product_go_on_as_they_came() {
        for (asked, expected) in [
            ("/runner/", "/"),
            ("/runner/runs", "/runs"),
            (
                "/runner/runs/r-1/log?follow=1&q=..%2F",
                "/runs/r-1/log?follow=1&q=..%2F",
            ),
            (
                "/runner/runs/r-1/artifacts/a%20b.txt",
                "/runs/r-1/artifacts/a%20b.txt",
            ),
            ("/runner/a..b/...", "/a..b/..."),
            ("/runner/webhooks", "/webhooks"),
        ] {
            assert_eq!(parse(asked).as_deref(), Ok(expected), "{asked}");
        }
    }

    #[test]
    fn t7_what_could_mean_another_path_is_refused() {
        for asked in [
            "/runner/../admin",
            "/runner/./runs",
            "/runner/a/..",
            "/runner/%2e%2e/admin",
            "/runner/%2E./admin",
            "/runner/%252e%252e/admin",
            "/runner/..;/admin",
            "/runner/..%2fadmin",
            "/runner/a%2Fb",
            "/runner/a%5cb",
            "/runner/a%00",
            "/runner/a%0d%0aHost:x",
            "/runner//evil.example/x",
            "/runner/%",
            "/runner/%4",
            "/runner/%zz",
        ] {
            assert_eq!(parse(asked), Err(TargetRefusal::Ambiguous), "{asked}");
        }
    }

    #[test]
    fn t7_other_spellings_of_the_prefix_are_not_mounted() {
        for asked in [
            "/runner",
            "/%72unner/runs",
            "/RUNNER/runs",
            "/runnerx/runs",
            "/",
            "/x/runner/runs",
        ] {
            assert_eq!(parse(asked), Err(TargetRefusal::NotMounted), "{asked}");
        }
        for asked in [
            "http://127.0.0.1:1/runner/runs",
            "http://evil.example/runner/runs",
        ] {
            assert_eq!(parse(asked), Err(TargetRefusal::Absolute), "{asked}");
        }
        let long = format!("/runner/{}", "a".repeat(MAX_TARGET_BYTES));
        assert_eq!(parse(&long), Err(TargetRefusal::TooLong));
    }

    #[test]
    fn t7_webhooks_and_other_ways_to_sign_in_are_not_mounted() {
        for asked in [
            "/runner/webhook",
            "/runner/webhook/",
            "/runner/%77ebhook",
            "/runner/webhook?x=1",
            "/runner/sign-in",
            "/runner/sign-out",
            "/runner/ui/parts.json",
        ] {
            assert_eq!(parse(asked), Err(TargetRefusal::NotMounted), "{asked}");
        }
    }
}
