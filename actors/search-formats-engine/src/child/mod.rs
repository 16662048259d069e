//! The child process that parsers run in, and the parent's side of it.

mod frame;
mod host;
mod serving;

pub use host::{ReaderPool, ReaderProgram};
pub use serving::{serve, serve_if_asked};

/// The argument with which a program starts itself to read documents that could do harm.
const READ_DOCUMENTS: &str = "__read-documents";
