//! Why a message was not accepted, or has no reply.

use std::{sync::Arc, time::Duration};

/// Why a message was not accepted; it was not and will not be handled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TellError {
    /// The child is restarting, parked, or gone.
    #[error("{actor} is not running")]
    Unavailable {
        /// The child's id.
        actor: Arc<str>,
    },
    /// Every permit is out.
    #[error("{actor} is full, try again in {retry_after:?}")]
    Full {
        /// The child's id.
        actor: Arc<str>,
        /// When to try again, for `Retry-After`.
        retry_after: Duration,
    },
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The child is restarting, parked, or gone; the message was not and will not be handled.
    #[error("{actor} is not running")]
    Unavailable {
        /// The child's id.
        actor: Arc<str>,
    },
    /// Every permit is out; the message was not and will not be handled.
    #[error("{actor} is full, try again in {retry_after:?}")]
    Full {
        /// The child's id.
        actor: Arc<str>,
        /// When to try again, for `Retry-After`.
        retry_after: Duration,
    },
    /// No reply in time. If the handler has not begun it never will; if it has, its effects may
    /// still happen.
    #[error("{actor} did not reply within {after:?}")]
    TimedOut {
        /// The child's id.
        actor: Arc<str>,
        /// The timeout.
        after: Duration,
    },
    /// The child ended (or dropped the reply) after it accepted the message: whether it was
    /// handled is unknown.
    #[error("{actor} ended before it replied")]
    NoReply {
        /// The child's id.
        actor: Arc<str>,
    },
}

impl From<TellError> for AskError {
    fn from(error: TellError) -> Self {
        match error {
            TellError::Unavailable { actor } => Self::Unavailable { actor },
            TellError::Full { actor, retry_after } => Self::Full { actor, retry_after },
        }
    }
}
