//! What answering a chat or a summary works with.

use super::conversations::Conversations;
use super::failure::ChatFailure;
use super::model::Models;
use super::settings::ChatParts;
use super::summary_cache::SummaryCache;

/// What one answer needs.
#[derive(Clone)]
pub(super) struct ChatContext {
    pub(super) parts: ChatParts,
    pub(super) models: Models,
    pub(super) conversations: Conversations,
    pub(super) summaries: SummaryCache,
}

/// Runs what computes or blocks on the runtime's blocking threads.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ChatFailure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| ChatFailure::BrokenOff)
}
