//! Options of the outbox worker, and the events that it reports.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forge_core::{CommitState, RepoName};
use http_clients::http::HttpOptions;
use store::TableRetention;

use super::accounts::Accounts;
use super::post::PostOutcome;
use crate::outbox::{AttemptFailure, PostRetryDecision, PostTask};

/// What became of a post, for journals and metrics. The log lines are written already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostEvent {
    /// The forge took a status.
    Status {
        /// The repository.
        repo: RepoName,
        /// The commit.
        sha: String,
        /// The context.
        context: String,
        /// What it says.
        state: CommitState,
    },
    /// The forge took a comment, or had it already.
    Comment {
        /// Its key.
        key: String,
        /// The repository.
        repo: RepoName,
        /// The forge's id for it.
        comment: Option<u64>,
    },
    /// An attempt failed.
    Failed {
        /// The status's context or the comment's key.
        subject: String,
        /// The repository.
        repo: RepoName,
        /// Why.
        reason: String,
        /// It is not tried any more by itself.
        parked: bool,
    },
}

type Listener = Arc<dyn Fn(&PostEvent) + Send + Sync>;

/// Options of an outbox worker.
#[derive(Clone)]
pub struct OutboxOptions {
    /// Who posts.
    pub accounts: Arc<dyn Accounts>,
    /// How the forge is spoken to.
    pub http: HttpOptions,
    /// Most posts under way at once.
    pub parallel: usize,
    /// How long an attempt may go on at the forge after it was given up here; the deadline of
    /// `http` at least.
    pub settle: Duration,
    /// How long posted and parked entries are kept.
    pub keep: TableRetention,
    /// The clock: ms since the Unix epoch.
    pub now: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// How many times as fast as time this clock runs: 1 but in simulations, whose delays are then
    /// waited for as much shorter.
    pub speed: u32,
    /// Told of each outcome once it is stored.
    pub listener: Option<Listener>,
}

impl OutboxOptions {
    /// 8 posts at once of 20 s at most; 100,000 entries and 90 days of posted ones; the system's
    /// clock.
    #[must_use]
    pub fn new(accounts: Arc<dyn Accounts>) -> Self {
        Self {
            accounts,
            http: HttpOptions {
                deadline: Duration::from_secs(20),
                ..HttpOptions::default()
            },
            parallel: 8,
            settle: Duration::from_secs(30),
            keep: TableRetention {
                max_rows: Some(100_000),
                max_age: Some(Duration::from_secs(90 * 24 * 3600)),
            },
            now: Arc::new(system_clock),
            speed: 1,
            listener: None,
        }
    }

    /// Logs an outcome and tells the listener.
    pub(super) fn report(
        &self,
        work: &PostTask,
        outcome: &Result<PostOutcome, AttemptFailure>,
        next: Option<PostRetryDecision>,
    ) {
        let Some(event) = event(work, outcome, next) else {
            return;
        };
        log(&event, work, next);
        if let Some(listener) = &self.listener {
            listener(&event);
        }
    }
}

fn system_clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// `None`: nothing that anybody waits for has happened.
fn event(
    work: &PostTask,
    outcome: &Result<PostOutcome, AttemptFailure>,
    next: Option<PostRetryDecision>,
) -> Option<PostEvent> {
    let repo = work.repo().clone();
    Some(match (work, outcome) {
        (PostTask::Status { sha, status, .. }, Ok(_)) => PostEvent::Status {
            repo,
            sha: sha.to_string(),
            context: status.context.to_string(),
            state: status.state,
        },
        (PostTask::Comment { key, delivery, .. }, Ok(PostOutcome::Comment(id)))
            if delivery.taken.is_none() =>
        {
            PostEvent::Comment {
                key: key.clone(),
                repo,
                comment: Some(*id),
            }
        }
        (PostTask::Comment { .. }, Ok(_)) => return None,
        (work, Err(failed)) => PostEvent::Failed {
            subject: match work {
                PostTask::Status { status, .. } => status.context.to_string(),
                PostTask::Comment { key, .. } => key.clone(),
            },
            repo,
            reason: failed.error.to_string(),
            parked: next == Some(PostRetryDecision::Park),
        },
    })
}

fn log(event: &PostEvent, work: &PostTask, next: Option<PostRetryDecision>) {
    let attempt = work.attempt().number;
    match event {
        PostEvent::Status {
            repo,
            sha,
            context,
            state,
        } => tracing::info!(
            event = "status.posted", %repo, %sha, %context, %state, attempt,
            "commit status posted"
        ),
        PostEvent::Comment { key, repo, comment } => tracing::info!(
            event = "forge.post.ok", %repo, %key, comment, attempt,
            "comment posted"
        ),
        PostEvent::Failed {
            subject,
            repo,
            reason,
            parked,
        } => {
            let delay_ms = match next {
                Some(PostRetryDecision::Again(delay)) => u64::try_from(delay.as_millis()).ok(),
                _ => None,
            };
            tracing::warn!(
                event = "forge.post.failed", %repo, subject = ?subject, reason = ?reason, parked,
                delay_ms, attempt, "posting to the forge failed"
            );
        }
    }
}
