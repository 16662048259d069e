//! Parameters out of paths.

use edge_web::Problem;
use forge_core::RunId;

/// A run's id out of a path.
pub(crate) fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse()
        .map_err(|_| Problem::not_found("there is no run of that id"))
}
