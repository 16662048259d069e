//! Why an orchestrator does not run.

use std::io;
use std::path::PathBuf;

/// Why an orchestrator cannot be started or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The socket of the admin bridge cannot be made.
    #[error("cannot listen on {}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A listener failed, or the actors gave up.
    #[error(transparent)]
    Io(#[from] io::Error),
}
