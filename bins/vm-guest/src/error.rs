//! Why the agent cannot go on.

/// Why the agent cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// Something of the system did not work.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A device did not show up.
    #[error("{0} did not appear")]
    Missing(&'static str),
    /// The host broke the protocol.
    #[error("the host sent what is not the protocol: {0}")]
    Protocol(String),
}

/// Adds what was tried to an error of the system.
pub(crate) trait ErrorContext<T> {
    fn context(self, what: impl Into<String>) -> Result<T, AgentError>;
}

impl<T, E: Into<std::io::Error>> ErrorContext<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, AgentError> {
        self.map_err(|error| AgentError::System {
            what: what.into(),
            source: error.into(),
        })
    }
}
