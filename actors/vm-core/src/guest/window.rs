//! How much may be under way without credit.

/// Bytes of one channel that may be under way without credit.
pub const WINDOW: u32 = 512 * 1024;

/// Bytes of what is typed on one terminal that may be under way without credit.
pub const TERMINAL_WINDOW: u32 = 32 * 1024;

/// Bytes of one stream that may be under way without credit, in each direction.
pub const STREAM_WINDOW: u32 = 128 * 1024;
