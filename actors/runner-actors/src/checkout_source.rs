//! What `actions/checkout` asks for, fetched and laid out on the host: the run's own repository by
//! its mirror, others afresh and with the rights that the run has there, and their submodules.
//!
//! Nothing that one run fetched of another repository is kept, so that none is read by a run that
//! may not read it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{Secret, quoted};
use forge_core::{CommitSha, GitRef, ObjectFormats, RepoName};
use git_engine::{Depth, Fetch, GitError, Remote, Sparse, SshAccess, TreeSize, WorkTree};
use runner_core::checkout::{
    CheckoutRequest, History, ReadBy, Submodules, is_ssh, read_by, repository_url, same_repository,
    ssh_url,
};
use runner_core::event::EventContext;
use url::Url;

use crate::checkout_key;
use crate::checkouts::CheckoutPermits;
use crate::permits::HeldPermits;
use crate::repositories::{Repositories, SourceError};

/// Longest wait for the list of a repository's references.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// Where a job's checkouts come from.
#[derive(Clone)]
pub(crate) struct CheckoutSource {
    pub(crate) repositories: Repositories,
    pub(crate) permits: CheckoutPermits,
    /// Where the run's repository is cloned from.
    pub(crate) clone_url: String,
    /// Where checkouts are laid out.
    pub(crate) folder: PathBuf,
    /// Longest wait for room on the disk.
    pub(crate) room_timeout: Duration,
}

/// A repository on the host, with its room on the disk; it is removed when this is dropped.
pub(crate) struct LaidOut {
    pub(crate) folder: PathBuf,
    pub(crate) commit: CommitSha,
    /// What led to the commit; empty of a commit.
    pub(crate) reference: String,
    /// The address that the token of the step is for.
    pub(crate) origin: Option<String>,
    /// Where its key is in the machine, if it is kept there.
    pub(crate) key_folder: String,
    permits: Vec<HeldPermits>,
}

/// A repository whose commit is here.
pub(crate) struct FetchedRepository {
    pub(crate) tree: WorkTree,
    commit: CommitSha,
    reference: Option<GitRef>,
    pub(crate) url: String,
    size: TreeSize,
}

