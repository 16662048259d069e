//! The commit a worktree begins at, fetched first, into the project's mirror: no token is near a
//! directory that an agent can write.
//!
//! What is fetched comes from `origin` of the project's checkout when that is a directory of this
//! machine or a repository of the configured forge, else from the forge by the repository's name.
//! The forge's token goes to git through a credential helper for that forge alone: it stands in no
//! address and on no command line.

use config_core::Secret;
use forge_core::{CommitSha, Forge};
use git_engine::{Git, Remote, Transports};
use orchestrator_core::config::{AgentCli, Config, ForgeConfig, Project, WorktreeMode};
use orchestrator_core::run::Subject;
use orchestrator_engine::exhaustion;
use orchestrator_engine::worktree::{ProjectMirror, Worktrees};
use url::Url;

use super::assignment::Assignment;
use super::prepare_error::RunPrepareError;
use crate::host::WorktreeRoots;

/// The pull request's head where the agent wants it, else the newest of the base branch. Both are
/// fetched first, into the project's mirror; without a remote, the checkout's commits are used.
pub(super) fn start_commit(
    roots: &WorktreeRoots,
    assignment: &Assignment<'_>,
) -> Result<CommitSha, RunPrepareError> {
    let Assignment {
        agent,
        project,
        run,
        ..
    } = assignment;
    let source = CommitSource::open(roots, assignment)?;
    let head = run
        .status
        .as_ref()
        .filter(|_| agent.worktree == WorktreeMode::Head);
    if let (Some(status), Subject::PullRequest { number, .. }) = (head, &run.subject) {
        source.base_branch(false)?;
        // Pinned to the commit that was accepted, wherever the head is now.
        source.commit(u64::from(*number), &status.sha)?;
        return Ok(status.sha.clone());
    }
    source.base_branch(true)?.ok_or_else(|| {
        let text = format!(
            "neither the forge nor {} has a branch {}",
            project.working_dir.display(),
            project.default_branch
        );
        RunPrepareError::Local(text)
    })
}

