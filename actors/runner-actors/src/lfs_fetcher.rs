//! How servers of large files (Git LFS) are spoken to.

use git_engine::Remote;
use http_clients::http::HttpClient;
use http_clients::lfs::LfsClient;
use runner_core::checkout::{is_own_lfs, lfs_endpoint};

use crate::own_forge::TOKEN_USER;

/// How servers are spoken to: addresses are checked, and tokens go to the forge.
pub(crate) struct LfsFetcher {
    pub(crate) http: HttpClient,
    /// Whether objects may lie where there is no TLS.
    pub(crate) plain: bool,
}

impl LfsFetcher {
    /// The server of a repository, with the rights that its remote has.
    pub(crate) fn client(
        &self,
        remote: &Remote,
        config: Option<&str>,
    ) -> Result<LfsClient, String> {
        let endpoint = lfs_endpoint(remote.url(), config)?;
        // A commit says where its files lie: by that the runner's token reads no other repository.
        let is_own = is_own_lfs(remote.url(), &endpoint);
        let credentials = remote.credentials();
        let credentials = credentials.filter(|(user, _)| is_own || *user != TOKEN_USER);
        let http = self.http.clone();
        Ok(LfsClient::new(http, endpoint, credentials, self.plain))
    }
}