/// One checkout under way.
#[derive(Clone)]
pub(crate) struct Checkout {
    pub(crate) source: CheckoutSource,
    pub(crate) request: CheckoutRequest,
    /// The run's repository, commit and reference, and whether it is a stranger's pull request.
    pub(crate) repository: String,
    sha: String,
    event_reference: String,
    untrusted: bool,
    /// Where the forge has the run's repository for SSH, and what the step's key lets in.
    pub(crate) ssh_url: Option<String>,
    pub(crate) ssh: Option<SshAccess>,
    /// Where the key is in the machine, if it is kept there.
    pub(crate) key_folder: String,
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        let (folder, permits) = (
            std::mem::take(&mut self.folder),
            std::mem::take(&mut self.permits),
        );
        let remove = move || {
            // What is left is removed at the next start.
            let _ = std::fs::remove_dir_all(folder);
            drop(permits);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

impl CheckoutSource {
    /// Fetches and lays out what is asked for, in a folder of its own that is called `name`.
    ///
    /// # Errors
    /// Why it cannot be had, for people.
    pub(crate) async fn lay_out(
        &self,
        request: CheckoutRequest,
        event: &EventContext,
        name: &str,
    ) -> Result<LaidOut, String> {
        let folder = self.folder.join(name);
        let checkout = Checkout {
            source: self.clone(),
            repository: event.repository.clone(),
            sha: event.sha.clone(),
            event_reference: event.reference.clone(),
            untrusted: event.untrusted,
            ssh_url: ssh_url(&event.payload),
            ssh: checkout_key::access(&request)?,
            key_folder: checkout_key::key_folder(name),
            request,
        };
        // From here on the folder is removed whatever comes.
        let mut laid_out = LaidOut {
            folder: folder.clone(),
            commit: CommitSha::parse(&event.sha, ObjectFormats::Sha1AndSha256)
                .map_err(|_| "the event names no usable commit".to_owned())?,
            reference: checkout.request.reference.clone(),
            origin: None,
            key_folder: checkout.key_folder.clone(),
            permits: Vec::new(),
        };
        let work = self.permits.acquire(&event.repository).await;
        let (first, place) = (checkout.clone(), folder.clone());
        let fetched = blocking(move || first.fetch(&place)).await?;
        drop(work);
        laid_out.permits.push(self.room(&fetched.size).await?);
        laid_out.commit = fetched.commit.clone();
        let plain_url = checkout.plain_url(&fetched.url)?;
        let origin = Url::parse(&plain_url).map(|url| url.origin());
        let origin = origin.ok().filter(url::Origin::is_tuple);
        laid_out.origin = origin.map(|origin| origin.ascii_serialization());
        if let Some(reference) = &fetched.reference
            && laid_out.reference.is_empty()
        {
            laid_out.reference = reference.to_string();
        } else if fetched.reference.is_none() {
            laid_out.reference = String::new();
        }
        let (base, url) = (fetched.size, plain_url.clone());
        let work = self.permits.acquire(&event.repository).await;
        let (submodules, large) = blocking(move || {
            let submodules = checkout.check_out(&fetched)?;
            let reference = fetched.reference.as_ref().map(ToString::to_string);
            let large = checkout.request.lfs;
            let large = large.then(|| checkout.large_files(&fetched.tree, &plain_url, reference));
            Ok((submodules, large.transpose()?))
        })
        .await?;
        drop(work);
        laid_out.permits.push(self.room(&submodules).await?);
        if let Some(large) = large {
            let size = large.size();
            let taken = [base.bytes, submodules.bytes, size.bytes];
            let taken = taken.into_iter().fold(0, u64::saturating_add);
            let limit = self.repositories.tree_limits().bytes;
            if taken > limit {
                return Err(format!(
                    "with its large files it takes {taken} bytes, and a checkout may take {limit} (`checkouts`)"
                ));
            }
            laid_out.permits.push(self.room(&size).await?);
            let fetcher = self.repositories.lfs_fetcher(&url);
            large.fetch(fetcher).await?;
        }
        Ok(laid_out)
    }

    async fn room(&self, size: &TreeSize) -> Result<HeldPermits, String> {
        let permit = self.permits.acquire_disk(size);
        let permit = tokio::time::timeout(self.room_timeout, permit).await;
        permit.map_err(|_| {
            let seconds = self.room_timeout.as_secs();
            format!("other checkouts left no room for {seconds} s; `checkouts.total` says how much there is")
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

impl Checkout {
    fn fetch(&self, folder: &Path) -> Result<FetchedRepository, String> {
        if self.is_by_key() {
            self.fetch_by_key(folder)
        } else if self.request.own {
            let fetched = self.fetch_own(folder, None);
            fetched.map_err(|error| error.to_string())?
        } else {
            self.fetch_other(folder)
        }
    }

    /// The run's own repository, by its mirror; `origin` is where git in the machine finds it,
    /// where that is elsewhere than the runner does.
    pub(crate) fn fetch_own(
        &self,
        folder: &Path,
        origin: Option<&str>,
    ) -> Result<Result<FetchedRepository, String>, SourceError> {
        let (repositories, request) = (&self.source.repositories, &self.request);
        let remote = repositories.remote(&self.source.clone_url, &self.repository)?;
        let url = origin.map_or_else(|| remote.url().to_string(), str::to_owned);
        let tree = repositories.work_tree(folder, &url)?;
        let found = match (request.reference.is_empty(), request.commit()) {
            (true, _) => self.event_commit(),
            // The merge of a pull request, which not every forge makes.
            (false, None) if self.is_event_merge() => self.event_commit(),
            (false, Some(commit)) => Some((commit, None)),
            (false, None) => {
                let found = tree.remote_checkout(&remote, &request.reference, LIST_TIMEOUT)?;
                found.map(|(commit, reference)| (commit, Some(reference)))
            }
        };
        let Some((commit, reference)) = found else {
            return Ok(Err(self.no_reference()));
        };
        let mirror = repositories.mirror(&request.repository)?;
        mirror.fetch(&remote, &commit, reference.as_ref())?;
        if request.history == History::Full || request.tags {
            mirror.fetch_named(&remote)?;
        } else if let Some(tag) = reference.as_ref().and_then(GitRef::tag) {
            // One that is gone by now is no more than a name of the commit.
            let _ = mirror.fetch_tag(&remote, tag);
        }
        let size = mirror.tree_size(&commit, repositories.tree_limits())?;
        let wanted = self.wanted(&commit, reference.as_ref());
        tree.fetch_from_mirror(&mirror, &wanted)?;
        Ok(Ok(FetchedRepository {
            tree,
            commit,
            reference,
            url,
            size,
        }))
    }

    /// Whether the reference is asked for by which the run's own merge goes.
    fn is_event_merge(&self) -> bool {
        let reference = &self.request.reference;
        *reference == self.event_reference && self.is_of_merge()
    }

    fn is_of_merge(&self) -> bool {
        self.event_reference.starts_with("refs/pull/") && self.event_reference.ends_with("/merge")
    }

    /// Whether the run's own merge is asked for, by whatever name: no server has it.
    pub(crate) fn is_own_merge(&self) -> bool {
        let reference = &self.request.reference;
        let named = reference.is_empty()
            || *reference == self.event_reference
            || reference.eq_ignore_ascii_case(&self.sha);
        self.request.own && self.is_of_merge() && named
    }

    /// What the event is of.
    fn event_commit(&self) -> Option<(CommitSha, Option<GitRef>)> {
        let sha = CommitSha::parse(&self.sha, ObjectFormats::Sha1AndSha256);
        Some((sha.ok()?, self.event_reference.parse().ok()))
    }

    /// Another repository of the forge, with the rights that the run has there.
    fn fetch_other(&self, folder: &Path) -> Result<FetchedRepository, String> {
        let repository = &self.request.repository;
        let url = self.address(repository)?;
        let (remote, by) = self.remote(&url).map_err(|error| error.to_string())?;
        let fetched = self.fetch_from(folder, &url, &remote);
        match fetched {
            Ok(found) => found,
            Err(error) => Err(match by {
                ReadBy::Everybody => format!(
                    "{repository} cannot be fetched: {error}. It is asked for without a token: {}",
                    self.way_in()
                ),
                ReadBy::Step => {
                    format!("{repository} cannot be fetched with the step's `token`: {error}")
                }
                ReadBy::Runner => format!("{repository} cannot be fetched: {error}"),
            }),
        }
    }

    pub(crate) fn fetch_from(
        &self,
        folder: &Path,
        url: &str,
        remote: &Remote,
    ) -> Result<Result<FetchedRepository, String>, GitError> {
        let (repositories, request) = (&self.source.repositories, &self.request);
        let tree = repositories.work_tree(folder, url)?;
        let found = match (request.reference.is_empty(), request.commit()) {
            (true, _) if request.own => self.event_commit(),
            (true, _) => {
                let default = tree.remote_default(remote, LIST_TIMEOUT)?;
                default
                    .map(|(branch, commit)| (commit, format!("refs/heads/{branch}").parse().ok()))
            }
            (false, Some(commit)) => Some((commit, None)),
            (false, None) => {
                let found = tree.remote_checkout(remote, &request.reference, LIST_TIMEOUT)?;
                found.map(|(commit, reference)| (commit, Some(reference)))
            }
        };
        let Some((commit, reference)) = found else {
            return Ok(Err(self.no_reference()));
        };
        let wanted = self.wanted(&commit, reference.as_ref());
        tree.fetch_from_remote(remote, &wanted)?;
        let size = tree.size(&commit, repositories.tree_limits())?;
        Ok(Ok(FetchedRepository {
            tree,
            commit,
            reference,
            url: url.to_owned(),
            size,
        }))
    }

    pub(crate) fn wanted<'a>(
        &self,
        commit: &'a CommitSha,
        reference: Option<&'a GitRef>,
    ) -> Fetch<'a> {
        Fetch {
            commit,
            reference,
            depth: match self.request.history {
                History::Full => Depth::Full,
                History::Commits(count) => Depth::Commits(count),
            },
            tags: self.request.tags,
        }
    }

    fn no_reference(&self) -> String {
        let repository = &self.request.repository;
        match self.request.reference.as_str() {
            "" => format!("{repository} has no default branch: it is empty"),
            name => format!(
                "{repository} has no branch or tag {}; `ref` is a branch, a tag, a full reference such as refs/pull/7/head, or a commit with all its digits",
                quoted(name)
            ),
        }
    }

    /// The clone URL of another repository of the forge.
    pub(crate) fn address(&self, repository: &RepoName) -> Result<String, String> {
        let beside = repository_url(&self.source.clone_url, &self.repository, repository);
        let by_forge = || {
            let base = self.source.repositories.clone_base()?;
            Some(format!(
                "{}/{repository}.git",
                base.as_str().trim_end_matches('/')
            ))
        };
        beside.or_else(by_forge).ok_or_else(|| {
            format!("where {repository} is cloned from is not known: the run's own repository is at {}, and `forge_url` names no forge", quoted(&self.source.clone_url))
        })
    }

    /// A remote with the rights that the run has there.
    pub(crate) fn remote(&self, url: &str) -> Result<(Remote, ReadBy), SourceError> {
        let repositories = &self.source.repositories;
        if let (Some(access), true) = (&self.ssh, is_ssh(url)) {
            let remote = repositories.ssh_remote(url, access, self.ssh_url.as_deref())?;
            return Ok((remote, ReadBy::Step));
        }
        let known = same_repository(&self.source.clone_url, &self.repository, url);
        let known = known.or_else(|| {
            let path = url.strip_prefix(repositories.clone_base()?.as_str())?;
            path.strip_suffix(".git").unwrap_or(path).parse().ok()
        });
        // What is not of the forge gets no token of anybody.
        let Some(repository) = known else {
            return Ok((repositories.public_remote(url)?, ReadBy::Everybody));
        };
        let own = repository
            .to_string()
            .eq_ignore_ascii_case(&self.repository);
        let listed = repositories.is_listed(&repository);
        let token = &self.request.token;
        let by = read_by(own, listed, self.untrusted, !token.is_empty());
        let remote = match by {
            ReadBy::Runner => repositories.remote(url, repository.as_ref())?,
            ReadBy::Everybody => repositories.public_remote(url)?,
            ReadBy::Step => {
                let remote = repositories.public_remote(url)?;
                remote.with_token("x-access-token", Secret::new(token.clone()))
            }
        };
        Ok((remote, by))
    }

    /// What to do about a repository that everybody may not read.
    pub(crate) fn way_in(&self) -> &'static str {
        if self.untrusted {
            "a pull request from a fork reads what everybody may"
        } else {
            "give the step a `token`, or have the operator list it in `checkout_repositories`"
        }
    }

    /// Lays the files out, then the submodules; gives what those take.
    fn check_out(&self, fetched: &FetchedRepository) -> Result<TreeSize, String> {
        let request = &self.request;
        let sparse = (!request.sparse.is_empty()).then(|| Sparse {
            patterns: request.sparse.clone(),
            cone: request.cone,
        });
        let FetchedRepository {
            tree,
            commit,
            reference,
            url,
            size,
        } = fetched;
        let laid_out = tree.check_out(commit, reference.as_ref(), sparse.as_ref());
        laid_out.map_err(|error| error.to_string())?;
        self.keep_command(tree)?;
        match request.submodules {
            Submodules::None => Ok(TreeSize::default()),
            _ => self.submodules((tree, commit), url, size),
        }
    }
}