/// Makes the head commit known in the project's checkout, for a script that works there and names
/// it. A commit that cannot be fetched is missing there, and the script reports it.
pub(super) fn lend_head(
    roots: &WorktreeRoots,
    assignment: &Assignment<'_>,
) -> Result<(), RunPrepareError> {
    let Assignment {
        agent,
        project,
        run,
        ..
    } = assignment;
    let names_it =
        matches!(&agent.cli, AgentCli::Sh { script } if script.contains("ORCH_HEAD_SHA"));
    let (Some(status), Subject::PullRequest { number, .. }) = (&run.status, &run.subject) else {
        return Ok(());
    };
    if !names_it {
        return Ok(());
    }
    let lent = CommitSource::open(roots, assignment).and_then(|source| {
        source.commit(u64::from(*number), &status.sha)?;
        let lent = source
            .worktrees
            .lend(&source.mirror, &project.working_dir, &status.sha);
        lent.map_err(|error| RunPrepareError::Local(error.to_string()))
    });
    match lent {
        Err(error) if exhaustion::of_text(error.text()) => Err(error),
        Err(error) => {
            tracing::warn!(
                event = "worktree.not_fetched", project = %project.id, reference = %status.sha,
                error = error.text(), "the head commit could not be brought into the checkout"
            );
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// A project's mirror, and where it is fetched from.
struct CommitSource<'a> {
    worktrees: Worktrees,
    mirror: ProjectMirror,
    remote: Option<Remote>,
    project: &'a Project,
}

impl<'a> CommitSource<'a> {
    fn open(roots: &WorktreeRoots, assignment: &Assignment<'a>) -> Result<Self, RunPrepareError> {
        let Assignment {
            config,
            agent,
            project,
            ..
        } = *assignment;
        let worktrees = roots.worktrees(&project.worktree_root)?;
        let mirror = worktrees
            .mirror(&project.id, &project.working_dir)
            .map_err(|error| error.to_string())?;
        let token = config.agent_tokens.get(&agent.name);
        let origin = pinned_origin(roots.git(), project, &mirror)?;
        Ok(Self {
            remote: remote(config, project, origin.as_deref(), token),
            worktrees,
            mirror,
            project,
        })
    }

    /// The newest commit of the base branch, as the mirror has it after a fetch; without `fresh` an
    /// older one does.
    fn base_branch(&self, fresh: bool) -> Result<Option<CommitSha>, RunPrepareError> {
        let branch = &self.project.default_branch;
        let (from, kept) = (
            format!("refs/heads/{branch}"),
            format!("refs/remotes/origin/{branch}"),
        );
        let known = || {
            let known = self.mirror.resolve(&kept);
            known.map_err(|error| RunPrepareError::Local(error.to_string()))
        };
        if !fresh && known()?.is_some() {
            return known();
        }
        if self.fetch(&from, &kept)?.is_none() {
            return known();
        }
        self.bring_from_checkout(&from, &kept)?;
        known()
    }

    /// Makes sure that the mirror has the head of a pull request.
    fn commit(&self, number: u64, sha: &CommitSha) -> Result<(), RunPrepareError> {
        let has = || {
            let has = self.mirror.has_commit(sha);
            has.map_err(|error| RunPrepareError::Local(error.to_string()))
        };
        if has()? {
            return Ok(());
        }
        let kept = format!("refs/orch/heads/{sha}");
        let mut failed = self.fetch(&format!("refs/pull/{number}/head"), &kept)?;
        if has()? {
            return Ok(());
        }
        // A head that was replaced meanwhile is no part of the reference any more.
        if failed.is_none() {
            failed = self.fetch(sha.as_str(), &kept)?;
        }
        if has()? {
            return Ok(());
        }
        self.bring_from_checkout(sha.as_str(), &kept)?;
        if has()? {
            return Ok(());
        }
        Err(match failed.filter(|_| self.remote.is_some()) {
            Some(why) => {
                RunPrepareError::Network(format!("commit {sha} could not be fetched: {why}"))
            }
            None => RunPrepareError::Local(format!(
                "neither the forge nor {} has commit {sha}",
                self.project.working_dir.display()
            )),
        })
    }

    /// Fetches from the remote. `None`: done; else why not. Only a lack of resources is an error.
    fn fetch(&self, from: &str, to: &str) -> Result<Option<String>, RunPrepareError> {
        let Some(remote) = &self.remote else {
            return Ok(Some("there is no remote".to_owned()));
        };
        let Err(error) = self.mirror.fetch(remote, from, to) else {
            return Ok(None);
        };
        if exhaustion::of_error(&error) {
            return Err(RunPrepareError::Local(error.to_string()));
        }
        tracing::warn!(
            event = "worktree.not_fetched",
            project = %self.project.id,
            reference = from,
            error = %error,
            "the base could not be fetched; what is there is used"
        );
        Ok(Some(error.to_string()))
    }

    fn bring_from_checkout(&self, from: &str, to: &str) -> Result<bool, RunPrepareError> {
        let checkout = &self.project.working_dir;
        let fetched = self
            .worktrees
            .fetch_checkout(&self.mirror, checkout, from, to);
        fetched.map_err(|error| RunPrepareError::Local(error.to_string()))
    }
}

/// The address of `origin` in the project's checkout, as it was when it was first used: an agent
/// can write to that configuration, and must not choose what the next run is given.
fn pinned_origin(
    git: &Git,
    project: &Project,
    mirror: &ProjectMirror,
) -> Result<Option<String>, RunPrepareError> {
    let call = git
        .call(&project.working_dir, "config")
        .setting(&format!("safe.directory={}", project.working_dir.display()))
        .args(["--get", "remote.origin.url"]);
    let now = call.text().ok().map(|text| text.trim().to_owned());
    let now = now.filter(|origin| !origin.is_empty());
    let file = mirror.folder().join("origin");
    match std::fs::read_to_string(&file) {
        Ok(pinned) => {
            let pinned = Some(pinned.trim().to_owned()).filter(|pinned| !pinned.is_empty());
            if pinned != now {
                tracing::warn!(
                    event = "worktree.origin_changed", project = %project.id, file = %file.display(),
                    "the checkout names another origin than before; the former one is used until the file is removed"
                );
            }
            Ok(pinned)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text = now.as_deref().unwrap_or_default();
            // A token in it would be written to another place; it is not used anyhow.
            std::fs::write(&file, without_user(text))
                .map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(Some(without_user(text)).filter(|text| !text.is_empty()))
        }
        Err(error) => Err(format!("{}: {error}", file.display()).into()),
    }
}

/// An address without the user name and password in front of its host; the token of the
/// configuration is used.
fn without_user(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
            // Only addresses without a host refuse that.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        }
        _ => address.to_owned(),
    }
}

/// Where to fetch from. `None`: there is neither an `origin` that can be used nor a forge.
fn remote(
    config: &Config,
    project: &Project,
    origin: Option<&str>,
    token: Option<&Secret<String>>,
) -> Option<Remote> {
    let forge = config.forge.as_ref();
    let address = fetch_address(origin, forge, project.repository.as_str())?;
    let plain = forge.is_some_and(|forge| forge.url.scheme() == "http");
    let transports = Transports {
        http: plain,
        file: true,
    };
    let remote = Remote::parse(&address, transports).ok()?;
    let forge = forge.filter(|forge| git_base(forge).origin() == remote.url().origin());
    Some(match forge {
        Some(forge) if remote.url().scheme() != "file" => {
            let token = token.unwrap_or(&forge.token).clone();
            remote.with_token("orchestrator", token)
        }
        _ => remote,
    })
}

/// The address as text.
fn fetch_address(
    origin: Option<&str>,
    forge: Option<&ForgeConfig>,
    repository: &str,
) -> Option<String> {
    if let Some(folder) = origin.filter(|origin| origin.starts_with('/')) {
        return Url::from_file_path(folder).ok().map(Into::into);
    }
    let origin = origin.map(without_user);
    let origin = origin.and_then(|origin| Url::parse(&origin).ok());
    let origin = origin.filter(|origin| matches!(origin.scheme(), "https" | "http" | "file"));
    let base = forge.map(git_base);
    let usable = origin.filter(|origin| {
        origin.scheme() == "file"
            || base
                .as_ref()
                .is_none_or(|base| base.origin() == origin.origin())
    });
    if let Some(origin) = usable {
        return Some(origin.into());
    }
    let base = base?;
    Some(format!(
        "{}/{repository}.git",
        base.as_str().trim_end_matches('/')
    ))
}

/// Where repositories are: GitHub's API has a name of its own.
fn git_base(forge: &ForgeConfig) -> Url {
    let mut base = forge.url.clone();
    if forge.kind == Forge::GitHub && base.host_str() == Some("api.github.com") {
        base = Url::parse("https://github.com/").expect("a constant address");
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forge(kind: Forge, url: &str) -> ForgeConfig {
        ForgeConfig {
            kind,
            url: Url::parse(url).expect("an address"),
            token: Secret::new("t".to_owned()),
            allow_http: false,
        }
    }

    #[test]
    fn v2_a_token_goes_to_no_other_host_and_ssh_becomes_the_forge() {
        let gitea = forge(Forge::Gitea, "https://git.example.org/code");
        let chosen = |origin| fetch_address(origin, Some(&gitea), "acme/main");
        let by_name = Some("https://git.example.org/code/acme/main.git".to_owned());
        assert_eq!(chosen(None), by_name);
        assert_eq!(chosen(Some("git@git.example.org:acme/main.git")), by_name);
        assert_eq!(chosen(Some("ssh://git@evil.example/x")), by_name);
        assert_eq!(chosen(Some("https://evil.example/acme/main.git")), by_name);
        assert_eq!(chosen(Some("ext::sh -c id")), by_name);
        let with_token = "https://bot:s3cret@git.example.org/code/acme/main.git";
        assert_eq!(
            chosen(Some(with_token)),
            by_name,
            "V2: it does not stand in the way"
        );
        let own = "https://git.example.org/code/acme/fork.git";
        assert_eq!(chosen(Some(own)).as_deref(), Some(own));
        // V2: an address with a user or a token in it is fetched from all the same.
        for user in ["ada@", "oauth2:token-0123@", "token-0123@"] {
            let with_user = format!("https://{user}git.example.org/code/acme/fork.git");
            let chosen = fetch_address(Some(&with_user), Some(&gitea), "acme/main");
            assert_eq!(chosen.as_deref(), Some(own), "{user}");
        }
        assert_eq!(
            chosen(Some("/srv/main.git")).as_deref(),
            Some("file:///srv/main.git")
        );
    }

    #[test]
    fn github_has_its_repositories_elsewhere_and_without_a_forge_origin_is_all_there_is() {
        let github = forge(Forge::GitHub, "https://api.github.com");
        assert_eq!(
            fetch_address(None, Some(&github), "acme/main").as_deref(),
            Some("https://github.com/acme/main.git")
        );
        assert_eq!(fetch_address(None, None, "acme/main"), None);
        let public = "https://other.example/x.git";
        assert_eq!(
            fetch_address(Some(public), None, "acme/main").as_deref(),
            Some(public)
        );
        assert_eq!(
            fetch_address(Some("git@other.example:x"), None, "acme/main"),
            None
        );
    }
}
