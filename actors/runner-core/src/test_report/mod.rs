//! Results of a project's own tests, read from the files that test runners leave: JUnit's XML, TAP,
//! Go's `test2json`.
//!
//! ```text
//! bytes ──read──▶ TestReport ──JobReports::add──▶ one list per job ──finish(quarantine, date)──▶ JobTests
//!                     └── ReportError: a note, never a failed job             │
//!                                       history: outcomes by run and commit ◀─┴─▶ markdown: the job's summary
//! ```
//!
//! The files come from machines of strangers: everything has a bound, entities of a document type
//! stay undefined, and a file that is cut short counts as far as it goes, with a note.

mod go;
mod history;
mod job_tests;
mod junit;
mod limits;
mod location;
mod markdown;
mod report_globs;
mod settings;
mod tap;
mod text;
mod types;

pub use history::{TestHistory, TestRun, TestSummary, histories};
pub use job_tests::{JobReports, JobTests, ReadReport};
pub use limits::{
    MAX_DEPTH, MAX_FAILURES, MAX_JOB_BYTES, MAX_NOTES, MAX_REPORT_BYTES, MAX_REPORTS, MAX_TESTS,
    REPORTS_VARIABLE, ReportError, SETTINGS_FILE,
};
pub use location::CommitFiles;
pub use markdown::summary;
pub use report_globs::{ReportFile, ReportGlobs};
pub use settings::{QuarantinedTest, TestSettings};
pub use types::{ReportFormat, TestCase, TestCounts, TestFailure, TestOutcome, TestReport};

/// Reads a report, whatever its format.
///
/// # Errors
/// When it holds no results.
pub fn read(bytes: &[u8]) -> Result<TestReport, ReportError> {
    let length = bytes.len() as u64;
    if length > MAX_REPORT_BYTES {
        return Err(ReportError::TooLarge(length));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.trim_start().as_bytes().first() {
        Some(b'<') => junit::read(text),
        Some(b'{') => go::read(text),
        _ => tap::read(text).or_else(|_| go::read(text)),
    }
}
