//! `ssh-key` of `actions/checkout`: fetched by the runner with the step's key, and the same for git
//! in the machine where the step keeps its credentials.

use std::path::Path;

use git_engine::WorkTree;
use runner_core::checkout::{is_ssh, machine_command};
use url::Url;

use crate::checkout_key::hint;
use crate::checkout_source::{Checkout, FetchedRepository};

impl Checkout {
    /// Whether it is fetched with the step's key: all but the working tree of `exec`, whose commit
    /// no server has.
    pub(crate) fn is_by_key(&self) -> bool {
        let local = self.request.own && self.source.clone_url.starts_with("file:");
        self.ssh.is_some() && !local
    }

    /// The repository, by SSH with the step's key.
    pub(crate) fn fetch_by_key(&self, folder: &Path) -> Result<FetchedRepository, String> {
        let request = &self.request;
        let repository = &request.repository;
        let given = request.ssh.as_ref().ok_or("there is no key")?;
        let own = (self.repository.as_str(), self.ssh_url.as_deref());
        let address = given.address(repository, own)?;
        if self.is_own_merge() {
            let fetched = self.fetch_own(folder, Some(&address));
            return fetched.map_err(|error| error.to_string())?;
        }
        let wrong = |reason: String| {
            let hint = hint(&reason);
            format!("{repository} cannot be fetched with the step's `ssh-key`: {reason}{hint}")
        };
        let (remote, _) = self
            .remote(&address)
            .map_err(|error| wrong(error.to_string()))?;
        let fetched = self.fetch_from(folder, &address, &remote);
        fetched.map_err(|error| wrong(error.to_string()))?
    }

    /// The same repository for what goes by HTTPS: large files, and the step's token.
    pub(crate) fn plain_url(&self, url: &str) -> Result<String, String> {
        let Some(given) = self.request.ssh.as_ref().filter(|_| is_ssh(url)) else {
            return Ok(url.to_owned());
        };
        let repository = &self.request.repository;
        let forge = match given.server.as_str() {
            "" => {
                return Ok(self
                    .address(repository)
                    .unwrap_or_else(|_| format!("{}/{repository}.git", given.forge)));
            }
            server => Url::parse(server),
        };
        let host = forge.ok().and_then(|url| url.host_str().map(str::to_owned));
        Ok(format!(
            "https://{}/{repository}.git",
            host.unwrap_or_default()
        ))
    }

    /// Lets git in the machine use the key, which is put there.
    pub(crate) fn keep_command(&self, tree: &WorkTree) -> Result<(), String> {
        let request = &self.request;
        let Some(given) = request.ssh.as_ref().filter(|_| request.persist) else {
            return Ok(());
        };
        let command = machine_command(&self.key_folder, given.strict);
        let set = tree.set("core.sshCommand", &command);
        set.map_err(|error| error.to_string())
    }
}
