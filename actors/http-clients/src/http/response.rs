//! An answer, read whole.

use std::time::{Duration, SystemTime};

use awc::http::header::HeaderMap;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use url::Url;

use super::error::{HttpError, redact_url};
use super::retry::retry_after;

/// Most bytes of a body that an error repeats.
const MAX_DETAIL_CHARS: usize = 300;

/// The headers of an answer.
#[derive(Debug, Clone, Default)]
pub struct Headers(pub(crate) HeaderMap);

impl Headers {
    /// A header's first value, if it is readable text.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }

    /// All that are readable text, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter();
        all.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// A header's value as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.trim().parse().ok()
    }

    /// What `Retry-After` says, counted from `now`.
    #[must_use]
    pub fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        retry_after(self.get("retry-after")?, now)
    }
}

/// An answer of any status, its body whole and decompressed.
#[derive(Debug, Clone)]
pub struct Response {
    /// The address that answered, after redirects.
    pub url: Url,
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body.
    pub body: Bytes,
    /// When the head came, for `Retry-After` dates.
    pub(crate) at: SystemTime,
}

impl Response {
    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer if its status is 2xx.
    ///
    /// # Errors
    /// [`HttpError::Status`] otherwise.
    pub fn ok(self) -> Result<Self, HttpError> {
        if self.is_success() {
            Ok(self)
        } else {
            Err(self.into_error())
        }
    }

    /// The status as an error, with the beginning of the body.
    #[must_use]
    pub fn into_error(self) -> HttpError {
        HttpError::Status {
            url: redact_url(&self.url),
            status: self.status,
            retry_after: self.headers.retry_after(self.at),
            body: excerpt(&self.body),
        }
    }

    /// The body as JSON, which is UTF-8 whatever its content type says (RFC 8259).
    ///
    /// # Errors
    /// [`HttpError::BadBody`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::BadBody {
            url: redact_url(&self.url),
            reason: error.to_string(),
        })
    }

    /// The body as text in the charset its content type names, UTF-8 without one. What cannot be
    /// decoded becomes U+FFFD.
    #[must_use]
    pub fn text(&self) -> String {
        let charset = self.headers.get("content-type").and_then(charset);
        let encoding = charset.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
        let (text, _, _) = encoding.unwrap_or(encoding_rs::UTF_8).decode(&self.body);
        text.into_owned()
    }
}

/// The charset parameter of a content type.
fn charset(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}

/// The beginning of a body as one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let head = &body[..body.len().min(MAX_DETAIL_CHARS)];
    let text = String::from_utf8_lossy(head);
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_a_content_type_is_found() {
        let cases = [
            ("text/html", None),
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;Charset=\"ISO-8859-1\"; x=y", Some("ISO-8859-1")),
            ("text/html; boundary", None),
        ];
        for (content_type, expected) in cases {
            assert_eq!(charset(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt(b" a\r\n\tb\x1b[31mc "), "a b [31mc");
        assert!(excerpt(&[b'x'; 5000]).len() <= MAX_DETAIL_CHARS);
        assert_eq!(excerpt(b""), "");
    }
}
