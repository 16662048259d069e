//! What can go wrong while learning.

use std::path::PathBuf;

/// Why a corpus could not be written, or learnt from.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file was cut short or altered; collect the corpus again.
    #[error("{}: the token file is damaged ({what}); collect the documents again", path.display())]
    DamagedCorpus {
        /// The file.
        path: PathBuf,
        /// What was wrong with it.
        what: &'static str,
    },
    /// The checkpoint or model is damaged, or was made from another corpus or by other settings.
    #[error("the saved state cannot be used ({0}); begin again")]
    UnusableState(&'static str),
    /// The saved state could not be read or written.
    #[error("saved state: {0}")]
    State(#[source] std::io::Error),
    /// More documents than a corpus can hold.
    #[error("a corpus holds at most {0} documents")]
    TooManyDocuments(usize),
}
