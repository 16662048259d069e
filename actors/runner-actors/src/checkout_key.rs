//! A step's key for SSH: what it lets in, where it lies in a machine, and what ssh says of it.

use git_engine::SshAccess;
use runner_core::checkout::CheckoutRequest;

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
