//! `ssh-key` of `actions/checkout`: the addresses that are fetched from by SSH, the hosts that are
//! known, and what lets git in the machine use the key afterwards.

use config_core::Secret;
use forge_core::RepoName;
use url::Url;

use super::address::{repository_url, submodule_url};
use crate::expr::ExprValue;

/// Who is asked for where nothing else is said.
const USER: &str = "git";

/// The host keys of github.com as its documentation publishes them ("GitHub's SSH key
/// fingerprints"), which the action knows as well.
const GITHUB_HOSTS: &str = "\
github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
github.com ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg=
github.com ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQCj7ndNxQowgcQnjshcLrqPEiiphnt+VTTvDP6mHBL9j1aNUkY4Ue1gvwnGLVlOhGeYrnZaMgRK6+PKCUXaDbC7qtbW8gIkhL7aGCsOr/C56SJMy/BCZfxd1nWzAOxSDPgVsmerOBYfNqltV9/hWCqBywINIR+5dIg6JTJ72pcEpEjcYgXkE2YEFXV1JHnsKgbLWNlhScqb2UmyRkQyytRLtL+38TGxkxCflmO+5Z8CSSNY7GidjMIZ7Q4zMjA2n1nGrlTDkzwDCsw+wqFPGQA179cnfGWOWRVruj16z6XyvxvjJwbz0wQZ75XK5tKSb7FNyeIEs4TT4jk+S4dhPeAUC5y+bDYirYgM4GC7uEnztnZyaVWQ7B381AK4Qdrwt51ZqExKbQpTUNn+EjqoTwvqNj4kqx5QUCI0ThS/YkOxJCXmPUWZbhjpCg56i+2aB6CmK2JGhn57K5mj0MNdBXA4/WnwH6XoPWJzK5Nyu2zB3nAZp+S5hpQs+p1vN1/wsjk=
";

/// What a step gives to get in by SSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshInputs {
    /// The private key.
    pub key: Secret<String>,
    /// The user at the host; empty: that of the forge's own address, or `git`.
    pub user: String,
    /// Whether a host that is not known is refused.
    pub strict: bool,
    /// Lines of a `known_hosts`, as given.
    pub known_hosts: String,
    /// The forge's web address.
    pub forge: String,
    /// The address of a server other than the forge; empty: the forge.
    pub server: String,
}

/// Where the forge says that the run's repository is fetched from by SSH: `repository.ssh_url` of
/// the event, where that ends with the repository's name. Every webhook has that name; an event
/// that somebody writes for `exec` may do without.
#[must_use]
pub fn ssh_url(event: &ExprValue) -> Option<String> {
    let repository = event.get("repository")?;
    let address = repository.get("ssh_url")?.as_text();
    let Some(name) = repository.get("full_name") else {
        return is_ssh(&address).then(|| address.to_string());
    };
    let name = name.as_text();
    let own = address.strip_suffix(".git").unwrap_or(&address);
    let from = own.len().checked_sub(name.len())?;
    let (host, own) = (own.get(..from)?, own.get(from..)?);
    let is_own = host.ends_with(['/', ':']) && own.eq_ignore_ascii_case(&name);
    (is_own && is_ssh(&address)).then(|| address.to_string())
}

impl SshInputs {
    /// The hosts that are known: those given, and github.com.
    #[must_use]
    pub fn hosts(&self) -> String {
        let given = self.known_hosts.trim().replace("\r\n", "\n");
        let end = if given.is_empty() { "" } else { "\n" };
        format!("{given}{end}{GITHUB_HOSTS}")
    }

    /// Where `repository` is fetched from. `own` is the run's repository and `own_address` where
    /// its forge says that it is.
    ///
    /// # Errors
    /// The server has no host.
    pub fn address(
        &self,
        repository: &RepoName,
        (own, own_address): (&str, Option<&str>),
    ) -> Result<String, String> {
        let elsewhere = !self.server.is_empty();
        let beside = own_address.filter(|_| !elsewhere);
        let beside = beside.and_then(|address| repository_url(address, own, repository));
        if let Some(address) = beside {
            return Ok(self.as_user(&address));
        }
        let server = if elsewhere { &self.server } else { &self.forge };
        let wrong = || {
            let server = config_core::quoted(server);
            format!("`ssh-key`: {server} names no host to fetch from by SSH")
        };
        let url = Url::parse(server).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?;
        let user = match (self.user.as_str(), url.username()) {
            ("", "") => USER,
            ("", user) | (user, _) => user,
        };
        // The port of a web address says nothing of SSH.
        Ok(match url.port().filter(|_| url.scheme() == "ssh") {
            Some(port) => format!("ssh://{user}@{host}:{port}/{repository}.git"),
            None => format!("{user}@{host}:{repository}.git"),
        })
    }

