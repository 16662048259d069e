//! Which repository of a forge a working tree is of: the remote `origin`, else the only one.

use std::path::Path;
use std::process::Command;

use forge_core::RepoName;
use url::Url;

/// A repository of a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepositoryOrigin {
    /// Its page for people.
    pub(crate) page: String,
    /// `owner/name`.
    pub(crate) repository: RepoName,
    /// The forge's host.
    pub(crate) host: String,
}

impl RepositoryOrigin {
    /// Of the working tree at `root`.
    pub(crate) fn find(root: &Path) -> Option<Self> {
        let ask = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(root).args(arguments);
            super::tree::output(command).ok()
        };
        let remotes = ask(&["remote"])?;
        let mut remotes = remotes.lines();
        let first = remotes.next()?;
        let is_only = remotes.next().is_none();
        let remote = if is_only { first } else { "origin" };
        Self::parse(&ask(&["remote", "get-url", "--", remote])?)
    }

    /// Of an address: `https://…`, `ssh://…` or `git@host:owner/name.git`. Names and passwords in
    /// it are left out.
    fn parse(address: &str) -> Option<Self> {
        let url = match address.split_once(':') {
            Some((host, path)) if !address.contains("://") && !host.contains('/') => {
                format!("ssh://{host}/{}", path.trim_start_matches('/'))
            }
            _ => address.to_owned(),
        };
        let url = Url::parse(&url).ok()?;
        let host = url.host_str()?.to_owned();
        let is_web = matches!(url.scheme(), "http" | "https");
        if !is_web && url.scheme() != "ssh" {
            return None;
        }
        let path = url.path().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let repository: RepoName = path.parse().ok()?;
        let server = match url.port() {
            Some(port) if is_web => format!("{}://{host}:{port}", url.scheme()),
            _ if is_web => format!("{}://{host}", url.scheme()),
            _ => format!("https://{host}"),
        };
        Some(Self {
            page: format!("{server}/{path}"),
            repository,
            host,
        })
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]
mod tests {
    use super::RepositoryOrigin;

    #[test]
    fn i17_addresses_of_remotes_lead_to_the_forge_s_repository() {
        let page = "https://code.example/acme/rocket";
        let cases = [
            ("https://code.example/acme/rocket.git", Some(page)),
            ("https://me:secret@code.example/acme/rocket/", Some(page)),
            ("git@code.example:acme/rocket.git", Some(page)),
            ("ssh://git@code.example:2222/acme/rocket", Some(page)),
            (
                "http://code.example:3000/acme/rocket",
                Some("http://code.example:3000/acme/rocket"),
            ),
            ("/srv/git/rocket.git", None),
            ("file:///srv/git/rocket.git", None),
            ("https://code.example/rocket", None),
        ];
        for (address, page) in cases {
            let found = RepositoryOrigin::parse(address);
            let found = found.map(|it| (it.page, it.repository.to_string()));
            let wanted = page.map(|page| (page.to_owned(), "acme/rocket".to_owned()));
            assert_eq!(found, wanted, "{address}");
        }
    }
}
