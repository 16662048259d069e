//! How servers of large files (Git LFS) are spoken to.

use git_engine::Remote;
use http_clients::http::HttpClient;
use http_clients::lfs::LfsClient;
use runner_core::checkout::lfs_endpoint;

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
        let credentials = remote.credentials();
        let http = self.http.clone();
        Ok(LfsClient::new(http, endpoint, credentials, self.plain))
    }
}
