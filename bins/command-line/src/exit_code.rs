//! The exit codes of programs that ask a server.

/// It failed, or was refused.
pub const FAILED: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// Nothing was found.
pub const NOT_FOUND: u8 = 4;
/// A secret or token is missing or wrong.
pub const NOT_ALLOWED: u8 = 5;
/// Nobody answers.
pub const UNREACHABLE: u8 = 6;
/// It took too long.
pub const TIMED_OUT: u8 = 7;
/// Somebody pressed Ctrl-C: 128 and the signal's number, as shells count.
pub const INTERRUPTED: u8 = 130;
