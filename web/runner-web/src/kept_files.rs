//! What is kept of runs, wherever it is: read on threads that may block.

use edge_web::Problem;
use runner_actors::RunnerView;

/// Reads what is kept of runs, on a thread that may block; what cannot be read now may be later.
pub(crate) async fn kept<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let read = tokio::task::spawn_blocking(work).await;
    read.map_err(std::io::Error::other).flatten().map_err(|error| {
        tracing::error!(event = "run.files_failed", %error, "what is kept of a run cannot be read");
        Problem::unavailable("what is kept of the run cannot be read now", 10)
    })
}

/// Makes the file of a run's log the newest, where several processes write logs.
pub(crate) async fn newest_log(view: &RunnerView, run: &str) -> Result<(), Problem> {
    if !view.shares_files() {
        return Ok(());
    }
    let (logs, run) = (view.logs().clone(), run.to_owned());
    kept(move || logs.fetch(&run)).await
}
