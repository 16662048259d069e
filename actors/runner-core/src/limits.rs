//! How much of everything there may be: no file, expression or output can take more.

/// The largest workflow or action file, in bytes (that of every configuration file).
pub const MAX_FILE_BYTES: usize = config_core::MAX_FILE_BYTES;
/// How deep YAML values may be nested.
pub const MAX_DEPTH: usize = config_core::MAX_DEPTH;
/// How many values a file may have once its aliases are written out.
pub const MAX_NODES: usize = 100_000;
/// How many bytes of text a file may have once its aliases are written out.
pub const MAX_EXPANDED_BYTES: usize = 4 << 20;
/// The longest text of one expression, in bytes (GitHub's limit is 21,000 characters).
pub const MAX_EXPRESSION_BYTES: usize = 21_000;
/// How deep an expression may be nested (GitHub's limit).
pub const MAX_EXPRESSION_DEPTH: usize = 50;
/// The largest text or JSON an expression may give, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 20;
/// How many bytes of values one expression may look at.
pub const MAX_WORK: usize = 16 << 20;
/// How many operators an expression may have.
pub const MAX_OPERATORS: usize = 300;
/// How many jobs a matrix may have (GitHub's limit).
pub const MAX_MATRIX: usize = 256;
/// How many jobs a workflow may have, called workflows included.
pub const MAX_JOBS: usize = 512;
/// How many steps a job may have, composite actions written out.
pub const MAX_STEPS: usize = 1_000;
/// How many steps of a job run in the background at once (GitHub's limit); others wait.
pub const MAX_BACKGROUND_STEPS: usize = 10;
/// How many bytes of called workflows and local actions a plan reads, each as often as it is
/// called.
pub const MAX_CALLED_BYTES: usize = 8 << 20;
/// How deep composite actions may call each other (GitHub's limit).
pub const MAX_ACTION_DEPTH: usize = 10;
/// How deep workflows may call each other (GitHub's limit).
pub const MAX_WORKFLOW_DEPTH: usize = 10;
/// The largest environment file (`GITHUB_ENV` and its like), in bytes.
pub const MAX_ENV_FILE_BYTES: usize = 1 << 20;
/// The largest step summary, in bytes (GitHub's limit).
pub const MAX_SUMMARY_BYTES: usize = 1 << 20;
/// The most bytes of the summaries of a composite action's steps together.
pub const MAX_SUMMARIES_BYTES: usize = 4 << 20;
/// The most bytes of a job's outputs together (GitHub's limit), as JSON has them.
pub const MAX_OUTPUTS_BYTES: usize = 1 << 20;
/// The most bytes of the outputs of all jobs of a run (GitHub's limit), as JSON has them.
pub const MAX_RUN_OUTPUTS_BYTES: usize = 50 << 20;
/// The most bytes of a name of a run, job, step or label, as it is recorded and shown.
pub const MAX_SHOWN_NAME_BYTES: usize = 4 << 10;
/// The most bytes of a reason, as it is recorded and shown.
pub const MAX_SHOWN_REASON_BYTES: usize = 16 << 10;
/// The most labels of a job that are recorded.
pub const MAX_SHOWN_LABELS: usize = 100;
/// How many mistakes of one file are reported.
pub const MAX_FINDINGS: usize = 100;
