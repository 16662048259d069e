//! The accounts that post.

use http_clients::forge::ForgeClient;
use http_clients::http::HttpClient;

/// Who posts: names of the outbox to clients with tokens. Tokens never stand in the store.
pub trait Accounts: Send + Sync + 'static {
    /// The client of an account; `None`: there is no such account.
    fn client(&self, http: &HttpClient, account: &str) -> Option<ForgeClient>;
}
