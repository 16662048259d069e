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
mod location;
mod markdown;
mod report_globs;
mod settings;
mod tap;
mod text;
mod types;

pub use history::{TestHistory, TestRun, TestSummary, histories};
pub use job_tests::{JobReports, JobTests, ReadReport};
pub use location::SourceFiles;
pub use markdown::summary;
pub use report_globs::{Listed, ReportGlobs};
pub use settings::{Quarantined, TestSettings};
pub use types::{ReportFormat, TestCase, TestCounts, TestFailure, TestOutcome, TestReport};

/// The largest report that is read, in bytes.
pub const MAX_REPORT_BYTES: u64 = 20 << 20;
/// How many reports of one job are read.
pub const MAX_REPORTS: usize = 500;
/// How many bytes of reports of one job are read.
pub const MAX_JOB_BYTES: u64 = 64 << 20;
/// How many tests of one job are kept.
pub const MAX_TESTS: usize = 50_000;
/// How many failures of one job are kept with their messages and traces.
pub const MAX_FAILURES: usize = 500;
/// How deep elements and subtests may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many notes of one job are kept.
pub const MAX_NOTES: usize = 50;
/// Where a project says which reports there are, and which tests are in quarantine.
pub const SETTINGS_FILE: &str = ".orrery/tests.toml";
/// The variable by which a workflow, a job or a step (by `GITHUB_ENV`) names further reports.
pub const REPORTS_VARIABLE: &str = "ORRERY_TEST_REPORTS";

/// Why a file is no report that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It holds something else.
    #[error("it is neither JUnit XML nor TAP nor test2json")]
    NoReport,
    /// It is too large.
    #[error("it has {0} bytes, {MAX_REPORT_BYTES} at most are read")]
    TooLarge(u64),
    /// It is XML of the right kind that breaks off before its first test.
    #[error("{0}")]
    Broken(String),
}

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
