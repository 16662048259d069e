//! The one error type of all edges: a problem detail (RFC 9457).

use std::borrow::Cow;
use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, ResponseError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request_id::RequestId;

/// The media type of every error body (RFC 9457, section 3).
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The JSON form of a [`Problem`], for clients that read it back and for the API document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemDocument {
    /// A URI that names the kind of problem; `about:blank` says no more than the status.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short summary, the same for every occurrence of the kind.
    pub title: String,
    /// The HTTP status code, repeated.
    pub status: u16,
    /// What went wrong this time and what to do about it.
    pub detail: String,
    /// A URI reference that names this occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The id under which the server logged the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The single faults, where there are several or where one has a place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// One fault inside a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The field as a dotted path (`filters[2].name`); empty for the body as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// What is wrong with it.
    pub detail: String,
    /// Line in the body, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in the body, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The field as a JSON pointer (RFC 6901), where the fault is one of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Character of the field's text that is at fault, counted from 0, as highlights are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

impl FieldError {
    /// A fault of `field` (a dotted path).
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            detail: detail.into(),
            line: None,
            column: None,
            pointer: None,
            position: None,
        }
    }

    /// The same fault at a character of the field's text, counted from 0.
    #[must_use]
    pub fn at_character(mut self, position: Option<usize>) -> Self {
        self.position = position;
        self
    }
}

/// A failed request: status, kind, detail and headers of the answer.
///
/// A handler returns it as its error; the edge adds the request id when it renders it.
#[derive(Debug, Clone)]
pub struct Problem(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    status: StatusCode,
    kind: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    detail: Cow<'static, str>,
    instance: Option<String>,
    errors: Vec<FieldError>,
    headers: Vec<(HeaderName, HeaderValue)>,
    close: bool,
}