    /// An address with the user that the step names.
    fn as_user(&self, address: &str) -> String {
        if self.user.is_empty() {
            return address.to_owned();
        }
        let (scheme, rest) = match address.strip_prefix("ssh://") {
            Some(rest) => ("ssh://", rest),
            None => ("", address),
        };
        let end = rest.find(['/', ':']).unwrap_or(rest.len());
        let host = rest[..end].rsplit_once('@');
        let host = host.map_or(&rest[..end], |(_, host)| host);
        format!("{scheme}{}@{host}{}", self.user, &rest[end..])
    }
}

/// Whether an address is one of SSH: `ssh://…`, or `user@host:path`.
#[must_use]
pub fn is_ssh(address: &str) -> bool {
    address.starts_with("ssh://") || (!address.contains("://") && short_form(address).is_some())
}

/// Host and path of `user@host:path`; nothing of a path, which has its first slash before a colon.
fn short_form(address: &str) -> Option<(&str, &str)> {
    let (host, path) = address.split_once(':')?;
    let is_host = !host.is_empty() && !host.contains('/') && !path.is_empty();
    is_host.then_some((host, path))
}

/// Where a submodule comes from with a key at hand: what `url` names is taken as it is, by SSH
/// where it says so; relative ones lead from `base`.
#[must_use]
pub fn submodule_address(base: &str, url: &str) -> Option<String> {
    let relative = url.starts_with("./") || url.starts_with("../");
    if !relative {
        // A remote helper of git's (`ext::sh`) has the look of the short form.
        if url.contains("::") {
            return None;
        }
        if !is_ssh(url) {
            return Url::parse(url).ok().map(|_| url.to_owned());
        }
        let user = if url.contains('@') { "" } else { "git@" };
        return Some(match url.strip_prefix("ssh://") {
            Some(rest) => format!("ssh://{user}{rest}"),
            None => format!("{user}{url}"),
        });
    }
    match short_form(base).filter(|_| !base.contains("://")) {
        // Its path has no slash before it, and leads from there all the same.
        Some((host, path)) => {
            let found = submodule_url(&format!("ssh://host/{path}"), url)?;
            let path = found.strip_prefix("ssh://host/")?;
            Some(format!("{host}:{path}"))
        }
        None => submodule_url(base, url),
    }
}

/// What `core.sshCommand` of a clone in the machine is, where the key and the rest lie in `folder`.
#[must_use]
pub fn machine_command(folder: &str, strict: bool) -> String {
    let strict = if strict { "yes" } else { "accept-new" };
    format!(
        "ssh -i \"{folder}/key\" -o IdentitiesOnly=yes -o StrictHostKeyChecking={strict} -o CheckHostIP=no -o \"UserKnownHostsFile={folder}/known_hosts\" -o \"ProxyCommand=bash {folder}/connect %h %p\""
    )
}

/// Leads a connection through the machine's proxy, the only way out that it has.
pub const MACHINE_CONNECT: &str = r#"# Connects standard input and output to a host by the machine's proxy.
exec 3<>/dev/tcp/127.0.0.1/3128 || exit 1
printf 'CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n' "$1" "$2" "$1" "$2" >&3
IFS= read -r status <&3
while IFS= read -r line <&3 && [ -n "${line%$'\r'}" ]; do :; done
case $status in
"HTTP/1."?" 200"*) ;;
*)
    reason=$(timeout 2 cat <&3)
    echo "the proxy of this machine says: ${reason:-${status%$'\r'}}" >&2
    exit 1
    ;;
