//! Reading a request's body: bounded in size, in memory and in time, never decoded.

use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage as _, HttpRequest};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

use crate::problem::Problem;

/// How much room a body of unknown length gets at first, in bytes.
const INITIAL_CAPACITY: usize = 8 * 1024;

/// The limits of a body; put into the application's data to change them for its handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// The largest body, in bytes.
    pub max_bytes: usize,
    /// The time from the head to the last byte of the body.
    pub deadline: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            max_bytes: 2 * 1024 * 1024,
            deadline: Duration::from_secs(10),
        }
    }
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// More bytes than allowed, declared or sent.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Not all there at the deadline.
    #[error("the body did not arrive within {} ms", .0.as_millis())]
    Late(Duration),
    /// The connection broke, or the framing of the body is wrong.
    #[error("the body could not be read: {0}")]
    Broken(#[from] PayloadError),
    /// The body is compressed: it would have to be inflated before its size is known.
    #[error("the body has a content coding; send it as it is")]
    Encoded,
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::too_large(limit),
            BodyError::Late(_) => Self::request_timeout(error.to_string()),
            BodyError::Broken(_) => Self::bad_request(error.to_string()).closing(),
            BodyError::Encoded => Self::unsupported_media_type(error.to_string()).closing(),
        }
    }
}

/// Reads a body as it came over the wire, after `request`'s head.
///
/// A declared length over the limit is refused before a byte is read; a body without one as soon as
/// it passes the limit. Memory stays below the limit and 64 KiB of buffers.
///
/// # Errors
/// See [`BodyError`].
pub async fn read_body(
    request: &HttpRequest,
    payload: Payload,
    limits: BodyLimits,
) -> Result<Bytes, BodyError> {
    let length = declared_length(request.headers());
    check_head(request, length, limits)?;
    if length == Some(0) && !request.chunked().unwrap_or(false) {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(limits.deadline, collect(payload, length, limits.max_bytes)).await {
        Ok(body) => body,
        Err(_) => Err(BodyError::Late(limits.deadline)),
    }
}

/// What can be refused from the head alone.
pub(crate) fn check_head(
    request: &HttpRequest,
    length: Option<u64>,
    limits: BodyLimits,
) -> Result<(), BodyError> {
    if !is_identity(request.headers()) {
        return Err(BodyError::Encoded);
    }
    if length.is_some_and(|length| length > limits.max_bytes as u64) {
        return Err(BodyError::TooLarge {
            limit: limits.max_bytes,
        });
    }
    Ok(())
}

/// The declared length; the framing layer has refused anything but one plain number.
pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn is_identity(headers: &HeaderMap) -> bool {
    headers.get_all(header::CONTENT_ENCODING).all(|value| {
        let value = value.as_bytes().trim_ascii();
        value.is_empty() || value.eq_ignore_ascii_case(b"identity")
    })
}

async fn collect(
    mut payload: Payload,
    length: Option<u64>,
    limit: usize,
) -> Result<Bytes, BodyError> {
    let mut body = match payload.next().await.transpose()? {
        None => return Ok(Bytes::new()),
        // The whole body in one piece, as most are: no copy.
        Some(first) if Some(first.len() as u64) == length => return Ok(first),
        Some(first) => start(&first, length, limit)?,
    };
    while let Some(chunk) = payload.next().await {
        append(&mut body, &chunk?, limit)?;
    }
    Ok(body.freeze())
}

/// The buffer for a body of several pieces: as large as declared (the length is within the limit).
fn start(first: &Bytes, length: Option<u64>, limit: usize) -> Result<BytesMut, BodyError> {
    let declared = length.and_then(|length| usize::try_from(length).ok());
    let room = declared
        .unwrap_or(INITIAL_CAPACITY.max(first.len()))
        .min(limit);
    let mut body = BytesMut::with_capacity(room);
    append(&mut body, first, limit)?;
    Ok(body)
}

fn append(body: &mut BytesMut, chunk: &Bytes, limit: usize) -> Result<(), BodyError> {
    let total = body.len() + chunk.len();
    if total > limit {
        return Err(BodyError::TooLarge { limit });
    }
    if total > body.capacity() {
        // From the small room straight to the limit: doubling would hold two large copies while it
        // moves. Pages that are not written cost no memory.
        body.reserve(limit - body.len());
    }
    body.extend_from_slice(chunk);
    Ok(())
}
