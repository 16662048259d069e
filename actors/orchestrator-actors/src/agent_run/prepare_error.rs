//! Why a run cannot be prepared.

/// Why a run cannot be prepared, for people: what failed, and what to do.
#[derive(Debug)]
pub(super) enum RunPrepareError {
    /// Something on this machine.
    Local(String),
    /// The forge could not be asked for the commit.
    Network(String),
}

impl RunPrepareError {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Local(text) | Self::Network(text) => text,
        }
    }
}

impl From<String> for RunPrepareError {
    fn from(text: String) -> Self {
        Self::Local(text)
    }
}

impl From<&str> for RunPrepareError {
    fn from(text: &str) -> Self {
        Self::Local(text.to_owned())
    }
}
