//! Why a service does not do what it is asked for.

/// Why a service does not do what it is asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServiceFault {
    /// No job that runs has this token or address.
    #[error("the token or address is of no job that runs")]
    NoJob,
    /// It is another run's.
    #[error("the token is of another run")]
    OtherRun,
    /// The job may not: its `cache-mode` says so.
    #[error("{0}")]
    Denied(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// There is one already.
    #[error("{0}")]
    Exists(String),
    /// The request is wrong.
    #[error("{0}")]
    Wrong(String),
    /// A bound is reached.
    #[error("{0}")]
    Full(String),
    /// The host's disk.
    #[error("it could not be stored: {0}")]
    Disk(#[from] std::io::Error),
}

impl ServiceFault {
    /// The HTTP status, and the word that Twirp has for it.
    #[must_use]
    pub fn status(&self) -> (u16, &'static str) {
        match self {
            Self::NoJob => (401, "unauthenticated"),
            Self::OtherRun | Self::Denied(_) => (403, "permission_denied"),
            Self::NotFound(_) => (404, "not_found"),
            Self::Exists(_) => (409, "already_exists"),
            Self::Wrong(_) => (400, "invalid_argument"),
            // No 429 or 503: asked again, it would be the same.
            Self::Full(_) => (413, "resource_exhausted"),
            Self::Disk(_) => (507, "internal"),
        }
    }
}
