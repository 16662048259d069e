//! What an error of awc means.

use std::io::ErrorKind;
use std::time::Duration;

use actix_http::error::ParseError;
use awc::error::{ConnectError, SendRequestError};
use url::Url;

use super::connect::ConnectFailure;
use super::error::{CallPhase, HttpError, redact_url};

pub(crate) fn failure(url: &Url, connect: Duration, error: SendRequestError) -> HttpError {
    let shown = redact_url(url);
    let unavailable = |reason: String, sent| HttpError::Unavailable {
        url: shown.clone(),
        reason,
        sent,
    };
    let closed = "the connection was closed without an answer";
    match error {
        SendRequestError::Connect(ConnectError::Resolver(reason)) => {
            match reason.downcast_ref::<ConnectFailure>() {
                Some(ConnectFailure::Refused(address)) => HttpError::Refused {
                    url: shown,
                    address: *address,
                },
                Some(ConnectFailure::TimedOut(after)) => HttpError::TimedOut {
                    url: shown,
                    after: *after,
                    phase: CallPhase::Connecting,
                },
                Some(ConnectFailure::Failed(reason)) => unavailable(reason.clone(), false),
                None => unavailable(reason.to_string(), false),
            }
        }
        SendRequestError::Connect(ConnectError::Timeout) | SendRequestError::Timeout => {
            HttpError::TimedOut {
                url: shown,
                after: connect,
                phase: CallPhase::Connecting,
            }
        }
        SendRequestError::Connect(ConnectError::Disconnected) => {
            unavailable(closed.to_owned(), true)
        }
        SendRequestError::Connect(error) => unavailable(error.to_string(), true),
        SendRequestError::Send(error) => unavailable(error.to_string(), true),
        SendRequestError::Response(ParseError::Io(error)) => match error.kind() {
            ErrorKind::UnexpectedEof => unavailable(closed.to_owned(), true),
            _ => unavailable(error.to_string(), true),
        },
        SendRequestError::Response(error) => HttpError::BadBody {
            url: shown,
            reason: format!("its head is not HTTP: {error}"),
        },
        SendRequestError::Body(error) => HttpError::BadRequest {
            url: shown,
            reason: format!("its body could not be read: {error}"),
        },
        error => unavailable(error.to_string(), true),
    }
}
