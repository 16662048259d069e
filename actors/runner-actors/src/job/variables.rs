//! What a job's steps set for those after them.

use runner_core::problem_matcher::ProblemMatchers;

/// What steps set for those after them.
#[derive(Clone, Default)]
pub(super) struct JobVariables {
    /// Variables of the workflow, the job, and those that steps set.
    pub(super) env: Vec<(String, String)>,
    /// Directories that steps put before `PATH`, the last one first.
    pub(super) path: Vec<String>,
    /// What makes annotations of lines of output.
    pub(super) matchers: ProblemMatchers,
}
