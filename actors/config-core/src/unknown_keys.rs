//! What becomes of keys that nobody knows.

/// What to do with a key nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKeys {
    /// An error: it is a misspelt key, or one that has no effect.
    #[default]
    Refuse,
    /// A warning: the file may have been written for a newer version.
    Warn,
}
