//! How much of reports there may be, what they are found by, and why one cannot be read.

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