esac
cat <&3 &
cat >&3
kill $! 2>/dev/null
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(user: &str, server: &str) -> SshInputs {
        SshInputs {
            key: Secret::new("key".to_owned()),
            user: user.to_owned(),
            strict: true,
            known_hosts: String::new(),
            forge: "https://forge.example:8443".to_owned(),
            server: server.to_owned(),
        }
    }

    #[test]
    fn i17_addresses_of_ssh_are_the_forge_s_own() {
        let short = "git@forge.example:acme/rocket.git";
        let with_port = "ssh://forgejo@forge.example:2222/acme/rocket.git";
        for (user, server, own, name, address) in [
            (
                "",
                "",
                None,
                "acme/rocket",
                "git@forge.example:acme/rocket.git",
            ),
            (
                "",
                "",
                Some(short),
                "acme/lib",
                "git@forge.example:acme/lib.git",
            ),
            (
                "",
                "",
                Some(with_port),
                "acme/lib",
                "ssh://forgejo@forge.example:2222/acme/lib.git",
            ),
            (
                "deploy",
                "",
                Some(with_port),
                "acme/rocket",
                "ssh://deploy@forge.example:2222/acme/rocket.git",
            ),
            (
                "bot",
                "",
                Some(short),
                "acme/rocket",
                "bot@forge.example:acme/rocket.git",
            ),
            (
                "",
                "https://other.example",
                Some(with_port),
                "acme/lib",
                "git@other.example:acme/lib.git",
            ),
            (
                "",
                "ssh://u@other.example:99",
                Some(short),
                "a/b",
                "ssh://u@other.example:99/a/b.git",
            ),
        ] {
            let found = inputs(user, server).address(&name.parse().unwrap(), ("acme/rocket", own));
            assert_eq!(found.as_deref(), Ok(address));
        }
        let wrong = inputs("", "x").address(&"a/b".parse().unwrap(), ("a/b", None));
        assert!(wrong.unwrap_err().contains("names no host"));
        let event = |url: &str| {
            let name = ExprValue::text("acme/rocket");
            let repository =
                ExprValue::object([("full_name", name), ("ssh_url", ExprValue::text(url))]);
            ExprValue::object([("repository", repository)])
        };
        assert_eq!(ssh_url(&event(short)).as_deref(), Some(short));
        let mounted = "ssh://git@forge.example:2222/git/Acme/Rocket";
        assert_eq!(ssh_url(&event(mounted)).as_deref(), Some(mounted));
        for other in [
            "https://forge.example/acme/rocket",
            "git@forge.example:acme/other.git",
            "git@forge.example:acme/rocket/../other.git",
            "git@forge.example:xacme/rocket.git",
            "rocket",
        ] {
            assert_eq!(ssh_url(&event(other)), None, "{other}");
        }
        assert_eq!(ssh_url(&ExprValue::Null), None);
        let nameless = ExprValue::object([("ssh_url", ExprValue::text(short))]);
        let nameless = ExprValue::object([("repository", nameless)]);
        assert_eq!(ssh_url(&nameless).as_deref(), Some(short));
    }

    #[test]
    fn i17_submodules_of_ssh_lead_where_git_would_go() {
        let short = "git@forge.example:acme/rocket.git";
        let long = "ssh://git@forge.example:2222/acme/rocket.git";
        for (base, url, found) in [
            (short, "../lib.git", Some("git@forge.example:acme/lib.git")),
            (
                short,
                "../../other/lib",
                Some("git@forge.example:other/lib"),
            ),
            (short, "../../../x", None),
            (
                long,
                "../lib",
                Some("ssh://git@forge.example:2222/acme/lib"),
            ),
            (
                short,
                "git@other.example:a/b",
                Some("git@other.example:a/b"),
            ),
            (short, "other.example:a/b", Some("git@other.example:a/b")),
            (
                short,
                "ssh://other.example/a/b",
                Some("ssh://git@other.example/a/b"),
            ),
            (
                short,
                "https://other.example/a/b",
                Some("https://other.example/a/b"),
            ),
            (short, "ext::sh -c id", None),
            (short, "/srv/lib", None),
            (short, "-x", None),
        ] {
            assert_eq!(
                submodule_address(base, url).as_deref(),
                found,
                "{base} {url}"
            );
        }
        for (text, expected) in [
            (short, true),
            (long, true),
            ("https://forge.example/a/b", false),
            ("/srv/a:b", false),
            ("x", false),
        ] {
            assert_eq!(is_ssh(text), expected, "{text}");
        }
    }

    #[test]
    fn i17_the_hosts_that_are_known_are_lines_of_their_own() {
        let mut given = inputs("", "");
        assert_eq!(given.hosts(), GITHUB_HOSTS);
        given.known_hosts = "a ssh-ed25519 AAAA\r\nb ssh-ed25519 BBBB".to_owned();
        let hosts = given.hosts();
        let lines: Vec<&str> = hosts.lines().take(3).collect();
        assert_eq!(lines[..2], ["a ssh-ed25519 AAAA", "b ssh-ed25519 BBBB"]);
        assert!(lines[2].starts_with("github.com "));
        assert!(!format!("{given:?}").contains("\"key\""), "{given:?}");
    }
}
