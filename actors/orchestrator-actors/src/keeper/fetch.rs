//! The commit a worktree begins at, fetched first.
//!
//! What is fetched comes from `origin` of the project's checkout when that is a folder of this machine or a
//! repository of the configured forge, else from the forge by the repository's name. The forge's token goes to
//! git through a credential helper for that forge alone: it stands in no address and on no command line.

use config_core::Secret;
use forge_core::{CommitSha, Forge};
use git_engine::{Remote, Transports};
use orchestrator_core::config::{AgentSpec, Config, ForgeConfig, Project, WorktreeMode};
use orchestrator_core::run::{Run, Subject};
use url::Url;

use crate::shared::Shared;

/// The pull request's head where the agent wants it, else the newest of the base branch. Both are fetched first; without
/// a remote, what is there has to do.
pub(super) fn start_commit(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    project: &Project,
    run: &Run,
) -> Result<CommitSha, String> {
    let worktrees = shared.worktrees(&project.worktree_root)?;
    let head = run
        .status
        .as_ref()
        .filter(|_| agent.worktree == WorktreeMode::Head);
    let (wanted, sha) = match (head, &run.subject) {
        (Some(status), Subject::PullRequest { number, .. }) => {
            (format!("refs/pull/{number}/head"), Some(status.sha.clone()))
        }
        _ => (format!("refs/heads/{}", project.default_branch), None),
    };
    let token = config.agent_tokens.get(&agent.name);
    let fetched = fetch(shared, config, project, token, &wanted);
    if let Some(sha) = sha {
        // A head that was replaced meanwhile is no part of the reference any more.
        if !has(shared, project, &sha) {
            fetch(shared, config, project, token, sha.as_str());
        }
        // Pinned to the commit that was accepted, wherever the head is now.
        return Ok(sha);
    }
    let remote = format!("origin/{}", project.default_branch);
    let tip = if fetched {
        fetched_tip(shared, project, &remote)
    } else {
        None
    };
    match tip {
        Some(tip) => Ok(tip),
        None => worktrees
            .tip(&project.working_dir, project.default_branch.as_str())
            .map_err(|error| error.to_string()),
    }
}

/// Fetches a reference; `false` when that did not work.
fn fetch(
    shared: &Shared,
    config: &Config,
    project: &Project,
    token: Option<&Secret<String>>,
    reference: &str,
) -> bool {
    let Some(remote) = remote(shared, config, project, token) else {
        return false;
    };
    let target = match reference.strip_prefix("refs/heads/") {
        Some(branch) => format!("+{reference}:refs/remotes/origin/{branch}"),
        None => reference.to_owned(),
    };
    let call = shared
        .git()
        .call(&project.working_dir, "fetch")
        .setting(&format!("safe.directory={}", project.working_dir.display()))
        .remote(&remote)
        .args([
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ])
        .args(["--", remote.url().as_str(), &target]);
    match call.output() {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(
                event = "worktree.not_fetched",
                project = %project.id,
                reference,
                error = %error,
                "the base could not be fetched; what is there is used"
            );
            false
        }
    }
}

/// Where to fetch from. `None`: there is neither an `origin` that can be used nor a forge.
fn remote(
    shared: &Shared,
    config: &Config,
    project: &Project,
    token: Option<&Secret<String>>,
) -> Option<Remote> {
    let call = shared
        .git()
        .call(&project.working_dir, "config")
        .setting(&format!("safe.directory={}", project.working_dir.display()))
        .args(["--get", "remote.origin.url"]);
    let origin = call.text().ok().map(|text| text.trim().to_owned());
    let forge = config.forge.as_ref();
    let address = chosen(origin.as_deref(), forge, project.repository.as_str())?;
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
fn chosen(origin: Option<&str>, forge: Option<&ForgeConfig>, repository: &str) -> Option<String> {
    if let Some(folder) = origin.filter(|origin| origin.starts_with('/')) {
        return Url::from_file_path(folder).ok().map(Into::into);
    }
    let origin = origin.and_then(|origin| without_user(Url::parse(origin).ok()?));
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

/// A user or a token in the address is not used: the forge's own token is. `--check` refuses it, but the file can be
/// changed later.
fn without_user(mut origin: Url) -> Option<Url> {
    if origin.scheme() != "file" {
        origin.set_username("").ok()?;
        origin.set_password(None).ok()?;
    }
    Some(origin)
}

/// Where repositories are: GitHub's API has a name of its own.
fn git_base(forge: &ForgeConfig) -> Url {
    let mut base = forge.url.clone();
    if forge.kind == Forge::GitHub && base.host_str() == Some("api.github.com") {
        base = Url::parse("https://github.com/").expect("a constant address");
    }
    base
}

fn has(shared: &Shared, project: &Project, sha: &CommitSha) -> bool {
    let call = shared
        .git()
        .call(&project.working_dir, "cat-file")
        .setting(&format!("safe.directory={}", project.working_dir.display()))
        .args(["-e", &format!("{sha}^{{commit}}")]);
    call.output().is_ok()
}

fn fetched_tip(shared: &Shared, project: &Project, remote: &str) -> Option<CommitSha> {
    let call = shared
        .git()
        .call(&project.working_dir, "rev-parse")
        .setting(&format!("safe.directory={}", project.working_dir.display()))
        .args(["--verify", "--quiet", "--end-of-options"])
        .arg(format!("refs/remotes/{remote}^{{commit}}"));
    call.text().ok()?.trim().parse().ok()
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
        let chosen = |origin| chosen(origin, Some(&gitea), "acme/main");
        let by_name = Some("https://git.example.org/code/acme/main.git".to_owned());
        assert_eq!(chosen(None), by_name);
        assert_eq!(chosen(Some("git@git.example.org:acme/main.git")), by_name);
        assert_eq!(chosen(Some("ssh://git@evil.example/x")), by_name);
        assert_eq!(chosen(Some("https://evil.example/acme/main.git")), by_name);
        assert_eq!(chosen(Some("ext::sh -c id")), by_name);
        let own = "https://git.example.org/code/acme/fork.git";
        assert_eq!(chosen(Some(own)).as_deref(), Some(own));
        // V2: an address with a user or a token in it is fetched from all the same.
        for user in ["ada@", "oauth2:token-0123@", "token-0123@"] {
            let with_user = format!("https://{user}git.example.org/code/acme/fork.git");
            let chosen = super::chosen(Some(&with_user), Some(&gitea), "acme/main");
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
            chosen(None, Some(&github), "acme/main").as_deref(),
            Some("https://github.com/acme/main.git")
        );
        assert_eq!(chosen(None, None, "acme/main"), None);
        let public = "https://other.example/x.git";
        assert_eq!(
            chosen(Some(public), None, "acme/main").as_deref(),
            Some(public)
        );
        assert_eq!(chosen(Some("git@other.example:x"), None, "acme/main"), None);
    }
}
