//! Why a call is not passed on.

/// Why a call is not passed on, for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CallRefusal(pub String);

pub(super) fn refuse<T>(reason: impl Into<String>) -> Result<T, CallRefusal> {
    Err(CallRefusal(reason.into()))
}
