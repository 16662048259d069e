//! The `Origin` guard: pages of other sites may link here, and nothing else.

use actix_web::dev::RequestHead;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderName, HeaderValue};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Which other origins may use this server from a browser; none unless configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginPolicy {
    granted: Vec<HeaderValue>,
}

/// Why a configured origin is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginPolicyError {
    /// `*` and `null` stand for everybody.
    #[error("allowed origin `{0}` would let every page in; name the origins one by one")]
    Everybody(String),
    /// Not an origin.
    #[error("allowed origin `{0}` is not scheme://host[:port] in lower case without a path")]
    Malformed(String),
}

/// What the guard says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginVerdict {
    /// From a page of this server, by a link, or from a program that is no browser.
    Own,
    /// From a configured origin: it may read the answer.
    Granted(HeaderValue),
    /// From another page.
    Refused,
}

/// What a request says about where it comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestSource<'a> {
    /// The `Origin` header.
    pub origin: Option<&'a [u8]>,
    /// The host that was asked for, with its port.
    pub host: &'a [u8],
    /// `Sec-Fetch-Site`, which browsers send and pages cannot change.
    pub fetch_site: Option<&'a [u8]>,
    /// Whether this is a navigation by `GET` or `HEAD`: a link was followed.
    pub navigation: bool,
}

impl<'a> RequestSource<'a> {
    /// Reads it from a request.
    pub fn from_head(head: &'a RequestHead) -> Self {
        let headers = head.headers();
        let value = |name: HeaderName| headers.get(name).map(|value| value.as_bytes());
        let fetch_site = value(SEC_FETCH_SITE);
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        Self {
            origin: value(header::ORIGIN),
            host: value(header::HOST).unwrap_or_default(),
            navigation: fetch_site.is_some()
                && reads
                && value(SEC_FETCH_MODE) == Some(b"navigate".as_slice()),
            fetch_site,
        }
    }
}

impl OriginPolicy {
    /// Grants the `origins`, each exactly as a browser sends it (`https://notes.example:8443`).
    ///
    /// # Errors
    /// See [`OriginPolicyError`].
    pub fn new<'a>(origins: impl IntoIterator<Item = &'a str>) -> Result<Self, OriginPolicyError> {
        let granted = origins.into_iter().map(granted).collect::<Result<_, _>>()?;
        Ok(Self { granted })
    }

    /// Judges a request. A foreign page is refused even where it only reads: it could not see the
    /// answer, but a search costs time, and a WebSocket is not covered by CORS at all.
    pub fn check(&self, source: &RequestSource<'_>) -> OriginVerdict {
        match source.origin {
            Some(origin) if is_same(origin, source.host) => OriginVerdict::Own,
            Some(origin) => {
                let grant = self.granted.iter().find(|own| own.as_bytes() == origin);
                grant.map_or(OriginVerdict::Refused, |own| {
                    OriginVerdict::Granted(own.clone())
                })
            }
            None => match source.fetch_site {
                None | Some(b"same-origin" | b"none") => OriginVerdict::Own,
                Some(_) if source.navigation => OriginVerdict::Own,
                Some(_) => OriginVerdict::Refused,
            },
        }
    }
}

/// Whether `origin` is `http(s)://` and then `host`, port included.
fn is_same(origin: &[u8], host: &[u8]) -> bool {
    let rest = origin
        .strip_prefix(b"http://")
        .or_else(|| origin.strip_prefix(b"https://"));
    rest.is_some_and(|rest| !host.is_empty() && rest.eq_ignore_ascii_case(host))
}

fn granted(origin: &str) -> Result<HeaderValue, OriginPolicyError> {
    if matches!(origin, "*" | "null") {
        return Err(OriginPolicyError::Everybody(origin.to_owned()));
    }
    let malformed = || OriginPolicyError::Malformed(origin.to_owned());
    let (scheme, host) = origin.split_once("://").ok_or_else(malformed)?;
    let plain = |byte: u8| {
        byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && !b"/?#@*\\".contains(&byte)
    };
    let scheme_fits = !scheme.is_empty()
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if !scheme_fits || host.is_empty() || !host.bytes().all(plain) {
        return Err(malformed());
    }
    HeaderValue::from_str(origin).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source<'a>(
        origin: Option<&'a str>,
        site: Option<&'a str>,
        navigation: bool,
    ) -> RequestSource<'a> {
        RequestSource {
            origin: origin.map(str::as_bytes),
            host: b"localhost:8000",
            fetch_site: site.map(str::as_bytes),
            navigation,
        }
    }

    #[test]
    fn s02_s03_s04_origin_table() {
        let policy = OriginPolicy::new(["https://notes.example"]).unwrap();
        let granted = OriginVerdict::Granted(HeaderValue::from_static("https://notes.example"));
        let (own, refused) = (OriginVerdict::Own, OriginVerdict::Refused);
        for (origin, site, navigation, verdict) in [
            // Not a browser, or its own page.
            (None, None, false, &own),
            (None, Some("none"), true, &own),
            (None, Some("same-origin"), false, &own),
            (
                Some("http://localhost:8000"),
                Some("same-origin"),
                false,
                &own,
            ),
            (Some("https://LOCALHOST:8000"), None, false, &own),
            // A link from elsewhere.
            (None, Some("cross-site"), true, &own),
            // Another page's form, fetch, image, WebSocket.
            (None, Some("cross-site"), false, &refused),
            (None, Some("same-site"), false, &refused),
            (None, Some("garbage"), false, &refused),
            (Some("null"), None, false, &refused),
            (Some("null"), Some("cross-site"), true, &refused),
            (Some(""), None, false, &refused),
            (Some("http://evil.example"), None, false, &refused),
            (Some("http://localhost"), None, false, &refused),
            (
                Some("http://localhost:3000"),
                Some("same-site"),
                false,
                &refused,
            ),
            (Some("ftp://localhost:8000"), None, false, &refused),
            (
                Some("http://localhost:8000.evil.example"),
                None,
                false,
                &refused,
            ),
            (Some("https://notes.example.evil"), None, false, &refused),
            // Configured.
            (
                Some("https://notes.example"),
                Some("cross-site"),
                false,
                &granted,
            ),
        ] {
            let source = source(origin, site, navigation);
            assert_eq!(&policy.check(&source), verdict, "{source:?}");
        }
    }

    #[test]
    fn s03_everybody_cannot_be_granted() {
        for everybody in ["*", "null"] {
            let error = OriginPolicy::new([everybody]).unwrap_err();
            assert_eq!(error, OriginPolicyError::Everybody(everybody.to_owned()));
        }
        for malformed in [
            "",
            "notes.example",
            "https://",
            "https://a/b",
            "https://*.a",
            "HTTPS://a",
            "https://A",
            "https://u@a",
        ] {
            let error = OriginPolicy::new([malformed]).unwrap_err();
            assert_eq!(error, OriginPolicyError::Malformed(malformed.to_owned()));
        }
    }
}
