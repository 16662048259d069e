//! What an agent writes: redacted as it is read, kept head and tail, on disk, and followed live.
//!
//! ```text
//! pipe ── push ──> Redactor (secrets in all their spellings, across writes) ──> segments on disk
//!                                                                                 │
//!                        LogReader (any thread or process; bytes, gaps, the end) <─┘
//! ```
//!
//! A log is a folder. Its segments are named by the place of their first byte in the whole output.
//! The first is never given up; of the later ones only the last two are kept, so what a reader
//! finds is the beginning, a gap that it is told about, and the end. No unredacted byte reaches the
//! disk.

mod archive;
mod log;
mod reader;
mod redact;

pub use archive::{LogExtent, extent, pack, unpack};
pub use log::{LogError, LogSizes, LogSummary, RunLog};
pub use reader::{AgentLogReader, LogPart, abandon};
pub use redact::{MASK, Redactor};
