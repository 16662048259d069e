//! The forge's repositories as this machine reaches them: remotes with checked addresses, mirrors,
//! the forge's API.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use forge_core::{Forge, RepoName};
use git_engine::{
    Git, GitError, Mirror, Mirrors, Remote, RemoteUrlError, SshAccess, Transports, TreeLimits,
    WorkTree,
};
use http_clients::forge::ForgeClient;
use http_clients::http::{AddressPolicy, AllowedAddress, HttpClient, HttpOptions, Redirects};
use runner_core::event::PullRequestCommit;
use runner_core::state::RunState;
use url::Url;

use crate::lfs_fetcher::LfsFetcher;
use crate::own_forge::{OwnForge, TOKEN_USER};
use crate::settings::RunnerSettings;

/// Why the commit cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The event's clone URL is not used.
    #[error("the repository cannot be fetched: {0}")]
    Remote(#[from] RemoteUrlError),
    /// Its host is not public, and not the forge.
    #[error("the clone URL leads to {address}, which is neither public nor the forge's")]
    Address {
        /// Where it leads.
        address: IpAddr,
    },
    /// It is at the forge, and of another repository.
    #[error("the clone URL is at the forge, and not that of {repository}")]
    OtherRepository {
        /// Whose it has to be.
        repository: String,
    },
    /// Its host cannot be looked up.
    #[error("the host of the clone URL cannot be looked up: {0}")]
    Lookup(String),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The event's ids are none.
    #[error("the event names no usable {0}")]
    Id(&'static str),
    /// The forge does not say which commit a pull request proposes, or a release has.
    #[error("the commit to run is not known: {0}")]
    NoHead(String),
}

impl SourceError {
    /// How a run ends that cannot have its commit.
    pub(crate) fn state(&self) -> RunState {
        match self {
            Self::Git(error) if error.is_refusal() => RunState::Refused,
            _ => RunState::Failed,
        }
    }
}

/// Remotes and mirrors of repositories; clones share them.
#[derive(Clone)]
pub(crate) struct Repositories {
    settings: Arc<RunnerSettings>,
    mirrors: Mirrors,
}

impl Repositories {
    /// As the settings say.
    pub(crate) fn new(settings: &Arc<RunnerSettings>) -> Self {
        Self::with_root(settings, &settings.repositories)
    }

    /// What runs of pull requests have checked out.
    pub(crate) fn pull_request_commit(&self) -> PullRequestCommit {
        self.settings.pull_request_commit
    }

    /// With mirrors in another folder.
    pub(crate) fn with_root(settings: &Arc<RunnerSettings>, root: &Path) -> Self {
        let (program, path) = &settings.git;
        let limits = &settings.checkouts;
        let git = Git::new(program, path)
            .timeout(limits.time)
            .memory(limits.memory)
            // A pack and a file of a checkout alike.
            .largest_file(limits.fetch_bytes.max(limits.tree.bytes));
        Self {
            mirrors: Mirrors::new(git, root),
            settings: Arc::clone(settings),
        }
    }

    /// The same with mirrors in another folder.
    pub(crate) fn elsewhere(&self, root: &Path) -> Self {
        Self::with_root(&self.settings, root)
    }

    /// The mirror of a repository. Blocks.
    pub(crate) fn mirror(&self, repo: &RepoName) -> Result<Mirror, GitError> {
        self.mirrors.open(repo)
    }

    /// The most that a commit may lay out.
    pub(crate) fn tree_limits(&self) -> &TreeLimits {
        &self.settings.checkouts.tree
    }

    /// The kind of forge that is configured.
    pub(crate) fn forge(&self) -> Forge {
        self.settings.forge
    }

    /// The forge's API, where it is known.
    pub(crate) fn forge_client(&self) -> Option<ForgeClient> {
        self.settings.forge_client()
    }

    /// An empty clone of what is public at this address. Blocks.
    pub(crate) fn work_tree(&self, folder: &Path, url: &str) -> Result<WorkTree, GitError> {
        self.mirrors.work_tree(folder, url)
    }

    /// Whether the operator lets workflows read this repository with the runner's token.
    pub(crate) fn is_listed(&self, repository: &RepoName) -> bool {
        let mut listed = self.settings.checkout_repositories.iter();
        listed.any(|pattern| pattern.names(repository))
    }

    /// The forge's address, where it is one that repositories are cloned from.
    pub(crate) fn clone_base(&self) -> Option<&Url> {
        let settings = &self.settings;
        let base = settings.forge_url.as_ref();
        base.filter(|_| settings.forge != Forge::GitHub)
    }

    /// The remote of `repository`, with its address checked and what is needed to get in: at the
    /// forge it is that repository's, and no other's. Blocks for the lookup of its name.
    pub(crate) fn remote(&self, clone_url: &str, repository: &str) -> Result<Remote, SourceError> {
        let (remote, is_forge) = self.checked(clone_url, self.settings.transports)?;
        let own = OwnForge::from_settings(&self.settings);
        if own.has_repository(remote.url(), repository) == Some(false) {
            return Err(SourceError::OtherRepository {
                repository: repository.to_owned(),
            });
        }
        Ok(self.with_token(remote, is_forge))
    }

    /// The same without the runner's token: what everybody may read. Blocks.
    pub(crate) fn public_remote(&self, clone_url: &str) -> Result<Remote, SourceError> {
        self.checked(clone_url, self.settings.transports)
            .map(|(remote, _)| remote)
    }

    /// Where the runner's token goes along to this address, the same remote without it. Blocks.
    pub(crate) fn without_token(&self, clone_url: &str) -> Option<Remote> {
        let checked = self.checked(clone_url, self.settings.transports).ok();
        let (remote, is_forge) = checked?;
        (is_forge && self.settings.forge_token.is_some()).then_some(remote)
    }

    /// The remote at an address that the operator names, whatever the repository is called there.
    /// Blocks.
    pub(crate) fn named_remote(&self, url: &str) -> Result<Remote, SourceError> {
        self.remote_by(url, self.settings.transports)
    }

    /// The same by other transports: folders of this machine that its operator names.
    pub(crate) fn remote_by(&self, url: &str, by: Transports) -> Result<Remote, SourceError> {
        let (remote, is_forge) = self.checked(url, by)?;
        Ok(self.with_token(remote, is_forge))
    }

    /// The token goes to the forge it is for, and nowhere else.
    fn with_token(&self, remote: Remote, is_forge: bool) -> Remote {
        match (&self.settings.forge_token, is_forge) {
            (Some(token), true) => remote.with_token(TOKEN_USER, token.clone()),
            _ => remote,
        }
    }

    /// How large files of the repository at `url` are read: from public addresses, those that the
    /// operator allows, and the forge's own.
    pub(crate) fn lfs_fetcher(&self, url: &str) -> LfsFetcher {
        let settings = &self.settings;
        let url = Url::parse(url).ok();
        let forge = settings.forge_url.as_ref();
        let is_forge = url.as_ref().zip(forge);
        let is_forge = is_forge.is_some_and(|(url, forge)| url.origin() == forge.origin());
        let own = url.filter(|_| is_forge).and_then(|url| {
            let host = url.host_str()?;
            let place = format!("{host}:{}", url.port_or_known_default()?);
            place.parse::<AllowedAddress>().ok()
        });
        let addresses = match &settings.addresses {
            AddressPolicy::Any => AddressPolicy::Any,
            AddressPolicy::PublicOnly => AddressPolicy::Listed(own.into_iter().collect()),
            AddressPolicy::Listed(places) => {
                AddressPolicy::Listed(places.iter().cloned().chain(own).collect())
            }
        };
        LfsFetcher {
            http: HttpClient::new(HttpOptions {
                redirects: Redirects::Anywhere(5),
                addresses,
                ..HttpOptions::default()
            }),
            plain: settings.transports.http,
        }
    }

    /// A remote that is reached by SSH with a key of the workflow's own, with its address checked.
    /// The forge's own host is let through at the port of SSH, and at that of `known`, where its
    /// events say that it is. Blocks.
    pub(crate) fn ssh_remote(
        &self,
        address: &str,
        access: &SshAccess,
        known: Option<&str>,
    ) -> Result<Remote, SourceError> {
        let remote = Remote::ssh(address, access.clone())?;
        let known = known.and_then(|known| Remote::ssh(known, access.clone()).ok());
        let forge = self.settings.forge_url.as_ref().and_then(Url::host_str);
        let is_forge = remote.host_and_port().is_some_and(|(host, port)| {
            let known = known.as_ref().and_then(Remote::host_and_port);
            forge == Some(host) && (port == 22 || known == Some((host, port)))
        });
        if is_forge {
            Ok(remote)
        } else {
            self.pinned(remote)
        }
    }

    /// A remote that leads to addresses only that are allowed.
    fn pinned(&self, remote: Remote) -> Result<Remote, SourceError> {
        let Some((host, port)) = remote.host_and_port() else {
            return Ok(remote);
        };
        let name = host.trim_matches(['[', ']']).to_owned();
        let addresses = (name.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| SourceError::Lookup(error.to_string()))?;
        let addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
        let allows = |address: &&IpAddr| self.settings.addresses.allows(&name, **address, port);
        if let Some(address) = addresses.iter().find(|address| !allows(address)) {
            return Err(SourceError::Address { address: *address });
        }
        // git connects to exactly these.
        Ok(remote.pinned(addresses))
    }

    /// A remote whose address is checked, and whether it is the forge's.
    fn checked(
        &self,
        clone_url: &str,
        transports: Transports,
    ) -> Result<(Remote, bool), SourceError> {
        let settings = &self.settings;
        let remote = Remote::parse(clone_url, transports)?;
        let is_forge = settings
            .forge_url
            .as_ref()
            .is_some_and(|forge| forge.origin() == remote.url().origin());
        let remote = if is_forge {
            remote
        } else {
            self.pinned(remote)?
        };
        let is_forge = is_forge || OwnForge::from_settings(settings).is_host_of(remote.url());
        Ok((remote, is_forge))
    }
}
