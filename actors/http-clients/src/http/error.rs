//! What can go wrong with a call.

use std::net::IpAddr;
use std::time::Duration;

use url::Url;

/// How far a call had come when its time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPhase {
    /// Looking up the name, connecting, the TLS handshake.
    Connecting,
    /// Sending the request and waiting for the head of the answer.
    Waiting,
    /// Reading the body.
    Reading,
}

impl std::fmt::Display for CallPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Connecting => "connecting",
            Self::Waiting => "waiting for the answer",
            Self::Reading => "reading the answer",
        })
    }
}

/// Why a call gave no answer, or not the one that was needed. Addresses are shown without user,
/// password, query and fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The request itself is wrong; nothing was sent.
    #[error("cannot ask {url}: {reason}")]
    BadRequest {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address policy forbids the address that the name leads to; nothing was sent.
    #[error("{url} leads to {address}, which is not a public address; list it to allow it")]
    Refused {
        /// The address asked for.
        url: String,
        /// What it resolved to.
        address: IpAddr,
    },
    /// No connection, or it broke before the head of the answer. Whether the request was carried
    /// out is unknown unless `sent` is false.
    #[error("cannot reach {url}: {reason}")]
    Unavailable {
        /// The address.
        url: String,
        /// The system's words.
        reason: String,
        /// Whether any of the request may have left this machine.
        sent: bool,
    },
    /// The time was over.
    #[error("{url} did not answer within {after:?} ({phase})")]
    TimedOut {
        /// The address.
        url: String,
        /// The deadline, or the idle time of a stream.
        after: Duration,
        /// How far it had come.
        phase: CallPhase,
    },
    /// The body is larger than the caller takes; the rest was not read.
    #[error("the answer of {url} is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer has another status than 2xx.
    #[error("{url} answered {status}{}", detail_of_answer(body))]
    Status {
        /// The address.
        url: String,
        /// The status code.
        status: u16,
        /// What `Retry-After` says, counted from when the answer came.
        retry_after: Option<Duration>,
        /// The beginning of the body, one line, at most 300 bytes.
        body: String,
    },
    /// The body is cut short or is not what its headers say.
    #[error("the answer of {url} is unreadable: {reason}")]
    BadBody {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A redirect that is not followed: too many, or to another origin than allowed.
    #[error("{url} redirects to {to}, which is not followed: {reason}")]
    Redirected {
        /// The address asked for.
        url: String,
        /// Where it leads.
        to: String,
        /// Why it is not followed.
        reason: &'static str,
    },
}

impl HttpError {
    /// The status, if that is what the error is.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the request certainly never reached the peer.
    #[must_use]
    pub fn was_not_sent(&self) -> bool {
        match self {
            Self::BadRequest { .. } | Self::Refused { .. } => true,
            Self::Unavailable { sent, .. } => !sent,
            Self::TimedOut { phase, .. } => *phase == CallPhase::Connecting,
            _ => false,
        }
    }
}

fn detail_of_answer(body: &str) -> String {
    match body {
        "" => String::new(),
        body => format!(": {body}"),
    }
}

/// An address as it may be shown: no user, password, query or fragment.
pub(crate) fn redact_url(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only for addresses that cannot have a user, and then there is none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
