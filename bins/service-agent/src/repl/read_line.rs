//! What the reading thread gives.

/// What was read.
#[derive(Debug)]
pub(super) enum ReadLine {
    Text(String),
    /// Ctrl-C: another line is read.
    Cancelled,
    /// There is no more.
    End,
}
