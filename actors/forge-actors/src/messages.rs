//! The messages of the outbox worker.
//!
//! | Message | Sent by | The reply means |
//! |---|---|---|
//! | [`Wake`] | whoever committed something to the outbox | none |
//! | [`VerifyStatuses`] | the product's tick | how many statuses the forge did not have, and are due again |
//! | [`RetryParked`] | an operator, a reload | how many entries are due again |
//!
//! All are handled by [`OutboxWorker`](crate::OutboxWorker).

use actix::Message;
use forge_core::{CommitSha, RepoName};
use http_clients::forge::ForgeError;
use store::StoreError;

/// There is something new in the outbox.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct Wake;

/// Compare the statuses begun for a commit with what the forge has, and post what it misses.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<usize, VerifyError>")]
pub struct VerifyStatuses {
    /// The repository.
    pub repo: RepoName,
    /// The commit.
    pub sha: CommitSha,
}

/// Make everything that is parked due again.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<usize, StoreError>")]
pub struct RetryParked;

/// Why statuses could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The forge could not be asked.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The account that posts there is not configured any more.
    #[error("there is no account {account}; configure its token")]
    NoAccount {
        /// Its name.
        account: String,
    },
}
