//! Problem matchers: lines of a step's output that regular expressions make annotations of.
//!
//! ```text
//! ::add-matcher::file ──▶ parse_file ──▶ ProblemMatchers (of the job)
//!                                              │ LineMatcher::set
//! a line of a stream, without colours ──▶ LineMatcher::line ──▶ Annotation
//! ```
//!
//! Source: "Problem Matchers" of the toolkit's documentation.

mod definition;
mod js_regex;
mod line_matcher;
mod matched_file;
mod tools;

pub use definition::{MatcherError, ProblemMatcher, ProblemMatchers, parse_file};
pub use line_matcher::LineMatcher;
pub use matched_file::matcher_path;
pub use tools::of_setup;

/// Bytes of a file of matchers.
pub const MAX_FILE_BYTES: usize = 256 << 10;
/// Matchers that a job has at once.
pub const MAX_MATCHERS: usize = 32;
/// Lines that one matcher can be about.
const MAX_PATTERNS: usize = 8;
/// Bytes of a compiled expression.
const MAX_REGEX_BYTES: usize = 256 << 10;
/// Bytes of a line that is looked at.
const MAX_LINE_BYTES: usize = 4 << 10;
