//! Commits that calls of the REST API would bring onto branches and tags: looked at as those of a
//! push, for the next event would run their workflows.

use std::sync::Arc;

use forge_core::{Forge, HeadOrigin};
use git_engine::{GitError, Quarantine};
use http_clients::http::{HttpClient, Method};
use runner_core::gateway::{CommitTarget, is_true, pull_path};
use serde_json::Value;

use super::JobServices;
use super::forge::{ForgeApi, ForgeGrant, GatewayRefusal, UNTOLD, not_served, refusal};
use super::git::GitFolder;
use super::push_checks::check_new_commits;

/// The head of a pull request.
struct PullHead {
    sha: String,
    is_own: bool,
}

impl JobServices {
    /// Looks at what a call brings onto a branch or a tag, and binds a merge to what was looked at.
    ///
    /// # Errors
    /// Why it is not brought there.
    pub(super) async fn check_target(
        &self,
        http: &HttpClient,
        (forge, grant): (&ForgeApi, &Arc<ForgeGrant>),
        (method, path): (&str, &str),
        body: &mut Value,
    ) -> Result<(), GatewayRefusal> {
        let target = CommitTarget::parse(method, path, body);
        let target = target.map_err(|refused| refusal(422, refused.to_string()))?;
        match target {
            None => Ok(()),
            Some(CommitTarget::Named(named)) => {
                let tag = named.unless_tag.clone();
                let id = self
                    .resolve_target(grant, named.name.clone(), None, tag)
                    .await?;
                named.fix(body, id.as_deref());
                Ok(())
            }
            Some(CommitTarget::Pull(number)) => {
                let head = pull_head(http, forge, grant, path, number).await?;
                if !head.is_own {
                    if is_true(body, "merge_when_checks_succeed") {
                        let message = "a pull request of another repository is not merged later: its head may change until then";
                        return Err(refusal(403, message));
                    }
                    let reference = format!("refs/pull/{number}/head");
                    let sha = head.sha.clone();
                    self.resolve_target(grant, sha, Some(reference), None)
                        .await?;
                }
                bind(forge.kind(), body, &head.sha)
            }
        }
    }

    /// Looks at a branch, a tag or a commit, which the forge may have behind a reference, and gives
    /// its id; nothing where the tag is there already.
    async fn resolve_target(
        &self,
        grant: &Arc<ForgeGrant>,
        name: String,
        reference: Option<String>,
        unless_tag: Option<String>,
    ) -> Result<Option<String>, GatewayRefusal> {
        let turn = Arc::clone(&grant.git_at_once).acquire_owned().await;
        let among_all = Arc::clone(&self.shared.git_at_once).acquire_owned().await;
        let folder = GitFolder::new(&self.shared.folder);
        let folder = folder.map_err(|_| refusal(507, "the runner has no room for the call"))?;
        let (services, grant) = (self.clone(), Arc::clone(grant));
        let looked = tokio::task::spawn_blocking(move || {
            let _turns = (turn, among_all);
            let (reference, tag) = (reference.as_deref(), unless_tag.as_deref());
            services.looked_at(&grant, &folder, (&name, reference), tag)
        });
        looked.await.unwrap_or_else(|_| Err(refusal(500, UNTOLD)))
    }

    /// Blocks.
    fn looked_at(
        &self,
        grant: &ForgeGrant,
        folder: &GitFolder,
        (name, reference): (&str, Option<&str>),
        unless_tag: Option<&str>,
    ) -> Result<Option<String>, GatewayRefusal> {
        let may = &grant.may;
        let told = |error: &dyn std::fmt::Display| not_served(may, error);
        let forge = self.shared.forge.as_ref();
        let forge = forge.ok_or_else(|| refusal(404, "git is not served here"))?;
        let (_, mirror, remote) = forge.git_places(may)?;
        let quarantine = Quarantine::open(&mirror, &remote, &folder.quarantine());
        let quarantine = quarantine.map_err(|error| told(&error))?;
        let references = quarantine.references();
        let tag = unless_tag.map(|tag| format!("refs/tags/{tag}"));
        if tag.is_some_and(|tag| references.iter().any(|(_, known)| *known == tag)) {
            return Ok(None);
        }
        let known = ["refs/heads/", "refs/tags/", ""].iter().find_map(|kind| {
            let mut found = references.iter();
            found.find(|(_, known)| known.strip_prefix(kind) == Some(name))
        });
        if let Some((id, _)) = known {
            let commit = quarantine.commit(id).map_err(|error| told(&error))?;
            let none = || refusal(422, format!("{name} leads to no commit"));
            return commit.ok_or_else(none).map(Some);
        }
        let is_id = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            let message = "name a branch, a tag or the whole id of a commit of the repository";
            return Err(refusal(422, message));
        }
        let known = quarantine.commit(name).map_err(|error| told(&error))?;
        if known.is_none() {
            match quarantine.fetch(&remote, reference.unwrap_or(name)) {
                Ok(()) => {}
                Err(GitError::Failed { message, .. }) => {
                    let message = format!("the commit {name} cannot be looked at: {message}");
                    return Err(refusal(422, message));
                }
                Err(error) => return Err(told(&error)),
            }
        }
        let found = quarantine.commit(name).map_err(|error| told(&error))?;
        let Some(commit) = found else {
            return Err(refusal(422, format!("the forge has no commit {name}")));
        };
        let looked = check_new_commits(&quarantine, std::slice::from_ref(&commit));
        looked.map_err(|reason| refusal(403, reason))?;
        Ok(Some(commit))
    }
}

/// Where the head of a pull request is.
async fn pull_head(
    http: &HttpClient,
    forge: &ForgeApi,
    grant: &ForgeGrant,
    path: &str,
    number: u64,
) -> Result<PullHead, GatewayRefusal> {
    let unknown = || refusal(404, format!("there is no pull request {number}"));
    let path = pull_path(path, number).map_err(|_| unknown())?;
    let request = forge
        .request(Method::Get, &path, None)
        .ok_or_else(unknown)?;
    let answer = super::gateway_request::send(http, request).await?;
    let pull: Value = answer.json().unwrap_or_default();
    let text = |at: &str| pull.pointer(at).and_then(Value::as_str);
    let sha = text("/head/sha").filter(|_| answer.is_success());
    let origin = text("/head/ref")
        .map(|name| HeadOrigin::of_head(name, text("/head/repo/full_name"), &grant.may.repository));
    Ok(PullHead {
        sha: sha.ok_or_else(unknown)?.to_owned(),
        is_own: origin == Some(HeadOrigin::SameRepository),
    })
}

/// The merge is of this commit or does not happen.
fn bind(kind: Forge, body: &mut Value, sha: &str) -> Result<(), GatewayRefusal> {
    let key = match kind {
        Forge::GitHub => "sha",
        Forge::Gitea | Forge::Forgejo => "head_commit_id",
    };
    if body.is_null() {
        *body = Value::Object(serde_json::Map::new());
    }
    let Some(object) = body.as_object_mut() else {
        return Err(refusal(422, "the body is no object"));
    };
    let own = object
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(key))
        .and_then(|(_, value)| value.as_str());
    if own.is_some_and(|own| !own.is_empty() && own != sha) {
        let message = "Head branch was modified. Review and try the merge again.";
        return Err(refusal(409, message));
    }
    object.retain(|name, _| !name.eq_ignore_ascii_case(key));
    object.insert(key.to_owned(), sha.into());
    Ok(())
}
