//! JSON bodies of the API.

mod other;
mod shape;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::body::{BodyLimits, read_body};
use crate::problem::{FieldError, Problem};

/// A JSON body of type `T`.
///
/// The content type must be `application/json`: a page of another site can send that only after a
/// preflight, which is not granted. Depth is bounded to 128 levels, size and time by
/// [`BodyLimits`]. Whether unknown fields are refused is up to `T`
/// (`#[serde(deny_unknown_fields)]`). A list is no order for a `T` with named fields, though serde
/// would take their values in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiJson<T>(pub T);

impl<T> ApiJson<T> {
    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for ApiJson<T> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            require_json(request.headers())?;
            let limits = request
                .app_data::<BodyLimits>()
                .copied()
                .unwrap_or_default();
            let body = read_body(&request, payload, limits).await?;
            parse(&body).map(Self)
        })
    }
}

/// A JSON body as it was sent, for those who say themselves what is wrong with it.
///
/// Content type, size and time are those of [`ApiJson`]; that it is JSON has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(pub Bytes);

impl FromRequest for JsonText {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            require_json(request.headers())?;
            let limits = request.app_data::<BodyLimits>();
            let body = read_body(&request, payload, limits.copied().unwrap_or_default()).await?;
            parse::<IgnoredAny>(&body)?;
            Ok(Self(body))
        })
    }
}

/// Refuses any content type but JSON.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let value = headers
        .get(header::CONTENT_TYPE)
        .map_or(&b""[..], |value| value.as_bytes());
    let essence = value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        return Ok(());
    }
    Err(Problem::unsupported_media_type("send the body as application/json").closing())
}

/// Parses, and on failure says where and why.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if let Some(at) = shape::list_for_object::<T>(body) {
        return Err(list(&body[..at]));
    }
    serde_json::from_slice(body).map_err(|error| explain::<T>(body, &error))
}

/// The problem of a list where an object belongs; `before` is the blank space in front of it.
fn list(before: &[u8]) -> Problem {
    let lines = before.split(|byte| *byte == b'\n');
    let column = lines.clone().next_back().map_or(0, <[u8]>::len) + 1;
    invalid(
        "the JSON body does not have the expected form: it is a list, an object is expected",
        FieldError {
            field: String::new(),
            detail: "it is a list, an object is expected".to_owned(),
            line: Some(lines.count()),
            column: Some(column),
            pointer: None,
            position: None,
        },
    )
}

/// The problem of a body that does not parse. The field's path costs a second pass, paid only here.
fn explain<T: DeserializeOwned>(body: &[u8], error: &serde_json::Error) -> Problem {
    let field = if error.is_data() {
        path_of_fault::<T>(body)
    } else {
        String::new()
    };
    let detail = if error.is_data() {
        format!("the JSON body does not have the expected form: {error}")
    } else {
        match other::hint(body) {
            Some(hint) => format!("the body is not valid JSON: {hint} ({error})"),
            None => format!("the body is not valid JSON: {error}"),
        }
    };
    let fault = FieldError {
        field,
        detail: error.to_string(),
        line: Some(error.line()),
        column: Some(error.column()),
        pointer: None,
        position: None,
    };
    invalid(detail, fault)
}

fn invalid(detail: impl Into<Cow<'static, str>>, fault: FieldError) -> Problem {
    Problem::bad_request(detail)
        .kind("invalid-json", "Invalid JSON body")
        .errors(vec![fault])
}

fn path_of_fault<T: DeserializeOwned>(body: &[u8]) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(error) if error.path().iter().len() > 0 => error.path().to_string(),
        _ => String::new(),
    }
}