impl Problem {
    /// A problem of `status` that says `detail`.
    pub fn new(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            status,
            kind: Cow::Borrowed("about:blank"),
            title: None,
            detail: detail.into(),
            instance: None,
            errors: Vec::new(),
            headers: Vec::new(),
            close: false,
        }))
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 401: no valid token; names the Bearer scheme (RFC 6750, section 3).
    pub fn unauthorized(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
            .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 403: understood and refused.
    pub fn forbidden(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 404: nothing lives here.
    pub fn not_found(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// 405: the path exists, the method does not; `allowed` becomes the `Allow` header.
    pub fn method_not_allowed(allowed: &[Method]) -> Self {
        let list = allowed
            .iter()
            .map(Method::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let detail = format!("this path answers {list}");
        let problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, detail);
        match HeaderValue::from_str(&list) {
            Ok(value) => problem.header(header::ALLOW, value),
            Err(_) => problem,
        }
    }

    /// 426: the path speaks WebSocket, and the request does not ask for it.
    pub fn upgrade_required() -> Self {
        Self::new(
            StatusCode::UPGRADE_REQUIRED,
            "this path speaks WebSocket only: no upgrade was asked for",
        )
        .header(header::UPGRADE, HeaderValue::from_static("websocket"))
    }

    /// 408: the body did not arrive in time; the connection is closed.
    pub fn request_timeout(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, detail).closing()
    }

    /// 409: the state of the resource does not allow it.
    pub fn conflict(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// 412: `If-Match` or its like did not hold.
    pub fn precondition_failed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, detail)
    }

    /// 413: the body is larger than `limit` bytes; the connection is closed, since the rest of the
    /// body is not read.
    pub fn too_large(limit: usize) -> Self {
        let detail = format!("the body is larger than the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing()
    }

    /// 415: the body's type or encoding is not accepted.
    pub fn unsupported_media_type(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// 428: the request has to say which version it changes (RFC 6585, section 3).
    pub fn precondition_required(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::PRECONDITION_REQUIRED, detail)
    }

    /// 421: the request was meant for another host.
    pub fn misdirected(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::MISDIRECTED_REQUEST, detail)
    }

    /// 422: well-formed, but the named fields do not make sense.
    pub fn unprocessable(detail: impl Into<Cow<'static, str>>, errors: Vec<FieldError>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail).errors(errors)
    }

    /// 429: too many requests; the client may come back after `retry_after_seconds`.
    pub fn too_many_requests(
        detail: impl Into<Cow<'static, str>>,
        retry_after_seconds: u32,
    ) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(retry_after_seconds)
    }

    /// 500: a fault of ours. The detail is fixed: the cause belongs in the log, under the request
    /// id.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "an internal error; the log has it under the request id",
        )
    }

    /// 502: a server behind this one failed.
    pub fn bad_gateway(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, detail)
    }

    /// 503: not now; the client may come back after `retry_after_seconds`.
    pub fn unavailable(detail: impl Into<Cow<'static, str>>, retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(retry_after_seconds)
    }

    /// 504: a server behind this one did not answer in time.
    pub fn gateway_timeout(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, detail)
    }

    /// Names the kind of problem: `slug` becomes `urn:orrery:problem:<slug>`, `title` its summary.
    #[must_use]
    pub fn kind(mut self, slug: &str, title: impl Into<Cow<'static, str>>) -> Self {
        self.0.kind = Cow::Owned(format!("urn:orrery:problem:{slug}"));
        self.0.title = Some(title.into());
        self
    }

    /// Adds the single faults.
    #[must_use]
    pub fn errors(mut self, errors: Vec<FieldError>) -> Self {
        self.0.errors = errors;
        self
    }

    /// Names this occurrence by a URI reference.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.0.instance = Some(instance.into());
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Adds `Retry-After` in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Closes the connection after the answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.0.close = true;
        self
    }

    /// The status code of the answer.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What went wrong this time.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The JSON form, with the id of the request where there is one.
    pub fn document(&self, request_id: Option<&RequestId>) -> ProblemDocument {
        let inner = &self.0;
        let phrase = || Cow::Borrowed(inner.status.canonical_reason().unwrap_or("Error"));
        ProblemDocument {
            kind: inner.kind.clone().into_owned(),
            title: inner.title.clone().unwrap_or_else(phrase).into_owned(),
            status: inner.status.as_u16(),
            detail: inner.detail.clone().into_owned(),
            instance: inner.instance.clone(),
            request_id: request_id.map(|id| id.as_str().to_owned()),
            errors: inner.errors.clone(),
        }
    }

    /// The body of the answer.
    pub(crate) fn body(&self, request_id: Option<&RequestId>) -> BoxBody {
        // Strings, integers and lists of them: serialising into memory cannot fail.
        BoxBody::new(serde_json::to_vec(&self.document(request_id)).unwrap_or_default())
    }

    /// The whole answer. It carries the problem in its extensions, so that the edge can add the id.
    pub(crate) fn respond(&self, request_id: Option<&RequestId>) -> HttpResponse {
        let mut builder = HttpResponse::build(self.0.status);
        builder.insert_header((header::CONTENT_TYPE, PROBLEM_JSON));
        builder.insert_header((header::CACHE_CONTROL, "no-store"));
        for (name, value) in &self.0.headers {
            builder.append_header((name.clone(), value.clone()));
        }
        if self.0.close {
            builder.force_close();
        }
        let mut response = builder.body(self.body(request_id));
        response.extensions_mut().insert(self.clone());
        response
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.status.as_u16(), self.0.detail)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        self.respond(None)
    }
}

/// Turns any failed answer into a problem: ours as it is, actix's own errors (path, query, payload)
/// by their status and text, an empty body by its status. `None`: the handler wrote a body itself.
pub(crate) fn problem_of(response: &HttpResponse) -> Option<Problem> {
    use actix_web::body::{BodySize, MessageBody};

    if let Some(problem) = response.extensions().get::<Problem>() {
        return Some(problem.clone());
    }
    let status = response.status();
    if let Some(error) = response.error() {
        if status.is_server_error() {
            tracing::error!(event = "http.failed", %error, "a handler failed");
            let mut problem = Problem::internal();
            problem.0.status = status;
            return Some(problem);
        }
        return Some(Problem::new(status, error.to_string()));
    }
    let empty = matches!(response.body().size(), BodySize::None | BodySize::Sized(0));
    empty.then(|| Problem::new(status, plain_detail(status)))
}

/// What to say about an answer that came without a word.
fn plain_detail(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "nothing is served at this path",
        StatusCode::METHOD_NOT_ALLOWED => "this path does not answer this method",
        status => status.canonical_reason().unwrap_or("the request failed"),
    }
}
