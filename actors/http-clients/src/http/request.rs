//! A request, before it is sent.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use futures_util::Stream;
use serde::Serialize;
use url::Url;

/// The methods that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Read.
    Get,
    /// Read the head only.
    Head,
    /// Make something, or ask with a body.
    Post,
    /// Put something in its place.
    Put,
    /// Change parts.
    Patch,
    /// Remove.
    Delete,
}

impl Method {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether twice is the same as once (RFC 9110, section 9.2.2).
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Put | Self::Delete)
    }
}

/// A header's value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum HeaderText {
    Plain(String),
    Secret(Secret<String>),
}

impl HeaderText {
    pub(crate) fn expose(&self) -> &str {
        match self {
            Self::Plain(value) => value,
            Self::Secret(value) => value.expose(),
        }
    }
}

impl fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(value) => value.fmt(f),
            Self::Secret(value) => value.fmt(f),
        }
    }
}

pub(crate) type ChunkStream = Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>>>>;

/// What is sent behind the head.
pub(crate) enum HttpRequestBody {
    Empty,
    Bytes(Bytes),
    Chunks(ChunkStream),
    /// As many bytes as are said, in chunks.
    Sized(u64, ChunkStream),
}

/// A request: made step by step, then given to [`HttpClient`](crate::http::HttpClient).
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(Cow<'static, str>, HeaderText)>,
    pub(crate) body: HttpRequestBody,
    pub(crate) within: Option<Duration>,
    pub(crate) at_most: Option<usize>,
    pub(crate) idempotent: bool,
    /// What could not be made, told when the request is sent.
    pub(crate) wrong: Option<String>,
}

impl Request {
    /// A request without body and headers.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            body: HttpRequestBody::Empty,
            within: None,
            at_most: None,
            idempotent: method.is_idempotent(),
            wrong: None,
        }
    }

    /// `GET`.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::Get, url)
    }

    /// `POST`.
    #[must_use]
    pub fn post(url: Url) -> Self {
        Self::new(Method::Post, url)
    }

    /// `PUT`.
    #[must_use]
    pub fn put(url: Url) -> Self {
        Self::new(Method::Put, url)
    }

    /// `DELETE`.
    #[must_use]
    pub fn delete(url: Url) -> Self {
        Self::new(Method::Delete, url)
    }

    /// With a header; a value that cannot stand in one is an error when the request is sent.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers
            .push((name.into(), HeaderText::Plain(value.into())));
        self
    }

    /// With a header that is never printed and never follows a redirect to another origin.
    #[must_use]
    pub fn secret_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: Secret<String>,
    ) -> Self {
        self.headers.push((name.into(), HeaderText::Secret(value)));
        self
    }

    /// With `Authorization: <scheme> <token>`: `Bearer` for most, `token` for Gitea.
    #[must_use]
    pub fn authorization(self, scheme: &str, token: &Secret<String>) -> Self {
        let value = Secret::new(format!("{scheme} {}", token.expose()));
        self.secret_header("authorization", value)
    }

    /// With a JSON body.
    #[must_use]
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.body = HttpRequestBody::Bytes(bytes.into()),
            Err(error) => self.wrong = Some(format!("its body is no JSON: {error}")),
        }
        self.header("content-type", "application/json")
    }

    /// With a body; the content type is the caller's.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Bytes>) -> Self {
        self.body = HttpRequestBody::Bytes(bytes.into());
        self
    }

    /// With a body as it comes, in chunks. Such a request is sent once: no retry, no redirect.
    #[must_use]
    pub fn chunks(
        mut self,
        chunks: impl Stream<Item = Result<Bytes, std::io::Error>> + 'static,
    ) -> Self {
        self.body = HttpRequestBody::Chunks(Box::pin(chunks));
        self.idempotent = false;
        self
    }

    /// With a body of `bytes` bytes, in chunks, for servers that want to know its length first.
    /// Such a request is sent once: no retry, no redirect.
    #[must_use]
    pub fn sized_chunks(
        mut self,
        bytes: u64,
        chunks: impl Stream<Item = Result<Bytes, std::io::Error>> + 'static,
    ) -> Self {
        self.body = HttpRequestBody::Sized(bytes, Box::pin(chunks));
        self.idempotent = false;
        self
    }

    /// With a deadline of its own.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.within = Some(deadline);
        self
    }

    /// With a limit of its own for the answer's body, in bytes.
    #[must_use]
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.at_most = Some(bytes);
        self
    }

    /// Says that sending it twice is the same as once, for instance because of an idempotency key.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = !matches!(self.body, HttpRequestBody::Chunks(_));
        self
    }

    /// The same request once more; `None` when its body can be sent only once.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let body = match &self.body {
            HttpRequestBody::Empty => HttpRequestBody::Empty,
            HttpRequestBody::Bytes(bytes) => HttpRequestBody::Bytes(bytes.clone()),
            HttpRequestBody::Chunks(_) | HttpRequestBody::Sized(..) => return None,
        };
        Some(Self {
            method: self.method,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body,
            within: self.within,
            at_most: self.at_most,
            idempotent: self.idempotent,
            wrong: self.wrong.clone(),
        })
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &super::error::redact_url(&self.url))
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
