//! `ssh-key` of `actions/checkout`: fetched by the runner with the step's key, and the same for git
//! in the machine where the step keeps its credentials.

use std::path::Path;

use git_engine::{SshAccess, WorkTree};
use runner_core::checkout::{CheckoutRequest, is_ssh, machine_command};
use url::Url;

use crate::checkout_source::{Checkout, Fetched};

/// `runner.temp`.
const TEMP: &str = "/tmp";

/// What the step's key lets in.
pub(crate) fn access(request: &CheckoutRequest) -> Result<Option<SshAccess>, String> {
    let made = request
        .ssh
        .as_ref()
        .map(|given| SshAccess::new(&given.key, &given.hosts(), given.strict));
    let wrong = |error| format!("the key cannot be handed to ssh: {error}");
    made.transpose().map_err(wrong)
}

/// Where the key of a checkout is in its machine; `name` ends with a number of its own.
pub(crate) fn key_folder(name: &str) -> String {
    let number = name.rsplit('-').next().unwrap_or_default();
    format!("{TEMP}/checkout-key-{number}")
}

impl Checkout {
    /// Whether it is fetched with the step's key: all but the working tree of `exec`, whose commit
    /// no server has.
    pub(crate) fn is_by_key(&self) -> bool {
        let local = self.request.own && self.source.clone_url.starts_with("file:");
        self.ssh.is_some() && !local
    }

    /// The repository, by SSH with the step's key.
    pub(crate) fn fetch_by_key(&self, folder: &Path) -> Result<Fetched, String> {
        let request = &self.request;
        let repository = &request.repository;
        let given = request.ssh.as_ref().ok_or("there is no key")?;
        let own = (self.repository.as_str(), self.ssh_url.as_deref());
        let address = given.address(repository, own)?;
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

/// What to do about what ssh says.
pub(crate) fn hint(reason: &str) -> &'static str {
    let says = |words: &str| reason.contains(words);
    if says("Load key") {
        ". The key cannot be read: `ssh-key` is a whole private key without a passphrase"
    } else if says("Permission denied (") {
        ". The server does not let this key in: is it a deploy key of the repository?"
    } else if says("Host key for ") {
        ". The server has another key than the one that is known"
    } else if says("host key is known") || says("Host key verification failed") {
        ". Give the server's line of `ssh-keyscan` as `ssh-known-hosts`"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn i17_what_ssh_says_leads_to_what_to_do() {
        for (said, word) in [
            (
                "Load key \"/proc/1/fd/3\": error in libcrypto; git@x: Permission denied (publickey).",
                "passphrase",
            ),
            ("git@x: Permission denied (publickey).", "deploy key"),
            (
                "No ED25519 host key is known for x and you have requested strict checking.",
                "ssh-known-hosts",
            ),
            (
                "Host key for x has changed and you have requested strict checking.",
                "another key",
            ),
        ] {
            assert!(hint(said).contains(word), "{said}");
        }
        assert_eq!(hint("Connection refused"), "");
    }
}
